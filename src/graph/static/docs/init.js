document.documentElement.classList.toggle(
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
