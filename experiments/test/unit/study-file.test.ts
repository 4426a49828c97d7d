import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { estimate } from '@tidegauge/experiments/estimate';
import { FACTORS } from '@tidegauge/experiments/file/factors';
import { FIGURES, parseStudy, type ReadOptions, readStudy } from '@tidegauge/experiments/file/read-study';
import { SCHEMA_FILE } from '@tidegauge/experiments/file/schema';
import type { PlaceName } from '@tidegauge/experiments/model';
import { makePlan, runCount } from '@tidegauge/experiments/plan';
import { trialSettings } from '@tidegauge/experiments/trial/trial-workload';
import { hasCitus } from '@tidegauge/lab/citus';
import { ConfigError } from '@tidegauge/service/program';
import fc from 'fast-check';

const directory = mkdtempSync(join(tmpdir(), 'tidegauge-study-'));
after(() => rmSync(directory, { recursive: true }));

const EXAMPLE = fileURLToPath(new URL('../../studies/example.yml', import.meta.url));
const LEAST = 'study: x\nhard: { store: sqlite }\neasy: {}\n';

const read = (text: string, options: ReadOptions = {}) =>
  parseStudy(text, { name: 'x.yml', directory }, options);

/** The lines of the error. */
async function problems(text: string, options: ReadOptions = {}): Promise<readonly string[]> {
  try {
    await read(text, options);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems;
  }
  return assert.fail('the file was accepted');
}

/** The store of each deployment of a quick plan. */
async function plannedStores(text: string, options: ReadOptions): Promise<unknown[]> {
  return makePlan(await read(text, { quick: true, ...options })).deployments.map(({ hard }) => hard.store);
}

test('a file needs a name and a store only; everything else has a default', async () => {
  const study = await read(LEAST);
  assert.deepEqual(study.hard, { store: ['sqlite'] });
  assert.deepEqual(study.easy, { workload: ['a'], driver: ['raw', 'app'] });
  assert.deepEqual(study.fixed, {
    ...{ nodes: 1, rf: 1, memory: 'none', network: 'none', threads: 1, target: 0, records: 10_000 },
    ...{
      operations: 10_000,
      volume: 100,
      fields: 10,
      length: 100,
      consistency: 'default',
      fault: 'none',
      distribution: 'default',
    },
  });
  assert.deepEqual(study.repeat, {
    ...{ deployments: 3, trials: 10, warmup: 1 },
    ...{ pairing: 'slice', paired: [] },
  });
  assert.deepEqual(study.state, { a: 'reuse' });
  assert.equal(study.title, 'x');
  assert.equal(study.seed, 1);
  assert.equal(study.requeue, 2);
  assert.equal(study.valid.errors, 0);
  assert.deepEqual(study.analyse.metrics, ['throughput', 'read.mean', 'update.mean']);
  assert.deepEqual(study.analyse.groups, ['driver']);
});

