import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildK6 } from '@tidegauge/lab/k6';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { digests } from '../digests.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('../k6-digests.ts', import.meta.url));

test('k6 draws the same streams as Node, from the same source', async (t) => {
  const started = await startOrSkip('k6', buildK6);
  if ('skip' in started) {
    t.skip(started.skip);
    return;
  }
  const { stdout } = await run(started.server, ['run', '--quiet', '--address', '', SCRIPT], {
    env: { ...process.env, K6_NO_USAGE_REPORT: 'true', K6_AUTO_EXTENSION_RESOLUTION: 'false' },
  });
  const here = digests((name) =>
    readFileSync(new URL(`../../workloads/workload${name}`, import.meta.url), 'utf8'),
  );
  assert.deepEqual(JSON.parse(stdout), here);
});
