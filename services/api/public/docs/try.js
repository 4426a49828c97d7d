// Shows the OpenAPI document with Swagger UI, which is served from node_modules. No request leaves this server.

const dark = matchMedia('(prefers-color-scheme: dark)');
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', applyScheme);
applyScheme();

// Swagger UI tests patterns without Unicode support and would refuse every device name. The server checks them.
const withoutUnicodePatterns = (key, value) =>
  key === 'pattern' && String(value).includes('\\p{') ? undefined : value;
const response = await fetch('../openapi.json');
const spec = JSON.parse(await response.text(), withoutUnicodePatterns);
// Where this page is, also behind a proxy that serves it under a path.
spec.servers = [{ url: new URL('..', location.href).href }];

/** Repairs parts of Swagger UI that screen readers and keyboards cannot use well. */
function accessible({ React: { Fragment, createElement } }) {
  return {
    wrapComponents: {
      // Its select has no name, and the only server is this one.
      ServersContainer: () => () => null,
      // The path of an operation is a link inside a button. The button alone opens the operation and sets the address.
      DeepLink: (Original) => (props) =>
        props.path?.includes('/') ? createElement('span', null, props.text) : createElement(Original, props),
      // The title is in no landmark.
      InfoContainer: (Original) => (props) =>
        createElement('section', { 'aria-label': 'About this API' }, createElement(Original, props)),
      // Between the title, h1, and the tags, h3.
      operations: (Original) => (props) =>
        createElement(
          Fragment,
          null,
          createElement('h2', { className: 'unseen' }, 'Operations'),
          createElement(Original, props),
        ),
    },
  };
}

globalThis.SwaggerUIBundle({
  spec,
  dom_id: '#reference',
  deepLinking: true,
  // Its colours have more contrast than those of the default.
  syntaxHighlight: { theme: 'obsidian' },
  plugins: [accessible],
  // The default is a service on the Internet that would receive the document's address.
  validatorUrl: null,
  // The token of "Authorize" stays in memory until the page is closed.
  persistAuthorization: false,
  // Schemas of bodies are open; the list of all schemas at the end is closed.
  defaultModelExpandDepth: 6,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
});
