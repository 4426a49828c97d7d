import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { History } from '@tidegauge/experiments/archive/history';
import { openResults, type Results, readEntries } from '@tidegauge/experiments/archive/results';
import type { JournalEntry, Plan, RunDocument } from '@tidegauge/experiments/model';
import { type RunnerOptions, runStudy, type StudyOutcome } from '@tidegauge/experiments/runner';
import { runProgram } from '@tidegauge/process';
import { SmallPlace, smallPlan, smallRound } from '../study/small-study.ts';

const root = mkdtempSync(join(tmpdir(), 'tidegauge-study-runner-'));
after(() => rmSync(root, { recursive: true }));
let folders = 0;
function folder(): string {
  folders += 1;
  return join(root, String(folders));
}

const NO_SIGNAL = new AbortController().signal;

async function withResults<T>(
  directory: string,
  plan: Plan,
  use: (results: Results) => Promise<T>,
): Promise<T> {
  const options = { source: '', force: false, needBytes: 0, say: () => {} };
  const results = await openResults(directory, plan, { machine: 'a' }, options);
  try {
    return await use(results);
  } finally {
    results.close();
  }
}

function runIn(directory: string, plan: Plan, changes: Partial<RunnerOptions> = {}): Promise<StudyOutcome> {
  return withResults(directory, plan, (results) =>
    runStudy({
      results,
      place: new SmallPlace(),
      openRound: smallRound(),
      signal: NO_SIGNAL,
      say: () => {},
      estimateSeconds: 1,
      force: false,
      ...changes,
    }),
  );
}

const eventsOf = (directory: string, event: JournalEntry['event']): readonly JournalEntry[] =>
  readEntries(directory).filter((entry) => entry.event === event);
const runsStarted = (directory: string): readonly string[] =>
  readEntries(directory).flatMap((entry) => (entry.event === 'run-started' ? [entry.run] : []));

test('all runs are done in the order of the plan, and the drivers of a trial take turns', async () => {
  const directory = folder();
  const place = new SmallPlace();
  const lines: string[] = [];
  const plan = smallPlan({ deployments: 1, series: 1, trials: 3 });
  const outcome = await runIn(directory, plan, { place, say: (line) => void lines.push(line) });
  assert.deepEqual(runsStarted(directory), [
    'd1s1-1-1-raw-1',
    'd1s1-1-1-app-1',
    'd1s1-1-2-app-1',
    'd1s1-1-2-raw-1',
    'd1s1-1-3-raw-1',
    'd1s1-1-3-app-1',
  ]);
  assert.deepEqual(readdirSync(join(directory, 'loads')), ['d1s1-1-1-app-1.json', 'd1s1-1-1-raw-1.json']);
  assert.equal(place.up.size, 0);
  const { complete, failed, invalid, planned, done } = outcome;
  assert.deepEqual(
    { complete, failed, invalid, planned, done },
    { complete: true, failed: [], invalid: [], planned: 6, done: 6 },
  );
  assert.equal(lines[0], 'deployment 1 of 1: store=sqlite1, block 1');
  assert.match(
    lines[1]!,
    /^ 16 % {2}store=sqlite1 threads=1 raw trial 1\/3: \d+ ms, \d+ operations\/s; about \S+ m?s left$/,
  );
  assert.match(lines[6]!, /^100 % .* about 0 ms left$/);
  assert.equal(readEntries(directory).at(-1)?.event, 'closed');
});

test('a complete study starts no server', async () => {
  const directory = folder();
  await runIn(directory, smallPlan());
  const place = new SmallPlace();
  const outcome = await runIn(directory, smallPlan(), { place });
  assert.deepEqual(place.deployed, []);
  assert.equal(outcome.done, 24);
  assert.equal(outcome.overhead.runs, 0);
});

