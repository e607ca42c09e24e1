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
    <link rel="stylesheet" href="page.css" />
  </head>
  <body class="intro-closed">
    <header>
      <strong>access-gateway</strong>
      <nav aria-label="References">
        <a href="./">Surfaces</a> <a href="./?api=management">Management</a> <a href="../explorer/">Explorer</a>
      </nav>
      <button type="button" id="intro" aria-expanded="false">Introduction</button>
      <span id="tokens"></span>
    </header>
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
const ui = SwaggerUIBundle({
  // Absolute, because Swagger UI resolves links of the document by it.
  url: new URL(managed ? '../api/management/openapi.json' : '../openapi.json', location).href, dom_id: '#ui', validatorUrl: null, persistAuthorization: false,
  tryItOutEnabled: true, filter: true, presets: [SwaggerUIBundle.presets.apis], layout: 'BaseLayout',
});

const intro = document.getElementById('intro');
intro.addEventListener('click', () => {
  const closed = document.body.classList.toggle('intro-closed');
  intro.setAttribute('aria-expanded', String(!closed));
});

// Swagger UI leaves its selects without names, and its scrolled samples out of reach of the keyboard.
function name() {
  for (const select of document.querySelectorAll('#ui select:not([aria-label])')) {
    const parameter = select.closest('[data-param-name]')?.dataset.paramName;
    select.setAttribute('aria-label', parameter ?? (select.id === 'servers' ? 'Server' : 'Media type'));
  }
  for (const sample of document.querySelectorAll('#ui :is(pre, .highlight-code > *):not([tabindex])')) sample.tabIndex = 0;
}
new MutationObserver(name).observe(document.getElementById('ui'), { childList: true, subtree: true });

// The demo offers its tokens to everybody; another gateway offers none.
async function offerTokens() {
  const response = await fetch('../explorer/starters.json');
  const { profiles } = await response.json();
  const place = document.getElementById('tokens');
  if (profiles.length && !managed) place.append('Token: ');
  for (const { name: label, sentence, token } of managed ? [] : profiles) {
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: label, title: sentence });
    button.addEventListener('click', () => {
      ui.preauthorizeApiKey('accessToken', token);
      for (const other of place.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === button));
    });
    place.append(button);
  }
}
offerTokens();
`);
writeFileSync(new URL('page.css', to), `body { margin: 0; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .5rem 1.25rem; background: #12263a; color: #fff; font: 14px/1.5 system-ui, sans-serif; }
header a { color: #9fe0d8; margin-right: .75rem; }
header a[aria-current] { font-weight: bold; }
header button { padding: 3px 10px; margin-right: 6px; border: 1px solid #9fe0d8; border-radius: 4px; background: transparent; color: #fff; font: inherit; cursor: pointer; }
header button[aria-pressed=true], header button[aria-expanded=true] { background: #2b7a73; }
.swagger-ui .json-schema-2020-12-expand-deep-button { color: #4a5160 !important; }
.dark-mode .swagger-ui .json-schema-2020-12-expand-deep-button { color: #c8ccd4 !important; }
.intro-closed .swagger-ui .info .description { display: none; }
.swagger-ui .info { margin: 1rem 0; }
.swagger-ui .info .description, .swagger-ui .opblock-description { max-width: 80ch; }
.swagger-ui .scheme-container { padding: .75rem 0; }
.swagger-ui .info .title small, .swagger-ui .info .title small.version-stamp { background: #4a5160; }
.swagger-ui .btn.authorize { border-color: #1b7a4b; color: #1b7a4b; }
.swagger-ui .btn.authorize svg { fill: #1b7a4b; }
.swagger-ui .btn.execute, .swagger-ui .btn.execute:hover { border-color: #1f63b0; background: #1f63b0; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f63b0; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1b7a4b; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #94560a; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #17716a; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .btn.cancel { border-color: #b3261e; color: #b3261e; }
.swagger-ui .parameter__name.required::after, .swagger-ui .parameter__name.required span { color: #b3261e; }
.swagger-ui .parameter__in, .swagger-ui .parameter__type, .swagger-ui .parameter__deprecated { color: #4a5160; }
html:not(.dark-mode) .swagger-ui a, html:not(.dark-mode) .swagger-ui .info a { color: #1f5a9e; }
html:not(.dark-mode) .swagger-ui .opblock-tag small, html:not(.dark-mode) .swagger-ui .response-col_links { color: #3b4151; }
.dark-mode .swagger-ui :is(.headers td, .headers th, .header-col, .parameter__in, .parameter__type, .response-col_links) { color: #e4e6e6; }
.dark-mode .swagger-ui .btn.authorize { border-color: #6fd7a5; color: #6fd7a5; }
.dark-mode .swagger-ui .btn.authorize svg { fill: #6fd7a5; }
.dark-mode .swagger-ui .btn.cancel { border-color: #ff8a82; color: #ff8a82; }
.swagger-ui .microlight span[style*="211, 99, 99"] { color: #ff9d9d !important; }
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
