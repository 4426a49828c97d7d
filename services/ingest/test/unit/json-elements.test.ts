import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { type JsonElement, jsonElements } from '../../src/ledger/json-elements.ts';

const directory = mkdtempSync(join(tmpdir(), 'tidegauge-json-'));
const file = join(directory, 'f.json');
test.after(() => rmSync(directory, { recursive: true }));

async function elementsOf(text: string): Promise<JsonElement[]> {
  writeFileSync(file, text);
  return collect(jsonElements(file));
}

test('for any object, the members and the elements of its arrays are those of JSON.parse', async () => {
  const objects = fc.dictionary(fc.string(), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(objects, fc.constantFrom(undefined, 1, '\t\n '), async (object, space) => {
      const parsed = JSON.parse(JSON.stringify(object)) as object;
      const expected = Object.entries(parsed).flatMap(([key, value]) =>
        Array.isArray(value) ? value.map((each) => ({ key, value: each })) : [{ key, value }],
      );
      assert.deepEqual(await elementsOf(JSON.stringify(object, null, space)), expected);
    }),
    { numRuns: 200 },
  );
});

test('values across the chunks of a file are read', async () => {
  const devices = Array.from({ length: 3000 }, (_, n) => ({ device: `site-${n}/ж"\\`, list: [n, [n]] }));
  const found = await elementsOf(JSON.stringify({ before: 1, devices, after: { devices: [1] } }, null, 2));
  assert.deepEqual(found, [
    { key: 'before', value: 1 },
    ...devices.map((value) => ({ key: 'devices', value })),
    { key: 'after', value: { devices: [1] } },
  ]);
});

for (const text of [
  '',
  '[]',
  '7',
  '"a"',
  '{',
  '{"a":',
  '{"a":1',
  '{"a":[1',
  '{"a":[1,',
  '{"a":1}}',
  '{"a":1}{"a":1}',
  '{"a":}',
  '{"a":,"b":1}',
  '{"a":1,"b"}',
  '{a:1}',
  '{"a":[1 2]}',
  '{"a":nul}',
  '\0',
]) {
  test(`${JSON.stringify(text)} is refused with a position`, async () => {
    await assert.rejects(elementsOf(text), /^Error: byte \d+: /);
  });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