test('every key reaches the study', async () => {
  writeFileSync(join(directory, 'mine.properties'), 'readproportion=1\nupdateproportion=0\n');
  writeFileSync(
    join(directory, 'published.csv'),
    'store,workload,metric,value,unit\nhbase,a,throughput,100,ops/s\n',
  );
  const study = await read(`
study: whole
title: A title
question: Which?
seed: 7
hard:
  store: [cassandra, hbase]
  memory: [1GiB, 512MiB]
  network: [none, slow]
  url.compression: [none, lz4]
easy:
  workload: [A, mine.properties]
  consistency: [default, ONE]
fixed: { nodes: 3, rf: 2, driver: raw, records: 50 }
repeat: { deployments: 2, trials: 4, warmup: 0 }
state: { a: restore }
exclude:
  - { store: hbase, consistency: ONE, because: it has no levels }
  - { store: hbase, memory: [1GiB, 0.5GiB], network: slow, because: too slow }
valid: { errors: 5, foreignCpu: null, swap: 1MiB, clockStep: 50ms }
requeue: { most: 1 }
energy: { model: board, idleWatts: 1, busyWatts: 4, uncertainty: 0.1, source: a paper }
networks: { slow: { delay: 20ms, jitter: 500ms, loss: 0.01, rate: 10Mbit } }
analyse: { metrics: [throughput, read.p999], groups: [store, memory], per: workload, alpha: 0.01, margin: 0.1, boxes: three-sigma }
figures: [bars]
published: [{ file: published.csv, source: A paper }]
`);
  assert.deepEqual(study.hard.memory, ['1GiB', '512MiB']);
  assert.deepEqual(study.easy, {
    workload: ['a', 'mine.properties'],
    consistency: ['default', 'ONE'],
    driver: ['raw'],
  });
  assert.equal(study.fixed.records, 50);
  assert.ok(!('driver' in study.fixed));
  assert.deepEqual(study.state, { a: 'restore', 'mine.properties': 'reuse' });
  assert.deepEqual(study.exclude, [
    { where: { store: 'hbase', consistency: 'ONE' }, because: 'it has no levels' },
    { where: { store: 'hbase', memory: '1GiB', network: 'slow' }, because: 'too slow' },
    { where: { store: 'hbase', memory: '512MiB', network: 'slow' }, because: 'too slow' },
  ]);
  const { errors, dropped, foreignCpu, swapBytes, clockStepMs } = study.valid;
  assert.deepEqual([errors, dropped, foreignCpu, swapBytes, clockStepMs], [5, 0, null, 2 ** 20, 50]);
  assert.equal(study.requeue, 1);
  assert.equal(study.energy?.busyWatts, 4);
  assert.deepEqual(study.networks, {
    slow: { delayMs: 20, jitterMs: 500, loss: 0.01, kilobitsPerSecond: 10_000 },
  });
  assert.deepEqual(study.analyse, {
    ...{ metrics: ['throughput', 'read.p999'], groups: ['store', 'memory'], per: ['workload'] },
    ...{ alpha: 0.01, margin: 0.1, boxes: 'three-sigma' },
  });
  assert.deepEqual(study.figures, ['bars']);
  assert.deepEqual(Object.keys(study.files ?? {}), ['mine.properties', 'published.csv']);
});

test('mistakes are listed with line, column and key, and with the nearest valid name', async () => {
  const lines = await problems(
    'study: X\nhard: {stor: postgres, threads: 3}\neasy:\n  workload: [a, h]\n  threads: [1, x]\nsead: 3\n',
  );
  assert.deepEqual(
    lines.map((line) => line.split(': ').slice(0, 2).join(': ')),
    [
      'x.yml:1:8: study',
      'x.yml:2:8: hard.stor',
      'x.yml:2:24: hard.threads',
      'x.yml:4:17: easy.workload[2]',
      'x.yml:5:16: easy.threads[2]',
      'x.yml:6:1: sead',
    ],
  );
  assert.match(lines[1]!, /unknown factor: did you mean store\?/);
  assert.match(lines[2]!, /this factor is easy: move it to easy/);
  assert.match(lines[4]!, /must be a whole number from 1 to 10000/);
  assert.match(lines[5]!, /unknown key: did you mean seed\?/);
});

test('the number of mistakes in an error is bounded', async () => {
  const keys = Array.from({ length: 100 }, (_, index) => `key${index}: 1\n`);
  const lines = await problems(LEAST + keys.join(''));
  assert.equal(lines.length, 21);
  assert.equal(lines.at(-1), '… and 80 more');
});

test('a file that is no YAML, too large, too deep or grows by its aliases is refused', async () => {
  assert.match((await problems('study: x\nhard: {store: sqlite\neasy: {}\n'))[0]!, /^x\.yml:3:1: /);
  assert.match((await problems('study: x\nstudy: y\n'))[0]!, /^x\.yml:2:1: Map keys must be unique/);
  assert.match((await problems('')).join(), /null is not a set of keys/);
  assert.match((await problems('['.repeat(40_000)))[0]!, /nested too deeply/);
  const grows = Array.from({ length: 9 }, (_, index) => {
    const items = Array.from({ length: 9 }, () => (index === 0 ? '1' : `*a${index - 1}`));
    return `a${index}: &a${index} [${items.join(', ')}]\n`;
  });
  assert.match((await problems(grows.join('')))[0]!, /[Aa]lias/);
  const large = join(directory, 'large.yml');
  writeFileSync(large, `${LEAST}#${'x'.repeat(2 ** 20)}`);
  await assert.rejects(readStudy(large), /large\.yml: it cannot be read: it has \d+ bytes/);
  await assert.rejects(readStudy(join(directory, 'none.yml')), /none\.yml: .*: there is no such file/);
});

