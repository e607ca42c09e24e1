// Copies Swagger UI's two files and its notices beside the page of ours in that folder (index.html, init.js, page.css).
import { cpSync } from 'node:fs';

const from = new URL('./node_modules/swagger-ui-dist/', import.meta.url);
const to = new URL('../src/graph/static/docs/', import.meta.url);
for (const file of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE']) {
  cpSync(new URL(file, from), new URL(file, to));
}
