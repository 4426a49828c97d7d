import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync, temporaryDirectory } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/natives.ts', import.meta.url));

test('bench natives --quick compares each native call of a store with the derived one', (t) => {
  const folder = temporaryDirectory('natives');
  t.after(() => folder.remove());
  const json = join(folder.path, 'natives.json');
  const args = [BENCH, '--stores', 'sqlite,json', '--quick', '--json', json];
  const { code, stderr } = runProgramSync(process.execPath, args, { accept: 'any', timeoutMs: 120_000 });
  assert.equal(code, 0, stderr);
  const { results } = JSON.parse(readFileSync(json, 'utf8'));
  assert.deepEqual([...new Set(results.map(({ store }: { store: string }) => store))], ['sqlite', 'json']);
  for (const { nativeMs, derivedMs, ratio } of results) assert.ok(nativeMs > 0 && derivedMs > 0 && ratio > 0);
});
