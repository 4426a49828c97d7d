import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler } from 'express';
import {
  type OpenApiDocument,
  type OperationObject,
  type Parameter,
  resolveReferences,
  type Schema,
  type Security,
} from '../openapi.ts';
import { escaped, inline, prose } from './prose.ts';
import { fieldsHtml, kindOf } from './schema.ts';

const compress = promisify(gzip);

type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;

/** What the page shows of an operation besides what requests are checked against. */
interface Described extends OperationObject {
  readonly summary: string;
  readonly description: string;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

interface Reference extends OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Described;
  readonly parameters: readonly Parameter[];
}

/** Answers with the reference of the API, which is made and compressed at the first request. */
export function referencePage(document: OpenApiDocument): RequestHandler {
  let made: { html: string; gzipped: Promise<Buffer>; version: string } | undefined;
  const make = () => {
    const html = referenceHtml(document);
    const version = createHash('sha256').update(html).digest('base64url').slice(0, 22);
    return { html, gzipped: compress(html), version };
  };
  return async (request, response) => {
    made ??= make();
    const isZipped = request.acceptsEncodings('gzip', 'identity') === 'gzip';
    response.vary('Accept-Encoding').type('html');
    response.set('ETag', `"${made.version}${isZipped ? '-gzip' : ''}"`);
    if (isZipped) response.set('Content-Encoding', 'gzip');
    response.send(isZipped ? await made.gzipped : made.html);
  };
}

/** The reference of the API as one page, which needs no script. */
export function referenceHtml(document: OpenApiDocument): string {
  const { info, tags, paths, security } = resolveReferences(document) as Reference;
  const entries = Object.entries(paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]): Entry => {
      const own = operation as Described;
      return { method, path, operation: own, parameters: [...shared, ...(own.parameters ?? [])] };
    }),
  );
  const groups = tags.map((tag) => {
    return { ...tag, entries: entries.filter(({ operation }) => operation.tags[0] === tag.name) };
  });
  const contents = groups.map(
    ({ name, entries }) =>
      `<li><a href="#${name}">${name}</a><ul>${entries.map(contentsEntry).join('')}</ul></li>`,
  );
  const sections = groups.map(
    ({ name, description, entries }) =>
      `<section aria-labelledby="${name}"><h2 id="${name}">${name}</h2>${prose(description)}${entries
        .map((entry) => operationHtml(entry, security))
        .join('')}</section>`,
  );
  const title = `${escaped(info.title)} HTTP API`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Reference of the HTTP API: every operation, its parameters and the schemas of its bodies.">
<title>${title}</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs/docs.css">
</head>
<body>
<nav class="site" aria-label="Tidegauge"><a href="./">Live page</a> <a href="docs/try">Try requests</a> <a href="openapi.json">OpenAPI document</a></nav>
<main>
<h1>${title} <small>${escaped(info.version)}</small></h1>
${prose(info.description)}
<nav aria-label="Operations"><ul class="contents">${contents.join('')}</ul></nav>
${sections.join('\n')}
</main>
</body>
</html>
`;
}

/** The part of the address that names an operation, here and on the page to try requests. */
function anchorOf({ operation: { tags, operationId } }: Entry): string {
  return `/${tags[0]}/${operationId}`;
}

function contentsEntry(entry: Entry): string {
  const { method, path, operation } = entry;
  return `<li><a href="#${anchorOf(entry)}">${method.toUpperCase()} ${escaped(path)}</a> ${inline(operation.summary)}</li>`;
}

function operationHtml(entry: Entry, security: Security): string {
  const { method, path, operation, parameters } = entry;
  const { summary, description, requestBody, responses } = operation;
  const link = `<a href="docs/try#${anchorOf(entry)}">Try it<span class="unseen">: ${inline(summary)}</span></a>`;
  const parts = [
    `<h3 id="${anchorOf(entry)}"><b>${method.toUpperCase()}</b> <code>${escaped(path)}</code></h3>`,
    `<p><strong>${inline(summary)}.</strong> ${neededFor(operation.security ?? security)} ${link}</p>`,
    prose(description),
    parameters.length === 0 ? '' : `<h4>Parameters</h4><ul>${parameters.map(parameterHtml).join('')}</ul>`,
    requestBody === undefined ? '' : `<h4>Body</h4>${contentHtml(requestBody.content)}`,
    `<h4>Answers</h4><ul>${Object.entries(responses).map(answerHtml).join('')}</ul>`,
  ];
  return `<article>${parts.join('')}</article>`;
}

/** The login that an operation needs. */
function neededFor([first]: Security): string {
  const scope = first?.key?.[0];
  return scope === undefined ? 'It needs no login.' : `Scope <code>${escaped(scope)}</code>.`;
}

function parameterHtml({ name, in: place, required, description, schema }: Parameter): string {
  const where = place === 'query' ? '' : `, in the ${place}`;
  const kind = `${kindOf(schema)}${required === true ? ', required' : ''}${where}`;
  const about = inline(description ?? schema.description ?? '');
  return `<li><code>${escaped(name)}</code> <i>${escaped(kind)}</i> ${about}${fieldsHtml(schema)}</li>`;
}

function answerHtml([status, { description, content }]: [string, Described['responses'][string]]): string {
  // Problems have one schema, which the beginning of the page describes.
  const body = status.startsWith('2') && content !== undefined ? contentHtml(content) : '';
  return `<li><b>${escaped(status)}</b> ${inline(description)}${body}</li>`;
}

function contentHtml(content: Content): string {
  return Object.entries(content)
    .map(([type, { schema, example }]) => {
      const fields = fieldsHtml(schema);
      const list =
        fields === '' ? '' : `<details><summary>Fields of ${escaped(type)}</summary>${fields}</details>`;
      return `<p><code>${escaped(type)}</code> <i>${escaped(kindOf(schema))}</i></p>${exampleHtml(example)}${list}`;
    })
    .join('');
}

function exampleHtml(example: unknown): string {
  if (example === undefined) return '';
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return `<pre>${escaped(text)}</pre>`;
}
