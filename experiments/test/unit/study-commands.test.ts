import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openResults } from '@tidegauge/experiments/archive/results';
import { defaultDirectory, isSameDirectory } from '@tidegauge/experiments/commands/directories';
import { statusText } from '@tidegauge/experiments/commands/status';
import type { Plan } from '@tidegauge/experiments/model';
import { runStudy } from '@tidegauge/experiments/runner';
import { SmallPlace, smallPlan, smallRound } from '../study/small-study.ts';

const root = mkdtempSync(join(tmpdir(), 'tidegauge-study-commands-'));
after(() => rmSync(root, { recursive: true }));

function open(directory: string, plan: Plan) {
  return openResults(
    directory,
    plan,
    { machine: 'a' },
    { source: '', force: false, needBytes: 0, say: () => {} },
  );
}

async function perform(directory: string, plan: Plan, place = new SmallPlace()): Promise<void> {
  const results = await open(directory, plan);
  const { signal } = new AbortController();
  const rest = { signal, say: () => {}, estimateSeconds: 1, force: false };
  await runStudy({ place, results, openRound: smallRound(), ...rest });
  results.close();
}

test('without --results, an unfinished study of the same plan continues, and a finished one is not touched', async () => {
  const base = join(root, 'results');
  const plan = smallPlan({ deployments: 1, series: 1, trials: 1 });
  const first = defaultDirectory(plan, { base });
  assert.match(first, /results\/small-\d{4}-\d\d-\d\d$/);
  (await open(first, plan)).close();
  assert.equal(defaultDirectory(plan, { base }), first);
  const other = smallPlan({ deployments: 1, series: 1, trials: 2 });
  assert.equal(defaultDirectory(other, { base }), `${first}-2`);
  await perform(first, plan);
  assert.equal(defaultDirectory(plan, { base }), `${first}-2`);
  assert.match(defaultDirectory(plan, { base, kind: 'rerun' }), /results\/small-rerun-\d{4}-\d\d-\d\d$/);
  assert.equal(isSameDirectory(first, join(first, '.')), true);
  assert.equal(isSameDirectory(first, `${first}-2`), false);
});

test('the status of a directory: running, stopped with a failure, complete', async () => {
  const directory = join(root, 'status');
  const plan = smallPlan({ deployments: 2, series: 1, trials: 1, requeue: 0 });
  const fails = new SmallPlace(({ store }) => {
    if (store === 'sqlite2') throw new Error('no port is free');
  });
  await perform(directory, plan, fails);
  const running = await open(directory, plan);
  assert.match(await statusText(directory), /\nstate: running\n/);
  running.close();
  const stopped = await statusText(directory);
  assert.match(
    stopped,
    /^small: A small study\n2 of 4 runs are done; 1 of 2 deployments are complete\nstate: stopped\n/,
  );
  assert.match(stopped, /\nabout \S+ m?s left, at the mean time of a run with starts of servers and loads/);
  assert.match(stopped, /\nfailed: d2 attempt 1 \(store=sqlite2\): no port is free\n/);
  await perform(directory, plan);
  const complete = await statusText(directory);
  assert.match(complete, /\n4 of 4 runs are done; 2 of 2 deployments are complete\nstate: complete\n/);
  assert.match(
    complete,
    /\noverhead between the runs of a series: median \S+ m?s, most \S+ m?s, \S+ % of the measured time$/,
  );
});
