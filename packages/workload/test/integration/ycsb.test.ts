import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compilerOptions } from '@tidegauge/lab/jvm';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { compileWithYcsb } from '@tidegauge/lab/ycsb';
import {
  exponential,
  type Generator,
  histogram,
  hotspot,
  initialRecords,
  parseProperties,
  parseWorkload,
  type Random,
  type RecordOperation,
  randomValue,
  recordOperations,
  scrambledZipfian,
  seeded,
  sequential,
  skewedLatest,
  uniform,
  type Values,
  zipfian,
} from '../../src/index.ts';
import { sameLaw } from '../chi-square.ts';
import { ThreadLocalInts, ThreadLocalRandom } from '../thread-local-random.ts';

const run = promisify(execFile);

const WORKLOADS = fileURLToPath(new URL('../../workloads/', import.meta.url));
const SEED = 20261121;
const EQUAL = 10_000;
const DRAWS = 1_000_000;

const started = await startOrSkip('ycsb', () =>
  compileWithYcsb(fileURLToPath(new URL('../java/', import.meta.url))),
);

describe('against YCSB', 'skip' in started ? { skip: started.skip } : {}, () => {
  const { java, classPath } = (started as { server: { java: string; classPath: string } }).server ?? {};
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidegauge-ycsb-'));
  });
  after(() => rm(directory, { recursive: true }));

  /** The lines that Reference.java prints. */
  async function reference(...args: readonly string[]): Promise<string[]> {
    const opened = ['--add-opens', 'java.base/java.lang=ALL-UNNAMED'];
    const options = [...compilerOptions(), '-XX:+UseSerialGC', ...opened];
    const { stdout } = await run(java, [...options, '-cp', classPath, 'Reference', ...args], {
      maxBuffer: 256 * 2 ** 20,
    });
    return stdout.slice(0, -1).split('\n');
  }

  async function ours(name: string, overrides: Readonly<Record<string, string>>) {
    const file = `${WORKLOADS}workload${name}`;
    return parseWorkload(await readFile(file, 'utf8'), { file, overrides });
  }

  const variants: [workload: string, overrides: Readonly<Record<string, string>>][] = [
    ...[...'abcdefgi'].map((name): [string, Record<string, string>] => [name, {}]),
    ['a', { dataintegrity: 'true', readallfields: 'false', fieldlength: '57' }],
    ['f', { writeallfields: 'true', readallfields: 'false', insertorder: 'ordered', zeropadding: '12' }],
    ['b', { requestdistribution: 'hotspot', hotspotdatafraction: '0.1', hotspotopnfraction: '0.7' }],
    ['c', { requestdistribution: 'exponential', 'exponential.percentile': '90', 'exponential.frac': '0.1' }],
    ['e', { scanlengthdistribution: 'zipfian', minscanlength: '3', requestdistribution: 'uniform' }],
    ['d', { requestdistribution: 'sequential', insertstart: '200', insertcount: '500' }],
    ['a', { recordcount: '3000000', insertstart: '17', operationcount: '100000', insertproportion: '0' }],
  ];
  for (const [name, overrides] of variants) {
    const how = Object.entries(overrides).map(([property, value]) => `${property}=${value}`);
    const label = [`workload ${name.toUpperCase()}`, ...how].join(', ');

    test(`${label}: operations, keys, fields and lengths are equal`, async () => {
      const workload = await ours(name, { recordcount: '1000', ...overrides });
      const arguments_ = [`recordcount=1000`, ...how];
      const theirs = await reference(
        'operations',
        `${WORKLOADS}workload${name}`,
        String(EQUAL),
        String(SEED),
        ...arguments_,
      );
      const random = new ThreadLocalRandom();
      const stream = recordOperations(workload, random);
      assert.equal(theirs.length, EQUAL);
      const lines = theirs.map((_, index) => {
        random.seed(SEED + index);
        return described(stream.next(), workload.dataIntegrity);
      });
      equal(lines, theirs);
    });
  }

  test('the first keys of the load phase are equal, hashed, ordered and padded', async () => {
    for (const overrides of [
      {},
      { insertorder: 'ordered', zeropadding: '8' },
      { insertstart: '123456789' },
    ]) {
      const all = { recordcount: '1234567890', ...overrides };
      const workload = await ours('a', all);
      const record = initialRecords(workload, SEED);
      const pairs = Object.entries(all).map(([property, value]) => `${property}=${value}`);
      const theirs = await reference('keys', `${WORKLOADS}workloada`, String(EQUAL), ...pairs);
      const keys = Array.from({ length: EQUAL }, (_, index) => record(workload.insertStart + index).key);
      equal(keys, theirs);
    }
  });

  test('property files are read as Java reads them', async () => {
    const file = join(directory, 'tricky');
    const text = [
      '# a comment \\',
      '  ! another',
      'a=1',
      'b : two words  ',
      'c three',
      'd\\ e\\:f\\=g = \\ spaced\\tand\\u00e9\\q',
      'long = one,\\',
      '    two,\\',
      '  # three',
      'empty',
      'also empty =',
      'a=again',
      'back=\\\\',
      'slashes=C:\\\\data\\\\\\',
      '  end',
    ].join('\r\n');
    await writeFile(file, text);
    const theirs = await reference('properties', file);
    const pairs = [...parseProperties(text, file)].map(([name, value]) => `${name}\t${value}`);
    assert.deepEqual(pairs.sort(), theirs.sort());
  });

  const drawn: [name: string, args: readonly string[], make: (random: Random) => Generator][] = [
    ['uniform', ['5', '104'], (random) => uniform(random, 5, 104)],
    ['zipfian', ['1', '1000'], (random) => zipfian(random, 1, 1000)],
    ['zipfian', ['0', '4999'], (random) => zipfian(random, 0, 4999)],
    ['scrambledZipfian', ['0', '999'], (random) => scrambledZipfian(random, 0, 999)],
    ['skewedLatest', ['1000'], (random) => skewedLatest(random, () => 999)],
    ['growingLatest', ['500'], (random) => growingLatest(random, 500)],
    ['hotspot', ['0', '999', '0.2', '0.8'], (random) => hotspot(random, 0, 999, 0.2, 0.8)],
    ['exponential', ['95', '857.1428571'], (random) => exponential(random, 95, 857.1428571)],
  ];
  for (const [name, args, make] of drawn) {
    const label = `${name}(${args.join(', ')})`;
    test(`${label} draws the same values from the same random numbers`, async () => {
      const theirs = await reference('draws', String(EQUAL), String(SEED), name, ...args);
      const random = new ThreadLocalRandom();
      const next = make(random);
      random.seed(SEED);
      equal(Array.from({ length: EQUAL }, next), theirs.map(Number));
    });
    if (name === 'growingLatest') continue;

    test(`${label} has the same distribution`, async () => {
      const p = sameLaw(
        counts(make(seeded(SEED))),
        await theirCounts(String(DRAWS), String(SEED), name, ...args),
      );
      assert.ok(p > 0.01, `p = ${p}`);
    });
  }

  test('sequential gives the same numbers', async () => {
    const theirs = await reference('draws', '25', '0', 'sequential', '3', '12');
    assert.deepEqual(Array.from({ length: 25 }, sequential(3, 12)), theirs.map(Number));
  });

  test('a histogram of lengths gives the same values and has the same distribution', async () => {
    const file = join(directory, 'histogram');
    const buckets = [0, 40, 10, 300, 7, 1, 90];
    const rows = buckets.map((count, bucket) => `${bucket}\t${count}\n`);
    await writeFile(file, `BlockSize\t10\n${rows.join('')}`);
    const random = new ThreadLocalInts();
    const next = histogram(random, { blockSize: 10, buckets });
    random.seed(SEED);
    const theirs = await reference('draws', String(EQUAL), String(SEED), 'histogram', file);
    equal(Array.from({ length: EQUAL }, next), theirs.map(Number));
    const p = sameLaw(
      counts(histogram(seeded(SEED), { blockSize: 10, buckets })),
      await theirCounts(String(DRAWS), String(SEED), 'histogram', file),
    );
    assert.ok(p > 0.01, `p = ${p}`);
  });

  test('values have the same characters and the same distribution of characters', async () => {
    const random = new ThreadLocalRandom();
    random.seed(SEED);
    const text = randomValue(random, 6000);
    const theirs = await reference('draws', '6006', String(SEED), 'characters');
    // YCSB's first draws are from the constructor of the generator.
    assert.equal(text, String.fromCharCode(...theirs.slice(6).map(Number)));
    const own = seeded(SEED);
    let value = '';
    let index = 0;
    const p = sameLaw(
      counts(() => {
        if (index === value.length) [value, index] = [randomValue(own, 100), 0];
        return value.charCodeAt(index++);
      }),
      await theirCounts(String(DRAWS), String(SEED), 'characters'),
    );
    assert.ok(p > 0.01, `p = ${p}`);
  });

  async function theirCounts(...args: readonly string[]): Promise<Map<number, number>> {
    const lines = await reference('counts', ...args);
    return new Map(lines.map((line) => line.split('\t').map(Number) as [number, number]));
  }
});

