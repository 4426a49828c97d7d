import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type OpenApiDocument, readOpenApi, resolveReferences, type Schema } from '../../src/openapi.ts';
import { referenceHtml } from '../../src/reference/page.ts';
import { fieldsHtml, kindOf } from '../../src/reference/schema.ts';

/** Of the compressed page. A phone on a slow network loads it in less than a second. */
const MOST_BYTES = 60_000;

test('the reference has every operation with its method, path and parameters, and each link has a target', () => {
  const document = readOpenApi();
  const html = referenceHtml(document);
  const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const { paths } = resolveReferences(document);
  for (const [path, { parameters = [], ...methods }] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId, tags } = operation as { operationId: string; tags: readonly string[] };
      assert.ok(ids.has(`/${tags[0]}/${operationId}`), operationId);
      assert.ok(html.includes(`>${method.toUpperCase()}</b> <code>${path}</code></h3>`), operationId);
    }
    for (const { name } of parameters)
      assert.ok(html.includes(`<li><code>${name}</code>`), `${path} ${name}`);
  }
  for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.has(target), target);
  assert.doesNotMatch(html, /undefined|\[object|<script|\$ref/);
  const { length } = gzipSync(html);
  assert.ok(length < MOST_BYTES, `${length} bytes`);
});

test('texts of the document are text, and code in them is code', () => {
  const schema: Schema = { type: 'string', description: 'a <b> & `c<d>` "e"' };
  const operation = {
    operationId: 'x',
    tags: ['t'],
    summary: '<script>',
    description: 'one\n\ntwo `three`',
    parameters: [{ name: '<i>', in: 'query', description: schema.description, schema }],
    responses: { 200: { description: '</li>', content: { 'text/plain': { schema, example: '</pre>' } } } },
  };
  const document = {
    openapi: '3.1.0',
    info: { title: 'T<', version: '1', description: 'd' },
    security: [{ key: ['read'] }],
    tags: [{ name: 't', description: 'about' }],
    paths: { '/x': { get: operation } },
  };
  const html = referenceHtml(document as unknown as OpenApiDocument);
  assert.match(html, /<p>one<\/p><p>two <code>three<\/code><\/p>/);
  assert.match(html, /a &lt;b&gt; &amp; <code>c&lt;d&gt;<\/code> &quot;e&quot;/);
  for (const raw of ['<script', 'T<<', '<code><i></code>', '<pre></pre></pre>', '</b> </li></li>'])
    assert.ok(!html.includes(raw), raw);
});

test('a schema is described by its type, limits and fields', () => {
  const kinds: readonly (readonly [Schema, string])[] = [
    [{ type: 'integer', minimum: 1, maximum: 9, default: 5 }, 'whole number, 1 to 9, default 5'],
    [{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'whole number, at least 0'],
    [{ type: ['null', 'string'], maxLength: 9 }, 'null or text, at most 9 characters'],
    [{ type: 'array', maxItems: 2, items: { type: 'number' } }, 'list, each number, at most 2 items'],
    [{ enum: ['a', 'b'], default: 'a' }, 'one of a, b, default "a"'],
    [{ const: 'x' }, '"x"'],
    [{ anyOf: [{ type: 'null' }, { type: 'boolean' }, { title: 'More' }] }, 'null or true or false or More'],
    [{ description: 'd', allOf: [{ type: 'string' }] }, 'text'],
    [{}, 'any value'],
  ];
  for (const [schema, expected] of kinds) assert.equal(kindOf(schema), expected);
  const inner = { type: 'object', required: ['a'], properties: { a: { type: 'number', description: 'A.' } } };
  const shown = '<ul><li><code>a</code> <i>number, required</i> A.</li></ul>';
  for (const schema of [inner, { type: 'array', items: inner }, { type: 'object', allOf: [inner] }])
    assert.equal(fieldsHtml(schema), shown);
  assert.equal(
    fieldsHtml({ type: 'object', additionalProperties: { type: 'string' } }),
    '<ul><li><code>(other names)</code> <i>text</i></li></ul>',
  );
  assert.equal(fieldsHtml({ type: 'string' }), '');
});
