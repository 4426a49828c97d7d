import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  assertNoLess,
  CLAIMS_PAGE,
  claimsPage,
  type RecordedVerdicts,
  verdictsOf,
} from '@tidegauge/experiments/commands/claims';
import { ClaimSyntaxError, parseClaimCheck } from '@tidegauge/experiments/file/claim-language';
import { readClaims } from '@tidegauge/experiments/file/claims';
import type { Level } from '@tidegauge/experiments/model';
import { ConfigError } from '@tidegauge/service/program';

const LEVELS: Readonly<Record<string, readonly Level[]>> = {
  memory: ['1GiB', '1408MiB', '2GiB'],
  rf: [1, 2, 3],
};
const levels = { of: (factor: string) => LEVELS[factor] ?? [] };
const context = {
  metricProblem: (name: string) => (name === 'latency' ? 'latency is not a metric' : null),
  levelsOf: levels.of,
};
const parse = (text: string) => parseClaimCheck(text, context);

function mistake(text: string): string {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof ClaimSyntaxError, String(error));
    return `${error.offset}: ${error.message}`;
  }
  return assert.fail('the check was accepted');
}

test('an order has groups of a factor, and levels without a factor belong to the one before', () => {
  assert.deepEqual(parse('throughput: cassandra > hbase, citus for workload A, d and rf 2'), {
    metric: 'throughput',
    test: {
      kind: 'order',
      sides: [[{ store: 'cassandra' }], [{ store: 'hbase' }, { store: 'citus' }]],
      relations: ['>'],
    },
    where: { workload: ['a', 'd'], rf: [2] },
  });
  const { test: chain } = parse('throughput: consistency ONE > QUORUM > ALL for cassandra');
  assert.deepEqual(chain, {
    kind: 'order',
    sides: [[{ consistency: 'ONE' }], [{ consistency: 'QUORUM' }], [{ consistency: 'ALL' }]],
    relations: ['>', '>'],
  });
});

test('an extreme can be a combination of factors', () => {
  assert.deepEqual(parse('read.median: cassandra and rf 1, 2 lowest').test, {
    kind: 'extreme',
    side: [
      { store: 'cassandra', rf: 1 },
      { store: 'cassandra', rf: 2 },
    ],
    extreme: 'lowest',
  });
});

test('a ratio has bounds: stated, or around a number in both directions', () => {
  const ratio = (text: string) => {
    const { test } = parse(text);
    return test.kind === 'ratio' ? [test.low, test.high] : null;
  };
  assert.deepEqual(ratio('read.mean: cassandra / hbase about 0.4'), [0.32, 0.5]);
  assert.deepEqual(ratio('read.mean: rf 2 / 1 about 2 within 100%'), [1, 4]);
  assert.deepEqual(ratio('read.mean: rf 2 / 1 between 2.4 and 2.8'), [2.4, 2.8]);
});

test('constants have units, and trends have a factor', () => {
  assert.deepEqual(parse('throughput: > 5 ops/s for rf 1').test, {
    ...{ kind: 'bound', relation: '>', value: 5, unit: 'ops/s' },
  });
  const shape = (text: string) => {
    const { test } = parse(text);
    return test.kind === 'trend' ? `${test.shape} ${test.factor}` : null;
  };
  assert.equal(shape('throughput: rises with threads'), 'rises threads');
  assert.equal(shape('throughput: falls with rf for cassandra'), 'falls rf');
  assert.equal(shape('throughput: same over url.compression'), 'same url.compression');
  assert.equal(shape('throughput: rises then falls with threads'), 'peaks threads');
  assert.equal(shape('throughput: levels off with target'), 'levels-off target');
});

test('a range has the levels of the study within it, in the unit of sizes', () => {
  assert.deepEqual(parse('runtime: falls with memory for memory 1024MiB to 1.5GiB').where, {
    memory: ['1GiB', '1408MiB'],
  });
});

