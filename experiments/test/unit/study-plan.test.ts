import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { estimate } from '@tidegauge/experiments/estimate';
import { parseStudy, readStudy } from '@tidegauge/experiments/file/read-study';
import type { Combination, Level, Plan, Study } from '@tidegauge/experiments/model';
import { hashOf, makePlan, roundsOf, runCount, sitesOf } from '@tidegauge/experiments/plan';
import { planText } from '@tidegauge/experiments/plan-text';
import fc from 'fast-check';

const EXAMPLE = fileURLToPath(new URL('../../studies/example.yml', import.meta.url));
const example = await readStudy(EXAMPLE);

const levels = (name: string, most: number) =>
  fc
    .integer({ min: 1, max: most })
    .map((count) => Array.from({ length: count }, (_, index) => `${name}${index}`));

/** Studies with up to 3 x 2 hard and 3 x 2 x 2 easy combinations, and an exclusion of two levels. */
const studies: fc.Arbitrary<Study> = fc
  .record({
    seed: fc.nat(),
    store: levels('store', 3),
    rf: levels('rf', 2),
    workload: fc.subarray(['a', 'c', 'd'], { minLength: 1 }),
    threads: levels('threads', 2),
    driver: fc.subarray(['raw', 'app'], { minLength: 1 }),
    deployments: fc.integer({ min: 1, max: 3 }),
    excluded: fc.subarray(['store', 'rf', 'workload', 'threads', 'driver'], { minLength: 2, maxLength: 2 }),
  })
  .map(({ seed, store, rf, workload, threads, driver, deployments, excluded }) => {
    const all: Record<string, readonly Level[]> = { store, rf, workload, threads, driver };
    const where = Object.fromEntries(excluded.map((name) => [name, all[name]!.at(-1)!]));
    return {
      ...example,
      seed,
      hard: { store, rf },
      easy: { workload, threads, driver },
      repeat: { deployments, trials: 3, warmup: 1, pairing: 'slice' as const, paired: [] },
      state: Object.fromEntries(
        workload.map((name) => [name, name === 'd' ? 'reload' : 'reuse']),
      ) as Study['state'],
      exclude: [{ where, because: 'a test' }],
    };
  });

/** The combinations of all factors in a block, as text. */
function cells(plan: Plan, block: number): string[] {
  return plan.deployments
    .filter((deployment) => deployment.block === block)
    .flatMap(({ hard, series }) =>
      series.flatMap(({ easy, drivers }) => drivers.map((driver) => text({ ...hard, ...easy, driver }))),
    );
}

function text(combination: Combination): string {
  return JSON.stringify(Object.entries(combination).toSorted());
}

test('each block has every combination once, without those that are excluded', () => {
  fc.assert(
    fc.property(studies, (study) => {
      const plan = makePlan(study);
      const { where } = study.exclude[0]!;
      const factors = { ...study.hard, ...study.easy };
      let expected: Combination[] = [{}];
      for (const [name, all] of Object.entries(factors)) {
        expected = expected.flatMap((one) => all.map((level) => ({ ...one, [name]: level })));
      }
      const kept = expected.filter((one) =>
        Object.entries(where).some(([name, level]) => one[name] !== level),
      );
      for (let block = 1; block <= study.repeat.deployments; block += 1) {
        assert.deepEqual(cells(plan, block).toSorted(), kept.map(text).toSorted());
      }
      assert.equal(runCount(plan), kept.length * study.repeat.deployments * 3);
      assert.ok(plan.deployments.every(({ series }) => series.length > 0));
    }),
  );
});

test('ids are unique, and the blocks are in order', () => {
  fc.assert(
    fc.property(studies, (study) => {
      const { deployments } = makePlan(study);
      const ids = [...deployments, ...deployments.flatMap(({ series }) => series)].map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.every((id) => /^[ds][0-9a-f]{12}$/.test(id)));
      const blocks = deployments.map(({ block }) => block);
      assert.deepEqual(blocks, blocks.toSorted());
    }),
  );
});

test('the same study gives the same plan, whatever the order of its keys', () => {
  fc.assert(
    fc.property(studies, (study) => {
      const turned: Study = {
        ...(Object.fromEntries(Object.entries(study).reverse()) as unknown as Study),
        hard: Object.fromEntries(Object.entries(study.hard).reverse()),
        easy: Object.fromEntries(Object.entries(study.easy).reverse()),
      };
      const [plan, again] = [makePlan(study), makePlan(turned)];
      assert.equal(again.hash, plan.hash);
      assert.deepEqual(again.deployments, plan.deployments);
    }),
  );
});

test('another seed gives another order of the same cells with the same ids', () => {
  const wide: Study = {
    ...example,
    hard: { store: ['sqlite', 'postgres', 'json'], rf: [1, 2, 3] },
    easy: { ...example.easy, threads: [1, 2, 4] },
  };
  const order = (seed: number) => makePlan({ ...wide, seed }).deployments;
  const [one, other] = [order(1), order(2)];
  const ids = (deployments: Plan['deployments']) => deployments.map(({ id }) => id);
  const inner = (deployments: Plan['deployments']) =>
    deployments.map(({ id, series }) => [id, ...series.map((each) => each.id)]).toSorted();
  assert.notDeepEqual(ids(one), ids(other));
  assert.deepEqual(ids(one).toSorted(), ids(other).toSorted());
  assert.notDeepEqual(inner(one), inner(other));
  // Blocks of one plan have different orders too.
  const hards = (block: number) => one.filter((each) => each.block === block).map(({ hard }) => text(hard));
  assert.notDeepEqual(hards(1), hards(2));
});

