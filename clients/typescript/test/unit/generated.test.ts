import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generatedFiles } from '../../generate/generate.ts';

const FOLDER = new URL('../../src/generated/', import.meta.url);

test('src/generated is what `npm run client` writes from the OpenAPI document', async () => {
  const files = await generatedFiles();
  assert.deepEqual(readdirSync(FOLDER).toSorted(), Object.keys(files).toSorted());
  for (const [name, text] of Object.entries(files))
    assert.ok(
      readFileSync(new URL(name, FOLDER), 'utf8') === text,
      `${name} is not current: run npm run client`,
    );
});
