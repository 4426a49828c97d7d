import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';

test('every store that STORES names has a conformance run', () => {
  const known = readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.test.ts') && file !== 'stores.test.ts')
    .map((file) => file.slice(0, -'.test.ts'.length));
  for (const name of process.env.STORES?.split(',') ?? []) {
    assert.ok(known.includes(name.trim()), `STORES names ${name}; there are ${known.join(', ')}`);
  }
});
