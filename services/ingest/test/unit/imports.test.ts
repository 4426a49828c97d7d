import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@tidegauge/process';

const SERVICE = fileURLToPath(new URL('../../src/service.ts', import.meta.url));

test("ingest starts without Node's HTTP client, which takes 12 MB of memory", async () => {
  const program = `await import(${JSON.stringify(SERVICE)}); console.log(process.moduleLoadList.join('\\n'))`;
  const { stdout } = await runProgram(process.execPath, ['--input-type=module', '--eval', program], {
    what: 'the import of ingest',
    timeoutMs: 60_000,
  });
  const loaded = stdout.split('\n');
  assert.ok(loaded.includes('NativeModule _http_server'));
  assert.deepEqual(
    loaded.filter((name) => name.includes('undici')),
    [],
  );
});