test('an invalid run is kept, and repeated at the end of its series', async () => {
  const directory = folder();
  const plan = smallPlan({ deployments: 1, trials: 3, requeue: 2 });
  // The second trial of raw is invalid twice; the first trial of app, in the second series, always.
  const openRound = smallRound(({ run, attempt }) =>
    run.startsWith('d1s1-1-2-raw') ? attempt > 2 : !run.startsWith('d1s2-1-1-app'),
  );
  const lines: string[] = [];
  const outcome = await runIn(directory, plan, { openRound, say: (line) => void lines.push(line) });
  // 5 of 12 are done until the last repetition.
  const shares = lines.flatMap((line) => /^ *(\d+) %/.exec(line)?.[1] ?? []);
  assert.deepEqual(shares.slice(5, 8), ['41', '41', '50']);
  assert.equal(shares.at(-1), '100');
  const repeated = runsStarted(directory).filter((run) => !run.endsWith('-1'));
  assert.deepEqual(repeated, ['d1s1-1-2-raw-2', 'd1s1-1-2-raw-3', 'd1s2-1-1-app-2', 'd1s2-1-1-app-3']);
  assert.deepEqual(runsStarted(directory).slice(6, 8), ['d1s1-1-2-raw-2', 'd1s1-1-2-raw-3']);
  assert.deepEqual(outcome.invalid, ['d1s2-1-1-app-3']);
  assert.equal(outcome.done, 11);
  const document = JSON.parse(
    readFileSync(join(directory, 'runs', 'd1s1-1-2-raw-1.json'), 'utf8'),
  ) as RunDocument;
  assert.equal(document.valid, false);
});

test('an invalid warm-up run is not repeated, and new servers have three', async () => {
  const directory = folder();
  const openRound = smallRound(({ warmup }) => !warmup);
  const plan = smallPlan({ deployments: 1, trials: 2, warmup: 1, drivers: ['raw'] });
  const lines: string[] = [];
  const outcome = await runIn(directory, plan, { openRound, say: (line) => void lines.push(line) });
  assert.deepEqual(runsStarted(directory), [
    ...['d1s1-1-1-raw-1', 'd1s1-1-1-raw-2', 'd1s1-1-1-raw-3', 'd1s1-1-2-raw-1'],
    ...['d1s2-1-1-raw-1', 'd1s2-1-2-raw-1'],
  ]);
  assert.deepEqual([outcome.done, outcome.planned, outcome.invalid], [4, 4, []]);
  const shares = lines.flatMap((line) => /^ *(\d+) %/.exec(line)?.[1] ?? []);
  assert.deepEqual(shares, ['25', '25', '25', '50', '75', '100']);
});

test('a quick study has each warm-up once', async () => {
  const directory = folder();
  const plan = smallPlan({ deployments: 1, series: 1, trials: 2, warmup: 1, drivers: ['raw'] });
  await runIn(directory, { ...plan, study: { ...plan.study, quick: true } });
  assert.deepEqual(runsStarted(directory), ['d1s1-1-1-raw-1', 'd1s1-1-2-raw-1']);
});

test('a deployment that fails is retried, and then the study continues with the others', async () => {
  const directory = folder();
  const fails = new SmallPlace(({ store }) => {
    if (store === 'sqlite1') throw new Error('the server did not start');
  });
  const outcome = await runIn(directory, smallPlan(), { place: fails });
  assert.deepEqual(outcome.failed, [
    { deployment: 'd1', hard: { store: 'sqlite1' }, reason: 'the server did not start' },
  ]);
  assert.equal(outcome.complete, false);
  assert.equal(outcome.done, 12);
  assert.equal(eventsOf(directory, 'deployment-failed').length, 2);
  const again = await runIn(directory, smallPlan());
  assert.equal(again.complete, true);
  assert.equal(again.done, 24);
});

