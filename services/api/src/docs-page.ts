import type { OpenApiDocument } from './openapi.ts';

// The reference at /docs: the OpenAPI document set for reading, without scripts. The usual renderers are a
// megabyte of code each, and the most used one reports installations to a third party.

const METHODS = ['get', 'put', 'post', 'patch', 'delete'] as const;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
}

type Content = Readonly<Record<string, { readonly example?: unknown }>>;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Endpoint {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
}

/** The whole page as HTML. */
export function renderDocs(document: OpenApiDocument): string {
  const endpoints = endpointsOf(document);
  const groups = document.tags.map((tag) => ({
    tag,
    endpoints: endpoints.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const contents = groups.map(
    ({ tag, endpoints }) =>
      `<li><a href="#${tag.name}">${text(tag.name)}</a><ul>${endpoints.map(contentsEntry).join('')}</ul></li>`,
  );
  const sections = groups.map(
    ({ tag, endpoints }) =>
      `<section id="${tag.name}"><h2>${text(tag.name)}</h2>${paragraphs(tag.description)}${endpoints
        .map((endpoint) => renderEndpoint(document, endpoint))
        .join('')}</section>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(document.info.title)} HTTP API</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<nav aria-label="Contents"><a class="home" href="/">${text(document.info.title)}</a><ul>${contents.join('')}</ul></nav>
<main>
<header><h1>HTTP API <small>${text(document.info.version)}</small></h1>${paragraphs(document.info.description)}
<p><a href="/openapi.json">OpenAPI ${text(document.openapi)} document</a></p></header>
${sections.join('\n')}
</main>
</body>
</html>
`;
}

function endpointsOf(document: OpenApiDocument): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const operation = item[method] as Operation;
      const shared = (item.parameters ?? []) as readonly unknown[];
      const parameters = [...shared, ...(operation.parameters ?? [])].map((each) =>
        deref<Parameter>(document, each),
      );
      return { path, method, operation, parameters };
    }),
  );
}

function contentsEntry({ method, path, operation }: Endpoint): string {
  return `<li><a href="#${operation.operationId}">${verb(method)} ${text(path)}</a></li>`;
}

function renderEndpoint(document: OpenApiDocument, endpoint: Endpoint): string {
  const { path, method, operation, parameters } = endpoint;
  const body = deref<{ content?: Content }>(document, operation.requestBody ?? {});
  return `<article id="${operation.operationId}">
<h3>${verb(method)} <code>${text(path)}</code></h3>
<p class="summary">${text(operation.summary)}</p>
${paragraphs(operation.description)}
${parameters.length === 0 ? '' : `<dl class="parameters">${parameters.map(renderParameter).join('')}</dl>`}
${body.content === undefined ? '' : `<h4>Body</h4>${renderContent(body.content)}`}
${Object.entries(operation.responses)
  .map(([status, response]) => renderResponse(status, deref(document, response)))
  .join('')}
</article>`;
}

function renderParameter(parameter: Parameter): string {
  const facts = [parameter.in, typeOf(parameter.schema ?? {}), parameter.required ? 'required' : ''].filter(
    Boolean,
  );
  const example =
    parameter.example === undefined ? '' : ` Example: <code>${text(inline(parameter.example))}</code>`;
  return `<dt><code>${text(parameter.name)}</code> <small>${text(facts.join(', '))}</small></dt>
<dd>${text(parameter.description ?? '')}${example}</dd>`;
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.join(' | ');
  if (schema.items !== undefined) {
    return `list of ${typeOf(schema.items)}${schema.maxItems === undefined ? '' : `, at most ${schema.maxItems}`}`;
  }
  const type = [schema.type ?? 'any'].flat().join(' | ');
  const range = schema.minimum === undefined ? '' : ` ${schema.minimum} to ${schema.maximum}`;
  return type + range + (schema.default === undefined ? '' : `, default ${inline(schema.default)}`);
}

function renderResponse(status: string, response: { description?: string; content?: Content }): string {
  const content =
    status.startsWith('2') && response.content !== undefined ? renderContent(response.content) : '';
  const label = status === 'default' ? 'other' : status;
  return `<h4><span class="status">${text(label)}</span> ${text(response.description ?? '')}</h4>${content}`;
}

function renderContent(content: Content): string {
  return Object.entries(content)
    .map(
      ([type, { example }]) =>
        `<figure><figcaption>${text(type)}</figcaption>${example === undefined ? '' : `<pre>${text(pretty(example))}</pre>`}</figure>`,
    )
    .join('');
}

function deref<T>(document: OpenApiDocument, node: unknown): T {
  const reference = (node as { $ref?: string }).$ref;
  if (reference === undefined) return node as T;
  const [, , kind, name] = reference.split('/');
  return document.components[kind!]?.[name!] as T;
}

function verb(method: string): string {
  return `<span class="verb ${method}">${method.toUpperCase()}</span>`;
}

function inline(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Paragraphs, and `code` in them; the little of Markdown that the descriptions use. */
function paragraphs(markdown: string): string {
  return markdown
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => `<p>${text(paragraph)}</p>`)
    .join('');
}

function text(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/`([^`]+)`/g, '<code>$1</code>');
}
