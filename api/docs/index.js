SwaggerUIBundle({
  url: 'openapi.yaml',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'list',
  validatorUrl: null, // or the document would be sent to a service on the internet
});