test('a series that fails is repeated whole on a new deployment, and complete ones stay', async () => {
  const directory = folder();
  let failures = 0;
  const openRound = smallRound(({ run }) => {
    if (run === 'd1s2-1-2-raw-1') {
      failures += 1;
      throw new Error('the store is unavailable');
    }
    return true;
  });
  const place = new SmallPlace();
  const outcome = await runIn(directory, smallPlan({ deployments: 1 }), { openRound, place });
  assert.equal(failures, 1);
  assert.deepEqual(place.deployed, ['sqlite1', 'sqlite1']);
  assert.equal(place.up.size, 0);
  assert.equal(outcome.complete, true);
  const voids = eventsOf(directory, 'series-void').map((entry) => ({ ...entry, time: '' }));
  assert.deepEqual(voids, [
    { time: '', event: 'series-void', series: 'd1s2', attempt: 1, reason: 'the store is unavailable' },
  ]);
  const history = new History(readEntries(directory));
  assert.deepEqual([history.completeAttempt('d1s1'), history.completeAttempt('d1s2')], [1, 2]);
  assert.deepEqual(
    history.runsOf('d1s2').map(({ run }) => run.split('-')[1]),
    Array(6).fill('2'),
  );
  const later = JSON.parse(
    readFileSync(join(directory, 'runs', 'd1s2-2-1-raw-1.json'), 'utf8'),
  ) as RunDocument;
  assert.equal(later.deploymentAttempt, 2);
});

test('an interrupted study stops its servers, and continues later', async () => {
  const directory = folder();
  const stop = new AbortController();
  const place = new SmallPlace();
  const openRound = smallRound(({ run }) => {
    if (run === 'd1s2-1-3-raw-1') stop.abort();
    return true;
  });
  await assert.rejects(runIn(directory, smallPlan(), { place, openRound, signal: stop.signal }), {
    name: 'AbortError',
  });
  assert.equal(place.up.size, 0);
  const [last] = readEntries(directory).slice(-1);
  assert.deepEqual(last && { ...last, time: '' }, { time: '', event: 'closed', complete: false });
  const voided = eventsOf(directory, 'series-void').map(
    (entry) => entry.event === 'series-void' && entry.reason,
  );
  assert.deepEqual(voided, ['interrupted']);
  const outcome = await runIn(directory, smallPlan());
  assert.equal(outcome.done, 24);
});

test('servers of another version than before are refused', async () => {
  const directory = folder();
  const plan = smallPlan({ deployments: 1, requeue: 0 });
  const stop = new AbortController();
  const openRound = smallRound(({ run }) => {
    if (run.startsWith('d1s2')) stop.abort();
    return true;
  });
  await assert.rejects(runIn(directory, plan, { openRound, signal: stop.signal }));
  const place = new SmallPlace();
  place.versions = { sqlite: '4' };
  const refused = await runIn(directory, plan, { place });
  assert.match(refused.failed[0]!.reason, /sqlite was 3 and is 4: .*--force/);
  assert.equal(place.up.size, 0);
  const forced = await runIn(directory, plan, { place, force: true });
  assert.equal(forced.complete, true);
});

test('a disk that becomes full ends the study with one clear line, and the study continues later', async (context: TestContext) => {
  const directory = folder();
  mkdirSync(directory);
  const mounted = await runProgram('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory], {
    accept: 'any',
  }).catch(() => null);
  if (mounted?.code !== 0) return context.skip('a file system cannot be mounted here');
  context.after(() => runProgram('umount', [directory]));
  const results = join(directory, 'results');
  const filler = join(directory, 'filler');
  const openRound = smallRound(({ run }) => {
    if (run !== 'd1s2-1-2-raw-1') return true;
    for (const size of [4096, 512, 1]) {
      for (let full = false; !full; ) {
        try {
          writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
        } catch {
          full = true;
        }
      }
    }
    return true;
  });
  await assert.rejects(runIn(results, smallPlan(), { openRound }), {
    name: 'StudyError',
    message: `the disk of ${results} is full: make space, and run the same command again to continue`,
  });
  rmSync(filler);
  const outcome = await runIn(results, smallPlan());
  assert.deepEqual([outcome.complete, outcome.done, outcome.planned], [true, 24, 24]);
});