test('levels that a store cannot have are refused with the exclusion that leaves them out', async () => {
  const file = (extra: string) => `
study: x
hard: { store: [cassandra, hbase, postgres], rf: [1, 2], nodes: [1, 3], url.compression: [default, snappy] }
easy: { consistency: [default, QUORM] }
${extra}`;
  const lines = await problems(file(''));
  const has = (pattern: RegExp) =>
    assert.ok(
      lines.some((line) => pattern.test(line)),
      `${pattern} in\n${lines.join('\n')}`,
    );
  has(
    /^x\.yml:3:54: hard\.rf\[2\]: store: postgres with rf: 2 is not possible: postgres does not replicate\. Change a level, or add exclude: \[\{store: postgres, rf: 2, because: …\}\]$/,
  );
  has(/hard\.nodes\[2\]: store: postgres with nodes: 3 .* postgres has at most 1 node\./);
  has(/hard\.rf\[2\]: nodes: 1 with rf: 2 .*: 1 node cannot keep 2 copies/);
  has(/hard\.url\.compression\[2\]: .* option compression of cassandra takes lz4 or zstd or none/);
  has(/hard\.url\.compression\[2\]: .* postgres has no option compression/);
  has(/easy\.consistency\[2\]: .*did you mean QUORUM\? Change/);
  has(/hbase has no consistency levels/);
  assert.equal(lines.length, 8);
  const study = await read(
    file(`exclude:
  - { store: postgres, rf: 2, because: one copy }
  - { store: postgres, nodes: 3, because: one node }
  - { nodes: 1, rf: 2, because: one copy for each node }
  - { store: [cassandra, postgres], url.compression: snappy, because: unknown there }
  - { consistency: QUORM, because: misspelt }`),
  );
  assert.equal(study.exclude.length, 6);
});

test('a driver that cannot do a workload is refused', async () => {
  const lines = await problems(`
study: x
hard: { store: [sqlite, mariadb] }
easy: { workload: [a, select-one, q5], driver: [raw, k6, raw-connect, published], threads: [1, 4] }
`);
  const has = (pattern: RegExp) =>
    assert.ok(
      lines.some((line) => pattern.test(line)),
      `${pattern} in\n${lines.join('\n')}`,
    );
  has(
    /workload: a with driver: raw-connect is not possible: the drivers of records are raw, raw-again, app, k6\./,
  );
  has(/workload: a with driver: published .*: the drivers of records are raw, raw-again, app, k6/);
  has(
    /workload: select-one with driver: k6 .*: the drivers of operations on devices are raw, raw-again, app, raw-connect, app-connect, published/,
  );
  has(/workload: q5 with driver: raw-connect .*: the drivers of queries are raw, raw-again, app, published/);
  has(/store: sqlite with driver: published .*: the published study had only postgres, cassandra/);
  has(/store: mariadb with driver: published .*: the published study had only postgres, cassandra/);
  has(/store: sqlite with driver: published .*: the published study had only mariadb, mongodb, json/);
  has(/driver: published with threads: 4 .*: the published study did one operation at a time/);
  assert.equal(lines.length, 9);
});

test('a volume belongs to queries, and each thread can do one operation', async () => {
  const lines = await problems(
    'study: x\nhard: { store: sqlite }\neasy: { workload: [a, q1], volume: [20, 100] }\nfixed: { operations: one-each }\n',
  );
  assert.equal(lines.length, 1);
  assert.match(
    lines[0]!,
    /workload: a with volume: 20 is not possible: only queries q1 to q10 have a volume/,
  );
  const study = await read(
    'study: x\nhard: { store: sqlite }\neasy: { workload: q1, volume: 20, threads: 50 }\nfixed: { operations: one-each }\n',
  );
  const [deployment] = makePlan(study).deployments;
  const settings = trialSettings(deployment!.hard, deployment!.series[0]!, study);
  assert.deepEqual(settings.length, { operations: 50, seconds: null });
  assert.deepEqual(settings.workload, {
    set: 'queries',
    mix: { query: 1 },
    query: 'q1',
    size: 10_000,
    volume: 20,
  });
});

test('operations on devices are metrics', async () => {
  const file = (metric: string) => `
study: x
hard: { store: sqlite }
easy: { workload: [select-one, update-some] }
analyse: { metrics: [${metric}] }
`;
  const { state, analyse } = await read(file('update-some.p99'));
  assert.deepEqual(state, { 'select-one': 'reuse', 'update-some': 'reuse' });
  assert.deepEqual(analyse.metrics, ['update-some.p99']);
  const [problem] = await problems(file('select-some.mean'));
  assert.match(problem!, /no workload of the study does select-some/);
});

