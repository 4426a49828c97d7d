// Shows the OpenAPI document with Swagger UI, which is served from node_modules. No request leaves this server.

const dark = matchMedia('(prefers-color-scheme: dark)');
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', applyScheme);
applyScheme();

// Swagger UI tests patterns without Unicode support and would refuse every device name. The server checks them.
const withoutUnicodePatterns = (key, value) =>
  key === 'pattern' && String(value).includes('\\p{') ? undefined : value;
const response = await fetch('/openapi.json');

globalThis.SwaggerUIBundle({
  spec: JSON.parse(await response.text(), withoutUnicodePatterns),
  dom_id: '#reference',
  deepLinking: true,
  // The default is a service on the Internet that would receive the document's address.
  validatorUrl: null,
  // The token of "Authorize" stays in memory until the page is closed.
  persistAuthorization: false,
  // Schemas of bodies are open; the list of all schemas at the end is closed.
  defaultModelExpandDepth: 6,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
});
