import { defineConfig } from 'vite';
import react from '@vitejs/plugin-react';

// GraphiQL uses prettier's babel plugins only to tidy two small panes; ours does that in a few lines.
const jsonc = new URL('./src/prettier-jsonc.js', import.meta.url).pathname;
const purify = new URL('./src/dompurify.js', import.meta.url).pathname;

export default defineConfig({
  base: './',
  resolve: {
    alias: [
      { find: /^prettier\/(plugins\/estree|parser-babel)$/, replacement: jsonc },
      // GraphiQL needs this version of the editor, which has a copy of an old DOMPurify in it.
      { find: /^.*\/dompurify\/dompurify\.js$/, replacement: purify },
    ],
  },
  plugins: [react()],
  worker: { format: 'es' },
  build: {
    outDir: '../src/graph/static/explorer',
    emptyOutDir: true,
    chunkSizeWarningLimit: 5000,
    sourcemap: false,
    license: { fileName: 'third-party-licences.md' },
  },
});