test('limits of the lab apply in the lab only', async () => {
  const text = 'study: x\nhard: {store: cassandra, nodes: 7}\neasy: {}\n';
  assert.match((await problems(text, { on: 'lab' })).join(), /cassandra has at most 6 nodes in the lab/);
  assert.equal((await read(text, { on: 'swarm' })).hard.nodes?.[0], 7);
});

test('a store that runs already has neither nodes nor limits to set', async () => {
  const url = 'cassandra://h1,h2/space?dc=x';
  const study = await read(`study: x\nhard: {store: "${url}", rf: [1, 2]}\neasy: {}\n`);
  assert.deepEqual(study.hard, { store: [url], rf: [1, 2] });
  const lines = await problems(`study: x\nhard: {store: "${url}", nodes: 2, memory: 1GiB}\neasy: {}\n`);
  assert.match(lines[0]!, /a store that runs already keeps its nodes/);
  assert.match(
    (await problems('study: x\nhard: {store: "postgres://u:pw@h/d"}\neasy: {}\n')).join(),
    /it has a password/,
  );
  assert.ok(
    !(await problems('study: x\nhard: {store: "postgres://u:pw@h/d"}\neasy: {}\n')).join().includes('pw'),
  );
});

test('a table that workloads change is not reused', async () => {
  const text = (state: string) => `study: x\nhard: {store: sqlite}\neasy: {workload: [a, d, f, g]}\n${state}`;
  assert.deepEqual((await read(text(''))).state, { a: 'reuse', d: 'reload', f: 'reuse', g: 'reload' });
  assert.deepEqual((await read(text('state: {A: reload, d: restore}\n'))).state, {
    ...{ a: 'reload', d: 'restore', f: 'reuse', g: 'reload' },
  });
  assert.match(
    (await problems(text('state: {d: reuse}\n'))).join(),
    /^x\.yml:4:12: state\.d: workload d inserts/,
  );
  assert.equal((await problems(text('state: reuse\n'))).length, 2);
  assert.match((await problems(text('state: {c: reload}\n'))).join(), /no run has this workload/);
});

test('an exclusion names levels of the study, and leaves something', async () => {
  const text = (exclude: string) =>
    `study: x\nhard: {store: [sqlite, json]}\neasy: {}\nexclude:\n  - ${exclude}\n`;
  assert.match(
    (await problems(text('{store: hbase, because: no}'))).join(),
    /no run has the level hbase: the levels of store are sqlite, json/,
  );
  assert.match((await problems(text('{store: sqlite}'))).join(), /because is missing/);
  assert.match((await problems(text('{because: no}'))).join(), /it names no factor/);
  assert.match((await problems(text('{stor: sqlite, because: no}'))).join(), /did you mean store/);
  assert.match((await problems(text('{nodes: 1, because: no}'))).join(), /all combinations are excluded/);
});

test('quick changes counts and nothing else', async () => {
  const { quick: _, ...full } = await readStudy(EXAMPLE);
  const { quick, ...small } = await readStudy(EXAMPLE, { quick: true });
  assert.ok(quick);
  assert.deepEqual(small, {
    ...full,
    fixed: { ...full.fixed, records: 1000, operations: 1000 },
    repeat: { ...full.repeat, deployments: 2, trials: 5, warmup: 1 },
  });
  const several = 'study: x\nhard: {store: sqlite}\neasy: {records: [5, 5000]}\n';
  const study = await read(several, { quick: true });
  assert.deepEqual(study.easy.records, [5, 5000]);
  assert.equal(study.fixed.operations, 1000);
  assert.deepEqual(study.repeat, {
    ...{ deployments: 1, trials: 5, warmup: 1 },
    ...{ pairing: 'slice', paired: [] },
  });
  assert.match((await problems(`${several}quick: {records: 5}\n`)).join(), /several levels/);
  assert.match(
    (await problems(`${LEAST}quick: {threads: 5}\n`)).join(),
    /quick changes counts and levels of parts only/,
  );
  assert.match((await problems(`${LEAST}quick: {trials: 1}\n`)).join(), /warmup 1 leaves none of 1 trials/);
});