/** Compares long lists. deepEqual would need a minute to show their differences. */
function equal(actual: readonly unknown[], expected: readonly unknown[]): void {
  assert.equal(actual.length, expected.length);
  const first = actual.findIndex((value, index) => value !== expected[index]);
  if (first >= 0) assert.equal(actual[first], expected[first], `number ${first}`);
}

function counts(next: Generator): Map<number, number> {
  const found = new Map<number, number>();
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const value = next();
    found.set(value, (found.get(value) ?? 0) + 1);
  }
  return found;
}

function growingLatest(random: Random, start: number): Generator {
  let newest = start - 1;
  const next = skewedLatest(random, () => newest);
  return () => {
    newest += 1;
    return next();
  };
}

/** As Reference.java prints it: random values by their length. */
function described(operation: RecordOperation, whole: boolean): string {
  const { type, key } = operation;
  const contents = (values: Values): string =>
    Object.keys(values)
      .sort()
      .map((name) => `${name}=${whole ? values[name] : values[name]!.length},`)
      .join('');
  const names = (fields: readonly string[] | null): string => (fields === null ? '*' : fields.join(','));
  switch (type) {
    case 'read':
      return `read ${key} ${names(operation.fields)}; `;
    case 'scan':
      return `scan ${key} ${operation.count} ${names(operation.fields)}; `;
    case 'readModifyWrite':
      return `read ${key} ${names(operation.fields)}; update ${key} ${contents(operation.values)}; `;
    default:
      return `${type} ${key} ${contents(operation.values)}; `;
  }
}
