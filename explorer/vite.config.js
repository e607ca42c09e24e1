import { defineConfig } from 'vite';
import react from '@vitejs/plugin-react';

// GraphiQL uses prettier's babel plugins only to tidy two small panes; ours does that in a few lines.
const jsonc = new URL('./src/prettier-jsonc.js', import.meta.url).pathname;

export default defineConfig({
  base: './',
  resolve: { alias: { 'prettier/plugins/estree': jsonc, 'prettier/parser-babel': jsonc } },
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