test('what is analysed must be measured', async () => {
  const lines = await problems(
    `${LEAST}analyse: {metrics: [read.avg, reads.mean, thruput, scan.mean, read.p99], groups: [driver, stor], per: driver}\n`,
  );
  const expected = [
    /metrics\[1\]: read\.avg is not a metric: its statistic/,
    /metrics\[2\]: no workload of the study does reads: did you mean read\?/,
    /metrics\[3\]: thruput is not a metric: did you mean throughput\?/,
    /metrics\[4\]: no workload of the study does scan/,
    /groups\[1\]: driver is in per too/,
    /groups\[2\]: the study has no factor stor: did you mean store\?/,
  ];
  assert.equal(lines.length, expected.length, lines.join('\n'));
  for (const [index, pattern] of expected.entries()) assert.match(lines[index]!, pattern);
});

test('files beside the experiment file are checked and kept', async () => {
  const own = (workload: string) => `study: x\nhard: {store: sqlite}\neasy: {workload: ${workload}}\n`;
  assert.match((await problems(own('none.properties'))).join(), /none\.properties: it cannot be read/);
  assert.match((await problems(own('/etc/mine.properties'))).join(), /absolute path/);
  writeFileSync(join(directory, 'wrong.properties'), 'readproportion=0.5\nupdateproportion=0.1\n');
  assert.match((await problems(own('wrong.properties'))).join(), /let the shares add up to 1/);
  writeFileSync(
    join(directory, 'wrong.properties'),
    'readproportion=1\nupdateproportion=0\nredaallfields=true\n',
  );
  assert.match((await problems(own('wrong.properties'))).join(), /redaallfields is not a property of YCSB/);
  writeFileSync(join(directory, 'sized.properties'), 'readproportion=1\nupdateproportion=0\nfieldcount=3\n');
  assert.match(
    (await problems(own('sized.properties'))).join(),
    /sets fieldcount to 3, and the factor fields is 10/,
  );
  assert.equal((await read(`${own('sized.properties')}fixed: {fields: 3}\n`)).fixed.fields, 3);
  writeFileSync(join(directory, 'numbers.csv'), 'store,metric,worth\n');
  const twice = `${LEAST}published: [{file: numbers.csv, source: A}, {file: ./numbers.csv, source: B}]\n`;
  assert.match((await problems(twice)).join(), /another file is named numbers\.csv too/);
  const lines = await problems(`${LEAST}published: [{file: numbers.csv, source: A paper}]\n`);
  assert.match(lines.join(), /no column value .*worth.* is not a factor/s);
});

test('network profiles are named and have units', async () => {
  const text =
    'study: x\nhard: {store: sqlite, network: [none, sloww]}\neasy: {}\nnetworks: {slow: {delay: 5ms}}\n';
  assert.match(
    (await problems(text)).join(),
    /^x\.yml:2:39: hard\.network\[2\]: there is no profile sloww: did you mean slow\?/,
  );
  assert.match(
    (await problems(`${LEAST}networks: {slow: {delay: 5}}\n`)).join(),
    /delay: it is not a number with a unit/,
  );
  assert.match(
    (await problems(`${LEAST}networks: {slow: {delay: 5ms, rate: 5MB}}\n`)).join(),
    /not a rate such as/,
  );
});

const SWEEPS = `study: sweeps
hard: { store: cassandra, nodes: 3 }
easy: { workload: [a, c], driver: raw }
fixed: { threads: 8, records: 500 }
parts:
  threads: { threads: [16, 1, 8] }
  records: { records: [100, 500], workload: a }
  copies: { rf: [1, 3], store: [cassandra, hbase] }
exclude: [{ store: hbase, workload: c, because: a test }]
`;

test('parts differ from the rest of the file in the factors that they name', async () => {
  const study = await read(SWEEPS);
  assert.deepEqual(study.hard, { store: ['cassandra', 'hbase'], nodes: [3], rf: [1, 3] });
  assert.deepEqual(study.easy.threads, [1, 8, 16]);
  assert.deepEqual(study.easy.records, [100, 500]);
  assert.equal(study.fixed.threads, undefined);
  assert.deepEqual(study.parts!.threads!.levels, {
    ...{ store: ['cassandra'], nodes: [3], rf: [1], workload: ['a', 'c'], driver: ['raw'] },
    ...{ threads: [16, 1, 8], records: [500] },
  });
  const analysis = Object.values(study.parts!).map(({ groups, per }) => ({ groups, per }));
  assert.deepEqual(analysis, [
    { groups: ['threads'], per: ['workload'] },
    { groups: ['records'], per: [] },
    { groups: ['store', 'rf'], per: ['workload'] },
  ]);
});

