document.documentElement.classList.toggle(
  'dark-mode', matchMedia('(prefers-color-scheme: dark)').matches,
);
const managed = new URLSearchParams(location.search).get('api') === 'management';
document.querySelectorAll('nav a')[managed ? 1 : 0].setAttribute('aria-current', 'page');
SwaggerUIBundle({
  // Absolute, because Swagger UI resolves links of the document by it.
  url: new URL(managed ? '../api/management/openapi.json' : '../openapi.json', location).href, dom_id: '#ui', validatorUrl: null, persistAuthorization: false,
  tryItOutEnabled: true, filter: true, presets: [SwaggerUIBundle.presets.apis], layout: 'BaseLayout',
});
