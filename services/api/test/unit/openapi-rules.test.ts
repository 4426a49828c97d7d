import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import spectral from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import { openapiExceptions, openapiRules } from '../openapi-rules.ts';

const FILE = new URL('../../src/openapi.yaml', import.meta.url);
const ERROR = 0;

async function errorsOf(text: string) {
  const linter = new spectral.Spectral();
  linter.setRuleset(new spectral.Ruleset(openapiRules));
  const found = await linter.run(new spectral.Document(text, parsers.Yaml, 'openapi.yaml'));
  return found
    .filter(({ severity }) => severity === ERROR)
    .map(({ code, message, path, range }) => ({
      code: String(code),
      path: path.join('.'),
      line: range.start.line + 1,
      message,
    }));
}

test('the OpenAPI document has no errors by the rules of OWASP', async () => {
  const found = await errorsOf(readFileSync(FILE, 'utf8'));
  const isException = ({ code, path }: { readonly code: string; readonly path: string }): boolean =>
    openapiExceptions.some((each) => each.code === code && each.path === path);
  const errors = found.filter((each) => !isException(each));
  assert.deepEqual(
    errors.map(({ line, code, path, message }) => `openapi.yaml:${line} ${code} ${path}: ${message}`),
    [],
  );
  for (const exception of openapiExceptions) {
    assert.ok(
      found.some(({ code, path }) => code === exception.code && path === exception.path),
      exception.path,
    );
  }
});

test('a text, a list and a number without a bound are errors', async () => {
  const text = readFileSync(FILE, 'utf8');
  const worse = text
    .replace(', maxLength: 48', '')
    .replace('maxItems: 10000', '')
    .replace(', maximum: 599', '');
  const codes = new Set((await errorsOf(worse)).map(({ code }) => code));
  for (const limit of ['string-limit', 'array-limit', 'integer-limit']) {
    assert.ok(codes.has(`owasp:api4:2023-${limit}`), limit);
  }
});