test('combinations of several parts are run once, and all others are left out', async () => {
  const study = await read(SWEEPS);
  const { deployments } = makePlan(study);
  const cells = deployments
    .filter(({ block }) => block === 1)
    .flatMap(({ hard, series }) =>
      series.map(({ easy }) => [hard.store, hard.rf, easy.workload, easy.threads, easy.records].join(' ')),
    );
  assert.deepEqual(cells.toSorted(), [
    'cassandra 1 a 1 500',
    'cassandra 1 a 16 500',
    'cassandra 1 a 8 100',
    'cassandra 1 a 8 500',
    'cassandra 1 c 1 500',
    'cassandra 1 c 16 500',
    'cassandra 1 c 8 500',
    'cassandra 3 a 8 500',
    'cassandra 3 c 8 500',
    'hbase 1 a 8 500',
    'hbase 3 a 8 500',
  ]);
  assert.equal(
    new Set(deployments.flatMap(({ series }) => series.map(({ id }) => id))).size,
    3 * cells.length,
  );
});

test('a node is killed only where there is one to kill', async () => {
  const text = (store: string, driver = 'raw'): string =>
    `study: x\nhard: { store: ${store} }\neasy: { fault: [none, kill-node], driver: ${driver} }\n`;
  assert.deepEqual((await read(text('postgres'), { on: 'lab' })).easy.fault, ['none', 'kill-node']);
  const [embedded] = await problems(text('sqlite'));
  assert.match(embedded!, /easy.fault\[2\]: store: sqlite with fault: kill-node is not possible/);
  assert.match((await problems(text('postgres'), { on: 'swarm' }))[0]!, /a swarm has no node to kill/);
  assert.match((await problems(text('postgres', 'k6')))[0]!, /k6 does not report/);
});

test('an exclusion can hold in some places only', async () => {
  const text = `study: x\nhard: { store: [sqlite, postgres] }\neasy: {}
exclude: [{ store: postgres, on: [lab, boards], because: a test }]\n`;
  assert.deepEqual(await plannedStores(text, { on: 'lab' }), ['sqlite']);
  assert.deepEqual((await plannedStores(text, { on: 'swarm' })).toSorted(), ['postgres', 'sqlite']);
  assert.match((await problems(text.replace('boards', 'board')))[0]!, /did you mean boards/);
});

test('an exclusion can hold only where a store is not available', async () => {
  const text = `study: x\nhard: { store: [citus, postgres], nodes: 1 }\neasy: {}
exclude: [{ store: citus, without: citus, because: a test }]\n`;
  const stores = async (on: PlaceName) => (await plannedStores(text, { on })).toSorted();
  assert.deepEqual(await stores('lab'), (await hasCitus()) ? ['citus', 'postgres'] : ['postgres']);
  for (const on of ['boards', 'swarm'] as const) assert.deepEqual(await stores(on), ['postgres']);
  assert.match((await problems(text.replace('without: citus', 'without: oracle')))[0]!, /without/);
  const always = text.replace(/exclude.*/, '');
  if (await hasCitus()) assert.equal((await read(always, { on: 'lab' })).hard.store!.length, 2);
  else
    assert.match((await problems(always, { on: 'lab' })).join(), /store: citus is not possible: PostgreSQL/);
});

test('a plan can have some parts of a file only', async () => {
  const [threads, all] = await Promise.all([read(SWEEPS, { parts: ['threads'] }), read(SWEEPS)]);
  assert.deepEqual(Object.keys(threads.parts!), ['threads']);
  assert.deepEqual(threads.parts!.threads!.levels.threads, all.parts!.threads!.levels.threads);
  assert.ok(runCount(makePlan(threads)) < runCount(makePlan(all)));
  const counts = `${SWEEPS.replace('records: {', 'records: { threads: 8,')}quick: { parts: { threads: { records: 9 } } }\n`;
  await read(counts.replace('threads: {', 'threads: { records: 1000,'), { parts: ['records'], quick: true });
  assert.match((await problems(SWEEPS, { parts: ['thread'] }))[0]!, /no part thread: did you mean threads/);
  const none = 'study: x\nhard: { store: sqlite }\neasy: {}\n';
  assert.match((await problems(none, { parts: ['copies'] }))[0]!, /no part copies: the file has no parts/);
});

