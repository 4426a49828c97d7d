import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Analysis, type Compared, comparisonsOf } from '@tidegauge/bench/experiment';
import {
  busyTable,
  contradictionsIn,
  plantedIn,
  plantedTable,
  sameTable,
  tally,
  unmetIn,
} from '@tidegauge/bench/truth-results';
import { delayLevel, REFERENCE, type TruthDesign, truthStudy } from '@tidegauge/bench/truth-study';
import { parseStudy } from '@tidegauge/experiments/file/read-study';
import { makePlan, roundsOf, sitesOf } from '@tidegauge/experiments/plan';

const SIZES = { records: 100, operations: '5s', trials: 4 };

function compared(verdict: Compared['verdict'], low: number, high: number, driver = 'raw'): Compared {
  const ratio = { value: (low + high) / 2, low, high };
  const sides = { first: { store: 'postgres' }, second: { store: 'mariadb' }, secondMean: 1 };
  return { metric: 'read.mean', per: { driver }, ...sides, ratio, verdict };
}

function delayed(level: string, low: number, high: number): Compared {
  const sides = { first: { network: level }, second: { network: REFERENCE }, secondMean: 2 };
  return { ...compared('different', low, high), per: {}, ...sides };
}

async function planOf(design: Omit<TruthDesign, 'metrics' | 'valid' | 'workload'>) {
  const common = { workload: 'a', metrics: ['read.mean'], valid: { foreignCpu: null } };
  const text = JSON.stringify(truthStudy({ ...design, ...common }, SIZES, 7));
  return makePlan(await parseStudy(text, { name: 'truths', directory: '.' }));
}

test('a level is compared with itself by two drivers that take turns', async () => {
  const drivers = ['raw', 'raw-again'] as const;
  for (const [threads, pairing] of [
    [1, 'operation'],
    [8, 'slice'],
  ] as const) {
    const { study, deployments } = await planOf({
      stores: ['sqlite'],
      drivers,
      threads,
      compared: 'driver',
    });
    assert.equal(study.repeat.pairing, pairing);
    assert.deepEqual(study.analyse.groups, ['driver']);
    assert.equal(study.valid.foreignCpu, null);
    assert.deepEqual(
      deployments.flatMap(({ series }) => series.map((one) => one.drivers)),
      [drivers],
    );
  }
});

test('levels with a delay, and two stores, are up at the same time and take turns', async () => {
  const networks = [delayLevel(1), delayLevel(10), REFERENCE];
  for (const [design, levels] of [
    [{ stores: ['postgres'], networks, compared: 'network' }, 3],
    [{ stores: ['postgres', 'mariadb'], compared: 'store' }, 2],
  ] as const) {
    const { deployments } = await planOf({ ...design, drivers: ['raw'], threads: 1 });
    assert.equal(deployments.length, levels);
    const [site, ...others] = sitesOf(deployments);
    assert.equal(others.length, 0);
    assert.deepEqual(
      roundsOf(site!).map((round) => round.length),
      [levels],
    );
  }
});

test('comparisons come from the analysis, without an interval where a bound is missing', () => {
  const number = (value: number | null) => ({ value });
  const group = (driver: string, mean: number) => ({
    label: driver,
    factors: { driver },
    mean: { value: number(mean), low: number(null), high: number(null) },
  });
  const pair = (low: number | null) => ({
    first: 'raw',
    second: 'raw-again',
    ratio: { value: number(1), low: number(low), high: number(1.1) },
    verdict: 'undecided' as const,
  });
  const analysis: Analysis = {
    families: [
      {
        metric: 'read.mean',
        per: {},
        groups: [group('raw', 2), group('raw-again', 3)],
        pairs: [pair(0.9), pair(null)],
      },
    ],
  };
  const [first, second] = comparisonsOf(analysis);
  assert.deepEqual(first, {
    metric: 'read.mean',
    per: {},
    first: { driver: 'raw' },
    second: { driver: 'raw-again' },
    secondMean: 3,
    ratio: { value: 1, low: 0.9, high: 1.1 },
    verdict: 'undecided',
  });
  assert.equal(second!.ratio, null);
});

