import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operations, parseWorkload, type RecordOperation, seeded } from '../src/index.ts';

// The streams that every implementation must draw. `node packages/workload/test/vectors.ts` writes them to
// vectors.json, which the tests of loadtests/k6-modules/workload read.

export const FILE = fileURLToPath(new URL('vectors.json', import.meta.url));
const OPERATIONS = 2000;
const SHOWN = 2;
const DRAWS = 8;

type Overrides = Readonly<Record<string, string>>;

const STREAMS: readonly (readonly [workload: string, overrides: Overrides])[] = [
  ...[...'abcdefgi'].map((name): [string, Overrides] => [name, { recordcount: '1000000' }]),
  ['a', { dataintegrity: 'true', readallfields: 'false', fieldlength: '57' }],
  ['f', { writeallfields: 'true', readallfields: 'false', insertorder: 'ordered', zeropadding: '12' }],
  ['b', { requestdistribution: 'hotspot', hotspotdatafraction: '0.1', hotspotopnfraction: '0.7' }],
  ['c', { requestdistribution: 'exponential', 'exponential.percentile': '90', 'exponential.frac': '0.1' }],
  ['c', { requestdistribution: 'exponential', recordcount: '2147483647' }],
  ['e', { scanlengthdistribution: 'zipfian', minscanlength: '3', requestdistribution: 'uniform' }],
  ['e', { scanlengthdistribution: 'zipfian', maxscanlength: '2', readallfields: 'false' }],
  ['d', { requestdistribution: 'sequential', insertstart: '200', insertcount: '500' }],
  ['d', { recordcount: '2', insertproportion: '0.5', readproportion: '0.5' }],
  ['d', { recordcount: '2000000000', insertproportion: '0.5', readproportion: '0.5', fieldcount: '1' }],
  ['a', { recordcount: '3000000', insertstart: '17', operationcount: '100000', insertproportion: '0' }],
  ['a', { operationcount: '5000', readproportion: '0.4', insertproportion: '0.1' }],
  ['g', { fieldlengthdistribution: 'uniform', minfieldlength: '0', fieldlength: '31', fieldcount: '3' }],
  ['g', { fieldlengthdistribution: 'zipfian', minfieldlength: '2', fieldlength: '300', fieldcount: '3' }],
  ['g', { fieldlengthdistribution: 'histogram', fieldcount: '3' }],
];
const HISTOGRAM = 'BlockSize\t10\n0\t0\n1\t40\n2\t10\n3\t300\n4\t7\n';

/** Seeds of one, and of more than 32 bits. */
const SEEDS: readonly (readonly number[])[] = [
  [0],
  [1, 2, 3],
  [2 ** 40 + 5, 1, 16],
  [Number.MAX_SAFE_INTEGER, 9999, 10_000],
];

/** Computes the vectors. Streams with the same thread and seed differ in their workload only. */
export function vectors() {
  return {
    random: SEEDS.map((streams) => {
      const random = seeded(streams[0]!, ...streams.slice(1));
      return { streams, bits: Array.from({ length: DRAWS }, () => random.bits() >>> 0) };
    }),
    streams: STREAMS.map(([name, overrides], index) => {
      const text = readFileSync(new URL(`../workloads/workload${name}`, import.meta.url), 'utf8');
      const workload = parseWorkload(text, { file: name, overrides, readFile: () => HISTOGRAM });
      const [thread, threads] = index % 2 === 0 ? [1, 3] : [0, 1];
      const stream = operations(workload, { seed: index, thread, threads });
      const digest = createHash('sha256');
      const first: string[] = [];
      for (let operation = 0; operation < OPERATIONS; operation += 1) {
        const line = described(stream.next());
        if (operation < SHOWN) first.push(line);
        digest.update(`${line}\n`);
      }
      return {
        workload,
        seed: index,
        thread,
        threads,
        operations: OPERATIONS,
        first,
        sha256: digest.digest('hex'),
      };
    }),
  };
}

/** Type, key, the fields that are read (none: all), the length of a scan, and names and values, separated by tabs. */
function described(operation: RecordOperation): string {
  const fields = 'fields' in operation ? (operation.fields ?? []) : [];
  const count = 'count' in operation ? operation.count : 0;
  const values = 'values' in operation ? Object.entries(operation.values).flat() : [];
  return [operation.type, operation.key, fields.join(','), count, ...values].join('\t');
}

if (import.meta.main) writeFileSync(FILE, `${JSON.stringify(vectors())}\n`);