test('every order of three deployments is about equally likely', () => {
  const counts = new Map<string, number>();
  const rounds = 3000;
  for (let seed = 0; seed < rounds; seed += 1) {
    const study = {
      ...example,
      seed,
      hard: { store: ['x', 'y', 'z'] },
      repeat: { ...example.repeat, deployments: 1 },
    };
    const order = makePlan(study)
      .deployments.map(({ hard }) => hard.store)
      .join('');
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.equal(counts.size, 6);
  // Five standard deviations of a binomial count: sqrt(3000 * 1/6 * 5/6) = 20.4.
  for (const count of counts.values()) assert.ok(Math.abs(count - rounds / 6) < 102, String([...counts]));
});

test('any change of a study changes its hash', () => {
  const changes: Partial<Study>[] = [
    { seed: 1 },
    { quick: true },
    { fixed: { ...example.fixed, records: 11 } },
    { repeat: { ...example.repeat, trials: 11 } },
    { hard: { store: ['postgres', 'sqlite'] } },
    { files: { 'mine.properties': 'a' } },
  ];
  const hashes = changes.map((change) => hashOf({ ...example, ...change }));
  assert.equal(new Set([hashOf(example), ...hashes]).size, changes.length + 1);
});

test('the estimate uses earlier runs of the same levels, of any size', () => {
  const plan = makePlan(example);
  const typical = estimate(plan);
  assert.equal(typical.measured, 0);
  assert.ok(typical.seconds > 60 && typical.seconds < 7200, String(typical.seconds));
  const runs = plan.deployments.flatMap(({ hard, series }) =>
    series.flatMap(({ easy, drivers }) =>
      drivers.map((driver) => ({
        // A quick run of 1000 operations in 2 s: 20 s for 10,000 operations.
        factors: { ...example.fixed, ...hard, ...easy, driver, records: 5, operations: 1000 },
        seconds: 2,
        operations: 1000,
      })),
    ),
  );
  const known = estimate(plan, { runs });
  assert.equal(known.measured, 1);
  assert.ok(known.seconds >= runCount(plan) * 20, String(known.seconds));
  assert.ok(known.seconds < runCount(plan) * 24, String(known.seconds));
  const half = estimate(plan, { runs: runs.filter(({ factors }) => factors.driver === 'raw') });
  assert.equal(half.measured, 0.5);
});

test('more records need more disk, and more copies too', () => {
  const bytes = (fixed: Combination) =>
    estimate(makePlan({ ...example, fixed: { ...example.fixed, ...fixed } })).storeBytes;
  const one = bytes({});
  assert.ok(one > 2 * 10_000 * 1000, String(one));
  assert.equal(bytes({ records: 20_000 }), 2 * one);
  assert.equal(bytes({ rf: 3 }), 3 * one);
  // Tables that other series use stay.
  const lengths = (...length: number[]) => {
    const { length: _, ...fixed } = example.fixed;
    const easy = { driver: ['raw'], workload: ['c'], length };
    return estimate(makePlan({ ...example, fixed, easy, state: { c: 'reuse' } })).storeBytes;
  };
  assert.equal(lengths(10, 100), lengths(10) + lengths(100));
});

test('a plan is shown with its order, its size and its cost', async () => {
  const plan = makePlan(await readStudy(EXAMPLE, { quick: true }));
  const shown = planText(plan, estimate(plan));
  assert.match(shown, /^example \(quick\): SQLite and PostgreSQL/);
  assert.match(shown, /80 runs in 4 deployments, seed 2026, plan [0-9a-f]{12}\n/);
  const order = [...shown.matchAll(/^\d+\. block (\d), store (\w+)/gm)].map(([, block, store]) => [
    Number(block),
    store,
  ]);
  assert.deepEqual(
    order,
    plan.deployments.map(({ block, hard }) => [block, hard.store]),
  );
  assert.match(shown, /workload a +raw and app +5 x 2 +reload/);
  assert.match(shown, /duration: about \d+ min \(typical rates on two slow cores\)/);
  assert.match(shown, /disk: about \d+MiB/);
});

test('levels of paired factors are up at the same time, and their series take turns', async () => {
  const text = [
    'study: beside',
    'hard: { store: [sqlite, json], memory: [none] }',
    'easy: { workload: [a, c], "url.synchronous": [default, full] }',
    'exclude: [{ store: json, url.synchronous: full, because: it has no such option }]',
    'repeat: { deployments: 2, paired: [store, url.synchronous] }',
  ].join('\n');
  const study = await parseStudy(text, { name: 'beside.yml', directory: '.' });
  const { deployments } = makePlan(study);
  const sites = sitesOf(deployments);
  assert.deepEqual(
    sites.map((site) => site.map(({ block, hard }) => `${block} ${hard.store}`).toSorted()),
    [
      ['1 json', '1 sqlite'],
      ['2 json', '2 sqlite'],
    ],
  );
  for (const site of sites) {
    const rounds = roundsOf(site).map((round) =>
      round.map(
        ({ plan, series }) => `${plan.hard.store} ${series.easy.workload} ${series.easy['url.synchronous']}`,
      ),
    );
    assert.deepEqual(
      rounds.map((round) => round.toSorted()).toSorted(),
      ['a', 'c'].map((workload) => [
        `json ${workload} default`,
        `sqlite ${workload} default`,
        `sqlite ${workload} full`,
      ]),
    );
  }
  assert.deepEqual(
    makePlan({ ...study, repeat: { ...study.repeat, pairing: 'none' } }).deployments.filter(
      ({ site, series }) => site !== undefined || series.some(({ round }) => round !== undefined),
    ),
    [],
  );
});