test('a planted delay is found when the interval has its share of the latency of the reference', () => {
  const delays = new Map([[delayLevel(5), { percent: 5, delayMs: 0.1 }]]);
  const found = plantedIn(
    [
      delayed(delayLevel(5), 1.04, 1.06),
      delayed(delayLevel(5), 1.06, 1.08),
      { ...delayed(delayLevel(5), 1, 2), ratio: null },
      { ...delayed(delayLevel(5), 1, 2), secondMean: null },
      { ...delayed(delayLevel(5), 1, 2), second: { network: delayLevel(10) } },
    ],
    delays,
  );
  assert.deepEqual(
    found.map(({ truth, isFound }) => [truth, isFound]),
    [
      [1.05, true],
      [1.05, false],
      [1.05, null],
      [null, null],
    ],
  );
  const table = plantedTable([{ round: 1, seconds: 1, invalid: 0, found }]);
  assert.match(table, /^ {2}5 %, read\.mean +5\.00 +7\.00 .*1 of 4$/m);
});

test('verdicts contradict each other when they cannot both be true', () => {
  const above = compared('different', 1.2, 1.4);
  const below = compared('different', 0.6, 0.8);
  const slight = compared('different', 1.01, 1.03);
  const equal = compared('equivalent', 0.98, 1.02);
  const unknown = compared('undecided', 0.5, 2);
  assert.deepEqual(contradictionsIn([above, below]), [[above, below]]);
  assert.deepEqual(contradictionsIn([equal, below]), [[equal, below]]);
  assert.deepEqual(contradictionsIn([above, slight, unknown]), []);
  assert.deepEqual(contradictionsIn([equal, slight, unknown]), []);
  assert.deepEqual(contradictionsIn([above, compared('different', 0.6, 0.8, 'app')]), []);
});

test('more errors than there may be are named', () => {
  const measured = { round: 1, seconds: 60, invalid: 0 };
  const verdicts = (count: number, verdict: Compared['verdict']) =>
    Array.from({ length: count }, () => compared(verdict, 0.98, 1.02));
  const same = (seconds: number, comparisons: readonly Compared[]) => [
    { ...measured, seconds, store: 'sqlite', threads: 1, comparisons },
  ];
  assert.deepEqual(unmetIn([], [], []), []);
  const right = [...verdicts(18, 'equivalent'), ...verdicts(1, 'different'), ...verdicts(1, 'undecided')];
  assert.deepEqual(unmetIn(same(120, right), [], []), []);
  assert.deepEqual(tally(right), { different: 1, equivalent: 18, undecided: 1, none: 0 });
  const wrong = unmetIn(same(121, verdicts(2, 'different')), [], []);
  assert.match(wrong.join('\n'), /^2 of 2 .* difference\nonly 0 of 2 .*\n1 of 1 .* more than 120 s$/);
  assert.equal(unmetIn(same(1, []), [], []).length, 1);
  const missed = plantedIn([delayed('plus1', 2, 3)], new Map([['plus1', { percent: 1, delayMs: 0.02 }]]));
  assert.match(unmetIn([], [{ ...measured, found: missed }], [])[0]!, /^only 0 of 1 intervals/);
  const comparisons = [compared('different', 1.2, 1.4), compared('different', 0.6, 0.8)];
  const busy = comparisons.map((one, index) => ({ ...measured, isBusy: index > 0, comparisons: [one] }));
  assert.deepEqual(unmetIn([], [], busy), ['1 pairs of verdicts on two stores contradict']);
  assert.match(unmetIn([], [], [{ ...busy[0]!, invalid: 3 }])[0]!, /^3 runs were invalid/);
});

test('the tables have a row for each comparison, and one for all', () => {
  const measured = { round: 1, seconds: 60, invalid: 0 };
  const comparisons = [compared('equivalent', 0.98, 1.02), compared('different', 1.2, 1.4, 'app')];
  const same = sameTable([{ ...measured, store: 'sqlite', threads: 1, comparisons }]);
  assert.match(same, /^ {2}sqlite, 1 at once, read\.mean +2 +1 +1 +0 +0 +60$/m);
  assert.match(same, /^ {2}all +2 +1 +1 +0 +0 +60$/m);
  const busy = busyTable([
    { ...measured, isBusy: false, comparisons },
    { ...measured, isBusy: true, comparisons },
  ]);
  assert.match(busy, /^ {2}read\.mean, driver raw +0 \/ 1 \/ 0 \/ 0 +0 \/ 1 \/ 0 \/ 0 +1\.00 to 1\.00 +0$/m);
  assert.match(busy, /^ {2}read\.mean, driver app +1 \/ 0 \/ 0 \/ 0 .* 1\.30 to 1\.30 +0$/m);
});
