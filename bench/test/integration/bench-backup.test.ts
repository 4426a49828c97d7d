import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '@tidegauge/lab/debian';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgramSync } from '@tidegauge/process';

const BENCH = fileURLToPath(new URL('../../programs/backup.ts', import.meta.url));

test('bench backup --quick backs up and restores in both ways', async (context) => {
  const found = await startOrSkip('postgres', () => findProgram('pg_dump', 'postgresql-client-15'));
  if ('skip' in found) return context.skip(found.skip);
  const { code, stdout, stderr } = runProgramSync(
    process.execPath,
    [BENCH, '--stores', 'postgres', '--quick'],
    {
      accept: 'any',
      timeoutMs: 120_000,
    },
  );
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^ {2}postgres +npm run backup +\d\S* +\d\S* +\d.*\n {2}postgres +own tool +\d\S* +\d\S* +\d.*\n$/m,
  );
});
