// Copies Swagger UI's two files and its notices beside the page of ours in that folder (index.html, init.js, page.css),
// and the notices of the editor beside the explorer.
import { cpSync } from 'node:fs';

const from = new URL('./node_modules/swagger-ui-dist/', import.meta.url);
const to = new URL('../src/graph/static/docs/', import.meta.url);
for (const file of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE']) {
  cpSync(new URL(file, from), new URL(file, to));
}
cpSync(
  new URL('./node_modules/monaco-editor/ThirdPartyNotices.txt', import.meta.url),
  new URL('../src/graph/static/explorer/monaco-third-party-notices.txt', import.meta.url),
);
