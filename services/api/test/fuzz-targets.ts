import assert from 'node:assert/strict';
import { Problem } from '@tidegauge/service';
import type { OperationObject, Parameter } from '../src/openapi.ts';
import { resolveReferences } from '../src/openapi.ts';
import { apiOperations } from '../src/operation-table.ts';

// Input: a method and a URL, the media type of the body, and the body, each on a line.

interface Example extends Parameter {
  readonly example?: unknown;
}

const { document, operations } = apiOperations();

/** A request for each operation, with the examples of the document. */
const requests = Object.entries(resolveReferences(document).paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => method !== 'parameters')
    .flatMap(([method, value]) => {
      const operation = value as OperationObject;
      const parameters: readonly Example[] = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      const url = parameters
        .filter((each) => each.in === 'path')
        .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path);
      const query = parameters
        .filter((each) => each.in === 'query')
        .map(
          ({ name, example, schema }) =>
            `${name}=${encodeURIComponent(String(example ?? schema.default ?? 1))}`,
        )
        .join('&');
      const bodies = Object.entries(operation.requestBody?.content ?? {}) as [
        string,
        { example?: unknown },
      ][];
      const start = `${method.toUpperCase()} ${url}?${query}\n`;
      if (bodies.length === 0) return [start];
      return bodies.map(([type, { example }]) => `${start}${type}\n${JSON.stringify(example ?? null)}`);
    }),
);

const tokens = [
  ...[
    '/',
    '//',
    '?',
    '&',
    '=',
    '%',
    '%00',
    '%2F',
    '%2e%2e',
    '..',
    '%ff',
    '+',
    ';',
    '#',
    '\0',
    '\n',
    '{}',
    '[]',
    'null',
  ],
  ...[
    'GET ',
    'PUT ',
    'DELETE ',
    'HEAD ',
    '/v1/devices/',
    '/v1/records/',
    '/v1/readings?',
    'limit=',
    'device=',
    'from=',
  ],
  ...[
    'cursor=',
    'fields=field0,',
    '__proto__=1&',
    'constructor=',
    '1e9',
    '-1',
    '9007199254740993',
    '2026-11-21T',
  ],
  ...[
    '"__proto__":{},',
    '"fields":',
    '"key":',
    '"payload":',
    '"route":',
    '\\u0000',
    'é',
    '\u{1f4a7}',
    'application/json',
  ],
].map((text) => Buffer.from(text));

/** Longest detail of a problem: every parameter of a URL of 16 KiB can be a mistake. */
const MAX_DETAIL = 1 << 20;
const MAX_URL = 16 * 1024;

function check(method: string, url: string, type: string, body: string): string {
  operations.ruleOf(method, url);
  const found = operations.find(method, url, () => {});
  if (found === null) return 'no operation';
  const { operation, params, search } = found;
  const parameters = operation.parameters(params, search, { 'last-event-id': type });
  assert.equal(Object.getPrototypeOf(parameters.params), Object.prototype);
  if (operation.hasBody) operation.checkBody(operation.mediaType(type), jsonOf(body));
  return operation.id;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const fuzzTargets = [
  {
    name: 'http-requests',
    corpus: requests.map((text) => Buffer.from(text)),
    tokens,
    run: (input: Buffer): string => {
      const [start = '', type = '', ...body] = input.toString().split('\n');
      const space = start.indexOf(' ');
      const method = start.slice(0, Math.max(space, 0));
      try {
        return check(method, start.slice(space + 1, MAX_URL), type, body.join('\n'));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        const { status, detail } = error.details;
        assert.ok(status >= 400 && status < 500, `${status}`);
        assert.ok(detail.length > 0 && detail.length < MAX_DETAIL, `a detail of ${detail.length} characters`);
        return `${status} ${detail.replaceAll(/"[^"]*"|[\d.]+/g, '').slice(0, 80)}`;
      }
    },
  },
];