test('a mistake has its place', () => {
  assert.equal(mistake('latency: cassandra > hbase'), '0: latency is not a metric');
  assert.match(mistake('throughput: cassandra > hbaze'), /^24: hbaze is not a level of store: .*hbase/);
  assert.match(
    mistake('throughput: worklod a > b'),
    /^12: worklod is not a level of store: .*mean workload\?/,
  );
  assert.match(
    mistake('throughput: rises with thread'),
    /^23: thread is not a factor: did you mean threads\?/,
  );
  assert.equal(mistake('throughput: cassandra'), '21: expected >, <, =, /, highest or lowest');
  assert.equal(mistake('throughput cassandra'), '11: expected :, and found cassandra');
  assert.equal(
    mistake('throughput: rf 1 > 2 for rf 1 and rf 2'),
    '34: rf is named twice: list its levels with commas',
  );
  assert.equal(mistake('throughput: > 5 kg'), '16: kg is not a unit: there are ms, s, h, ops/s, J, W');
  assert.equal(mistake('throughput: rf 1 > 2 or 3'), '21: or is not expected here');
  assert.equal(mistake('throughput: rf 1 / 2 about many'), '27: many is not a number');
  assert.equal(mistake('throughput: "cassandra > hbase'), '12: the quoted level does not end');
  assert.match(mistake('throughput: rf 1 > x'), /^19: x is not a level of rf/);
});

test('mistakes in a file of claims have line and column, also within a quoted check', () => {
  const text = [
    '- id: one',
    '  text: A claim.',
    "  check: 'throughput: cassandra > hbaze'",
    '- { id: one, text: Again., check: "read.mean: cassandra = hbase" }',
    '- { id: two, text: Neither. }',
    '- { id: three, text: Wrong metric., check: reed.mean > 3 }',
  ].join('\n');
  assert.throws(
    () => readClaims(text, 'claims.yml', levels),
    (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.problems[0]!, /^claims\.yml:3:35: \[1\]\.check: hbaze is not a level of store/);
      assert.match(error.problems[1]!, /^claims\.yml:4:9: \[2\]\.id: another claim has this id/);
      assert.match(error.problems[2]!, /^claims\.yml:5:3: \[3\]: two: give either check, or notRun/);
      assert.match(error.problems[3]!, /^claims\.yml:6:44: \[4\]\.check: no workload of the study does reed/);
      return true;
    },
  );
  assert.throws(() => readClaims('- { id: A, text: x }', 'claims.yml', levels), /claims\.yml:1:9: \[1\]\.id/);
});

const FOLDER = fileURLToPath(new URL('../../studies/claims/', import.meta.url));
const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/experiments.md', import.meta.url)), 'utf8');

test('the claims of all studies, and the example in docs/experiments.md, are valid', () => {
  for (const name of readdirSync(FOLDER)) {
    const claims = readClaims(readFileSync(FOLDER + name, 'utf8'), name, levels);
    assert.ok(claims.length > 0, name);
  }
  const example = /```yaml\n(- id:[\s\S]*?)```/.exec(PAGE)![1]!;
  assert.equal(readClaims(example, 'experiments.md', levels).length, 3);
});

test('each check in the table of docs/experiments.md is valid', () => {
  const table = /\| check \| holds when \|\n[\s\S]*?\n\n/.exec(PAGE)![0];
  const checks = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, check]) => check!);
  assert.equal(checks.length, 10);
  for (const check of checks) parse(check);
});

test('docs/studies.md has all claims with the verdicts that are recorded', () => {
  assert.equal(readFileSync(CLAIMS_PAGE, 'utf8'), claimsPage(), 'run npm run study -- claims');
});

