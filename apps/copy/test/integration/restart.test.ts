import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startProcess, temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { MAIN, verified } from '../copies.ts';

const started = await startOrSkip('postgres', startPostgres);
const skip = 'skip' in started ? started.skip : false;
// The test is skipped if there is no server.
const server = ('server' in started ? started.server : null)!;
after(() => server?.stop());

test('waits for a target that is killed and starts again', { skip, timeout: 300_000 }, async () => {
  const folder = temporaryDirectory('copy-restart');
  const [from, to] = [`sqlite:${folder.path}/from.db`, server.url(await server.createDatabase())];
  await fillStore(openStore(from), 60_000);
  let log = '';
  const copying = startProcess({
    command: process.execPath,
    args: [MAIN, '--from', from, '--to', to],
    onOutput: (text) => {
      log += text;
    },
  });
  // It has connected, and reads and writes from now on.
  const deadline = Date.now() + 60_000;
  const isAnyWritten = async () =>
    (
      await server.query('select count(*) from readings', new URL(to).pathname.slice(1)).catch(() => '0')
    ).trim() !== '0';
  while (Date.now() < deadline && copying.running && !(await isAnyWritten()))
    await new Promise((resolve) => setTimeout(resolve, 20));
  await server.kill();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await server.restart();
  const { code } = await copying.exited;
  assert.equal(code, 0, log);
  assert.match(log, /trying again in/);
  assert.equal((await verified(from, to)).equal, true);
  folder.remove();
});
