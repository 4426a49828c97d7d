import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { countRuns, History } from '@tidegauge/experiments/archive/history';
import { readEntries } from '@tidegauge/experiments/archive/results';
import type { RunDocument } from '@tidegauge/experiments/model';
import { runProgram } from '@tidegauge/process';
import { smallPlan } from '../study/small-study.ts';

const RUN_SMALL = fileURLToPath(new URL('../study/run-small.ts', import.meta.url));

test('after kill -9 at several steps, each planned run counts once and no series has two attempts', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-study-steps-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const plan = smallPlan();
  let kills = 0;
  // One attempt of a series has about 15 steps, so each start gets further.
  for (const killAt of [1, 4, 9, 22, 17, 30, 19, 3, 0]) {
    const { code, signal, stderr } = await runProgram(
      process.execPath,
      [RUN_SMALL, directory, String(killAt)],
      {
        accept: 'any',
      },
    );
    if (signal === 'SIGKILL') kills += 1;
    else assert.equal(code, 0, stderr);
  }
  assert.ok(kills >= 5, `${kills}`);
  const history = new History(readEntries(directory));
  assert.deepEqual(countRuns(plan, history), { planned: 24, done: 24, invalid: [] });
  for (const { id } of plan.deployments.flatMap(({ series }) => series)) {
    const runs = history
      .runsOf(id)
      .map(
        ({ run }) => JSON.parse(readFileSync(join(directory, 'runs', `${run}.json`), 'utf8')) as RunDocument,
      );
    const cells = runs.map(({ trial, driver }) => `${trial} ${driver}`).toSorted();
    assert.deepEqual(cells, ['1 app', '1 raw', '2 app', '2 raw', '3 app', '3 raw'], id);
    const attempts = new Set(
      runs.map(({ seriesAttempt, deploymentAttempt }) => `${seriesAttempt} ${deploymentAttempt}`),
    );
    assert.equal(attempts.size, 1, id);
  }
  assert.ok(readEntries(directory).filter(({ event }) => event === 'series-void').length >= 3);
});