test('the studies of this project can be planned, as published and quick', async () => {
  const files = readdirSync(join(EXAMPLE, '..')).filter((name) => name.endsWith('.yml'));
  assert.ok(files.length >= 4);
  for (const name of files) {
    for (const on of ['lab', 'boards'] as const) {
      const [full, quick] = await Promise.all(
        [false, true].map((quick) => readStudy(join(EXAMPLE, '..', name), { quick, on })),
      );
      assert.equal(full!.name, quick!.name);
      for (const study of [full!, quick!]) assert.ok(estimate(makePlan(study)).seconds > 0, name);
      assert.ok(runCount(makePlan(full!)) >= runCount(makePlan(quick!)), name);
    }
  }
});

test('a mistake in a part names the part, and quick keeps the levels of a sweep', async () => {
  const [problem] = await problems(SWEEPS.replace('[16, 1, 8]', '[16, many]'));
  assert.match(problem!, /^x.yml:6:\d+: parts.threads.threads\[2\]: the level "many" is not possible/);
  assert.match((await problems(SWEEPS.replace('threads: [16', 'thread: [16')))[0]!, /did you mean threads/);
  const quick = await read(`${SWEEPS}quick: { records: 200 }\n`, { quick: true });
  assert.deepEqual(quick.parts!.threads!.levels.records, [200]);
  assert.deepEqual(quick.parts!.records!.levels.records, [100, 500]);
  assert.deepEqual(quick.easy.records, [100, 200, 500]);
});

test('a part has its own quick counts', async () => {
  const text = `${SWEEPS}quick: { records: 200, parts: { threads: { records: 300 } } }\n`;
  const own = await read(text.replace('threads: {', 'threads: { records: 1000,'), { quick: true });
  assert.deepEqual(own.parts!.threads!.levels.records, [300]);
  assert.match((await problems(text)).join(), /quick.*the part threads has no single level of records/);
  const wrong = `${SWEEPS}quick: { parts: { threads: { trials: 3 } } }\n`;
  assert.match((await problems(wrong)).join(), /quick.parts.threads.trials: unknown factor/);
});

test('a quick run can have fewer levels of a part, which the part must have', async () => {
  const sweeps = SWEEPS.replace('exclude: [', 'exclude: [{ threads: 16, because: a test }, ');
  const quick = `${sweeps}quick: { parts: { threads: { threads: [1, 8] } } }\n`;
  const full = await read(quick);
  assert.deepEqual(full.parts!.threads!.levels.threads, [16, 1, 8]);
  // The exclusion names a level that only the full run has.
  const small = await read(quick, { quick: true });
  assert.deepEqual(small.parts!.threads!.levels.threads, [1, 8]);
  assert.deepEqual(small.easy.threads, [1, 8]);
  const wrong = async (parts: string) => (await problems(`${SWEEPS}quick: { parts: ${parts} }\n`))[0]!;
  assert.match(await wrong('{ thread: { threads: 1 } }'), /there is no part thread: did you mean threads\?/);
  assert.match(await wrong('{ threads: { threads: 2 } }'), /does not have the level 2: it has 16, 1, 8$/);
  assert.match(await wrong('{ threads: { target: 9 } }'), /the level 9: it does not name this factor/);
  assert.match(await wrong('{ threads: { threads: x } }'), /the level "x" is not possible/);
});

test('an option of a STORE URL is easy where the file has it there', async () => {
  const text = (easy: string) => `study: x
hard: { store: cassandra }
easy: { workload: c, ${easy} }
parts: { base: {}, compression: { url.compression: [none, zstd] } }\n`;
  const easy = await read(text('url.compression: default'));
  assert.deepEqual(easy.easy['url.compression'], ['default', 'none', 'zstd']);
  assert.equal(makePlan(easy).deployments.length, 3);
  assert.deepEqual(
    makePlan(easy)
      .deployments[0]!.series.map(({ easy }) => easy['url.compression'])
      .toSorted(),
    ['default', 'none', 'zstd'],
  );
  const hard = await read(text(''));
  assert.deepEqual(hard.hard['url.compression'], ['default', 'none', 'zstd']);
  assert.equal(makePlan(hard).deployments.length, 9);
});

test('the schema has every factor with its description, and every figure', () => {
  const schema = JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'));
  const described = (section: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries<{ description: string }>(schema.properties[section].properties).map(
        ([name, { description }]) => [name, description],
      ),
    );
  const factors = [...FACTORS.values()];
  const helps = (kept: typeof factors) => Object.fromEntries(kept.map(({ name, help }) => [name, help]));
  assert.deepEqual(described('hard'), helps(factors.filter(({ section }) => section === 'hard')));
  assert.deepEqual(described('easy'), helps(factors.filter(({ section }) => section === 'easy')));
  assert.deepEqual(described('fixed'), helps(factors));
  assert.deepEqual(schema.properties.figures.items.enum, FIGURES);
});

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/experiments.md', import.meta.url)), 'utf8');