test('the verdicts of results have their numbers, date and machine, and quick sizes have none', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-claims-'));
  try {
    const source = 'study: x\nclaims: claims/s1.yml\nparts: { copies: {}, consistency: {} }\n';
    writeFileSync(join(directory, 'study.yml'), source);
    assert.throws(
      () => verdictsOf(directory),
      /report.analysis\.json: it cannot be read.*make the report first/,
    );
    const opened = {
      time: '2026-11-22T20:00:00.000Z',
      event: 'opened',
      plan: 'a',
      environment: {},
      differs: [],
    };
    const levels = { hard: { store: ['citus'] }, easy: { workload: ['a', 'b'] }, fixed: { threads: 1 } };
    const plan = (parts: object): string =>
      JSON.stringify({ format: 2, hash: 'a', deployments: [], study: { ...levels, parts } });
    writeFileSync(join(directory, 'plan.json'), plan({ copies: {}, consistency: {} }));
    writeFileSync(join(directory, 'journal.jsonl'), `${JSON.stringify(opened)}\n`);
    const analysis = (quick: boolean) => ({
      study: { name: 's1-replication', quick },
      runs: { partial: false },
      environment: { place: 'boards', cpu: 'Cortex-A72', cores: 4, memoryBytes: 4e9 },
      claims: [
        { id: 'load', verdict: 'agrees', reason: 'store citus is absent', shown: 'ratio 0.5 (0.4 to 0.6).' },
      ],
    });
    mkdirSync(join(directory, 'report'));
    const report = join(directory, 'report', 'analysis.json');
    writeFileSync(report, JSON.stringify(analysis(true)));
    assert.throws(() => verdictsOf(directory), /quick sizes .*run it without --quick/);
    writeFileSync(report, JSON.stringify(analysis(false)));
    assert.deepEqual(verdictsOf(directory), {
      ...{ claims: 's1', study: 's1-replication', isPartial: false, date: '2026-11-22' },
      ...{ place: 'boards', machine: 'Cortex-A72, 4 processors, 4 GB' },
      verdicts: { load: { verdict: 'agrees', found: 'ratio 0.5 (0.4 to 0.6). store citus is absent' } },
    });
    writeFileSync(join(directory, 'plan.json'), plan({ copies: {} }));
    assert.equal(verdictsOf(directory).isPartial, true, 'a part of the file is missing');
    writeFileSync(join(directory, 'study.yml'), 'study: x\n');
    assert.throws(() => verdictsOf(directory), /its study names no claims: only a study with /);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('verdicts of partial results do not replace those of whole ones', () => {
  const recorded = (isPartial: boolean): RecordedVerdicts => ({
    ...{ claims: 's2', study: 's2', isPartial, date: '2026-11-22', place: 'lab', machine: 'x', verdicts: {} },
  });
  assert.throws(
    () => assertNoLess(recorded(true), recorded(false), 'results/s2'),
    /results\/s2: these results are partial/,
  );
  assertNoLess(recorded(true), recorded(true), 'results/s2');
  assertNoLess(recorded(false), recorded(true), 'results/s2');
});

test('published numbers have known flags, and a value where they count', () => {
  const folder = fileURLToPath(new URL('../../studies/published/', import.meta.url));
  for (const name of readdirSync(folder)) {
    const [header, ...rows] = readFileSync(folder + name, 'utf8')
      .trim()
      .split('\n')
      .map((line) => cellsOf(line));
    for (const row of rows) {
      assert.equal(row.length, header!.length, `${name}: ${row}`);
      const of = (column: string) => row[header!.indexOf(column)]!;
      assert.match(of('flag'), /^(ok|derived|prose|lost|garbled)$/, `${name}: ${row}`);
      const counts = of('flag') === 'ok' || of('flag') === 'derived';
      if (counts) assert.ok(Number(of('value')) > 0, `${name}: ${row}`);
      if (of('flag') === 'lost') assert.equal(of('value'), '', `${name}: ${row}`);
    }
  }
});

/** The cells of a line of a CSV file. */
function cellsOf(line: string): readonly string[] {
  return [...`,${line}`.matchAll(/,(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain!);
}