test('deployments of a site are up together, and an invalid run is repeated with its partners', async () => {
  const directory = folder();
  const plan = smallPlan({ deployments: 2, series: 2, trials: 2, requeue: 1, pairing: 'slice' });
  const sited: Plan = {
    ...plan,
    deployments: plan.deployments.map((deployment) => ({
      ...deployment,
      site: 'p1',
      series: deployment.series.map((series) => ({ ...series, round: `r${series.id.slice(2)}` })),
    })),
  };
  const place = new SmallPlace();
  const up: number[] = [];
  const openRound = smallRound(({ run }) => {
    up.push(place.up.size);
    return run !== 'd2s1-1-2-raw-1';
  });
  // The runner marks the partners of the real rounds; here each run is judged alone.
  const outcome = await runIn(directory, sited, { place, openRound });
  assert.deepEqual([outcome.complete, outcome.done, outcome.invalid], [true, 16, []]);
  assert.deepEqual(place.deployed, ['sqlite1', 'sqlite2']);
  assert.deepEqual([...new Set(up)], [2]);
  const lanes = ['d1s1', 'd2s1'].flatMap((series) => ['raw', 'app'].map((driver) => [series, driver]));
  const names = (trial: number, attempt: number) =>
    lanes.map(([series, driver]) => `${series}-1-${trial}-${driver}-${attempt}`);
  assert.deepEqual(runsStarted(directory).slice(0, 12), [...names(1, 1), ...names(2, 1), ...names(2, 2)]);
  assert.equal(place.up.size, 0);
});

test('runs with a failure take no turns', async () => {
  const directory = folder();
  const plan = smallPlan({ deployments: 1, series: 1, trials: 1, pairing: 'slice' });
  const together: number[] = [];
  const open = smallRound();
  const openRound: typeof open = async (...given) => {
    const round = await open(...given);
    const run: typeof round.run = (requests) => {
      together.push(requests.length);
      return round.run(requests);
    };
    return { load: (runs) => round.load(runs), run, close: (isLast) => round.close(isLast) };
  };
  await runIn(directory, plan, { openRound });
  const failing = { ...plan, study: { ...plan.study, fixed: { fault: 'kill-node' } } };
  await runIn(folder(), failing, { openRound });
  assert.deepEqual(together, [2, 1, 1]);
});

/** Three blocks of two stores, of a study that is judged while it runs. */
function sequentialPlan(): Plan {
  const small = smallPlan({ deployments: 6, series: 1, trials: 1 });
  return {
    ...small,
    study: { ...small.study, repeat: { ...small.study.repeat, untilDecided: true } },
    deployments: small.deployments.map((each, index) => ({
      ...each,
      block: Math.floor(index / 2) + 1,
      hard: { store: `sqlite${(index % 2) + 1}` },
    })),
  };
}

test('a study that runs until it is decided does only what is undecided', async () => {
  const directory = folder();
  const answers = [[{ store: 'sqlite2', workload: 'a' }], []];
  const judge = async () => answers.shift() ?? null;
  const outcome = await runIn(directory, sequentialPlan(), { judge });
  const deploymentsOf = (event: 'deployment-started' | 'deployment-skipped') =>
    readEntries(directory).flatMap((entry) => (entry.event === event ? [entry.deployment] : []));
  assert.deepEqual(deploymentsOf('deployment-started'), ['d1', 'd2', 'd4']);
  assert.deepEqual(deploymentsOf('deployment-skipped'), ['d3', 'd5', 'd6']);
  const looks = readEntries(directory).flatMap((entry) =>
    entry.event === 'look' ? [[entry.block, entry.open]] : [],
  );
  assert.deepEqual(looks, [
    [1, [{ store: 'sqlite2', workload: 'a' }]],
    [2, []],
  ]);
  assert.deepEqual([outcome.complete, outcome.done, outcome.planned], [true, 6, 6]);
  // Another run of the command changes nothing.
  const again = await runIn(directory, sequentialPlan(), { judge: async () => null });
  assert.deepEqual([again.complete, again.done], [true, 6]);
});

test('nothing is begun after the budget, and the study continues later', async () => {
  const directory = folder();
  const outcome = await runIn(directory, sequentialPlan(), { budgetSeconds: 0 });
  assert.equal(outcome.unspent?.deployments, 2);
  assert.deepEqual([outcome.complete, outcome.done], [false, 0]);
  const later = await runIn(directory, sequentialPlan());
  assert.deepEqual([later.unspent, later.complete, later.done], [null, true, 12]);
});