test('docs/experiments.md has every factor', () => {
  const rows = [...FACTORS.values()].map(({ name, section, default: preset, help }) => {
    const shown = name === 'driver' ? '`raw` and `app`' : preset === null ? '*required*' : `\`${preset}\``;
    return `| \`${name}\` | ${section} | ${shown} | ${help} |`;
  });
  const table = ['| factor | section | default | level |', '| --- | --- | --- | --- |', ...rows].join('\n');
  const written = /<!-- factors -->\n([\s\S]*?)\n<!-- \/factors -->/.exec(PAGE)?.[1];
  assert.equal(written, table);
});

test('the examples in docs/experiments.md are valid, and one has every key', async () => {
  writeFileSync(join(directory, 'published.csv'), 'store,metric,value,unit,flag\n');
  writeFileSync(
    join(directory, 'claims.yml'),
    '- { id: faster, text: A claim., check: "read.mean: falls with rf" }\n',
  );
  const [smallest, whole] = [...PAGE.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml]) => yaml!);
  await read(smallest!);
  const study = await read(whole!);
  const keys = (text: string) => [...text.matchAll(/^(\w+):/gm)].map(([, key]) => key);
  const schema = JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'));
  assert.deepEqual(keys(whole!), Object.keys(schema.properties));
  const levels = [...Object.keys(study.hard), ...Object.keys(study.easy), ...Object.keys(study.fixed)];
  assert.deepEqual(
    [...FACTORS.keys()].filter((name) => !levels.includes(name)),
    [],
  );
  const published = /store,rf,workload,metric.*/.exec(PAGE)![0];
  writeFileSync(join(directory, 'published.csv'), `${published}\n`);
  await read(whole!, { quick: true });
});

test('a plan that is too large is refused before its combinations are listed', async () => {
  const numbers = `[${Array.from({ length: 100 }, (_, index) => index + 1).join(', ')}]`;
  const text = `study: x
hard: {store: sqlite, nodes: 1}
easy: {threads: ${numbers}, target: ${numbers}, fields: ${numbers}, length: ${numbers}, records: ${numbers}}
exclude: [{threads: ${numbers}, target: ${numbers}, fields: ${numbers}, length: ${numbers}, because: no}]
`;
  assert.match((await problems(text)).join(), /the plan has [\d,]+ runs, and at most 100,000 are possible/);
});

test('a STORE URL with a mistake is refused', async () => {
  const text = (url: string) => `study: x\nhard: {store: "${url}"}\neasy: {}\n`;
  assert.match(
    (await problems(text('postgres://h/d'))).join(),
    /^x\.yml:2:15: hard\.store: .*does not name one host, a user/,
  );
  assert.match((await problems(text('cassandra://h/k?compresion=lz4'))).join(), /did you mean compression\?/);
  assert.match((await problems(text('cassandra://h/'))).join(), /names no keyspace/);
});

test('any damage to a file gives a study or a ConfigError', async () => {
  const whole = readFileSync(EXAMPLE, 'utf8');
  const pieces = [
    ...[
      'null',
      '[]',
      '{}',
      '-1',
      '.nan',
      '.inf',
      '1e99',
      '"',
      '*a',
      '&a',
      '!!binary x',
      '? ',
      '\t',
      '\0',
      '%',
      '---\n',
    ],
    ...[
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      'url.',
      'url.__proto__',
      '[[1]]',
      '{a: 1}',
      '2026-01-01',
    ],
  ];
  const words = [...new Set(whole.match(/[A-Za-z0-9.]+/g))];
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(fc.nat({ max: whole.length }), fc.nat({ max: 12 }), fc.constantFrom(...pieces, ...words)),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      fc.boolean(),
      async (changes, quick) => {
        let text = whole;
        for (const [at, length, piece] of changes) text = text.slice(0, at) + piece + text.slice(at + length);
        try {
          const study = await read(text, { quick });
          assert.ok(makePlan(study).deployments.length > 0);
        } catch (error) {
          assert.ok(error instanceof ConfigError, `${String((error as Error).stack)}\n${text}`);
          assert.ok(
            error.problems.length > 0 && error.problems.every((line) => /^x\.yml:|^… and/.test(line)),
            error.message,
          );
        }
      },
    ),
    { numRuns: 300 },
  );
});
