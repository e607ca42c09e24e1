SwaggerUIBundle({
  url: '../openapi.json', dom_id: '#ui', validatorUrl: null, persistAuthorization: false,
  tryItOutEnabled: true, filter: true, presets: [SwaggerUIBundle.presets.apis], layout: 'BaseLayout',
});
