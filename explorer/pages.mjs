// Copies Swagger UI's two files and its notices beside a page of ours: no inline script, no foreign origin.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';

const from = new URL('./node_modules/swagger-ui-dist/', import.meta.url);
const to = new URL('../src/graph/static/docs/', import.meta.url);
mkdirSync(to, { recursive: true });
for (const file of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE']) {
  cpSync(new URL(file, from), new URL(file, to));
}
writeFileSync(new URL('index.html', to), `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>access-gateway · REST reference</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="swagger-ui.css" />
    <style>
      nav { padding: 0.75rem 1.25rem; font: 1rem/1.5 sans-serif; color: #3b4151; }
      nav a { color: inherit; }
      nav a[aria-current] { font-weight: bold; }
      .dark-mode nav { color: #e4e6e6; }
    </style>
  </head>
  <body>
    <nav aria-label="References">
      <a href="./">Surfaces</a> · <a href="./?api=management">Management</a>
    </nav>
    <div id="ui"></div>
    <script src="swagger-ui-bundle.js"></script>
    <script src="init.js"></script>
  </body>
</html>
`);
writeFileSync(new URL('init.js', to), `document.documentElement.classList.toggle(
  'dark-mode', matchMedia('(prefers-color-scheme: dark)').matches,
);
const managed = new URLSearchParams(location.search).get('api') === 'management';
document.querySelectorAll('nav a')[managed ? 1 : 0].setAttribute('aria-current', 'page');
SwaggerUIBundle({
  // Absolute, because Swagger UI resolves links of the document by it.
  url: new URL(managed ? '../api/management/openapi.json' : '../openapi.json', location).href, dom_id: '#ui', validatorUrl: null, persistAuthorization: false,
  tryItOutEnabled: true, filter: true, presets: [SwaggerUIBundle.presets.apis], layout: 'BaseLayout',
});
`);

// Notices that the bundler's own licence file leaves out.
const explorer = new URL('../src/graph/static/explorer/', import.meta.url);
cpSync(
  new URL('./node_modules/monaco-editor/ThirdPartyNotices.txt', import.meta.url),
  new URL('monaco-third-party-notices.txt', explorer),
);
writeFileSync(new URL('NOTICE.txt', explorer), `The GraphiQL packages, the React wrapper packages and the scroll helper named in
third-party-licences.md without a text are under the MIT licence of their authors.
The editor's icon font (Codicons) is by its authors under CC-BY-4.0.
`);
