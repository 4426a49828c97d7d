import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseProperties, parseWorkload, WorkloadError } from '../../src/index.ts';

const MIX = 'readproportion=1\nupdateproportion=0\n';

function message(text: string, readFile?: (name: string) => string): string {
  try {
    parseWorkload(text, { file: 'w.properties', ...(readFile === undefined ? {} : { readFile }) });
  } catch (error) {
    assert.ok(error instanceof WorkloadError);
    return error.message;
  }
  return assert.fail(`accepted: ${text}`);
}

test('an invalid property is one line with the file, the property and how to fix it', () => {
  const numbers = 'is not a whole number from';
  const cases: [text: string, message: RegExp | string][] = [
    ['recordcount=many', `w.properties: recordcount: "many" ${numbers} 0 to 2147483647; set one`],
    ['recordcount=-1', `w.properties: recordcount: "-1" ${numbers} 0 to 2147483647; set one`],
    ['recordcount=4000000000', /recordcount: "4000000000" is not a whole number/],
    ['fieldlength=1.5', /fieldlength: "1.5" is not a whole number/],
    ['readproportion=half', 'w.properties: readproportion: "half" is not a number from 0 to 1; set one'],
    ['readproportion=1.5', /readproportion: "1.5" is not a number from 0 to 1/],
    ['readallfields=yes', 'w.properties: readallfields: "yes" is neither true nor false; give one of them'],
    [
      'requestdistribution=zipfain',
      'w.properties: requestdistribution: "zipfain" is unknown; ' +
        'use one of uniform, zipfian, latest, hotspot, exponential, sequential',
    ],
    [
      'scanlengthdistribution=latest',
      /scanlengthdistribution: "latest" is unknown; use one of uniform, zipfian$/,
    ],
    ['fieldlengthdistribution=normal', /fieldlengthdistribution: "normal" is unknown/],
    ['insertorder=sorted', /insertorder: "sorted" is unknown; use one of hashed, ordered$/],
    [
      'readproportion=0.5\ninsertproportion=0.4',
      'w.properties: ...proportion: readproportion 0.5 + updateproportion 0.05 (default) + insertproportion 0.4' +
        ' = 0.95; let the shares add up to 1',
    ],
    ['readproportion=0\nupdateproportion=0', /= 0; let the shares add up to 1$/],
    [`${MIX}recordcount=10\ninsertstart=10`, /insertstart: "10" is not a whole number from 0 to 9/],
    [
      `${MIX}recordcount=10\ninsertstart=5\ninsertcount=6`,
      /insertcount: .* beyond recordcount 10; lower one/,
    ],
    [`${MIX}minscanlength=9\nmaxscanlength=8`, /minscanlength: "9" is not a whole number from 1 to 8/],
    [`${MIX}dataintegrity=true\nfieldlengthdistribution=uniform`, /fieldlengthdistribution: uniform lengths/],
    [
      `${MIX}recordcount=3\nrequestdistribution=hotspot`,
      /hotspotdatafraction: 0.2 of 3 records leaves no hot/,
    ],
    [`${MIX}fieldnameprefix=f`, /fieldnameprefix: tables have field0/],
    [`${MIX}fieldlengthdistribution=histogram`, /fieldlengthhistogram: hist.txt cannot be read here/],
    ['a=\\u12', /\\u must be followed by four hexadecimal digits$/],
  ];
  for (const [text, expected] of cases) {
    const found = message(text);
    if (typeof expected === 'string') assert.equal(found, expected);
    else assert.match(found, expected);
    assert.doesNotMatch(found, /\n/);
  }
});

test('a histogram of field lengths is read from its file', () => {
  const text = `${MIX}fieldlengthdistribution=histogram\nfieldlengthhistogram=lengths\n`;
  const readFile = (name: string): string => {
    if (name === 'lengths') return 'BlockSize\t10\n0\t5\n1\t7\n';
    throw new Error('no such file');
  };
  const { fieldLength } = parseWorkload(text, { file: 'w', readFile });
  assert.deepEqual(fieldLength.histogram, { blockSize: 10, buckets: [5, 7] });
  assert.match(
    message(text, () => 'lengths\n'),
    /fieldlengthhistogram: lengths is no histogram; it reads BlockSize/,
  );
  assert.match(message(text.replace('=lengths', '=other'), readFile), /other: no such file; name a file$/);
});

test('YCSB’s defaults apply to missing properties, and overrides have precedence', () => {
  const { mix, ...workload } = parseWorkload('', { file: 'w' });
  assert.deepEqual(mix, { read: 0.95, update: 0.05, insert: 0, scan: 0, readModifyWrite: 0 });
  assert.equal(workload.recordCount, 2 ** 31 - 1);
  assert.equal(workload.requestDistribution, 'uniform');
  assert.deepEqual([workload.fieldCount, workload.fieldLength.maximum, workload.zeroPadding], [10, 100, 1]);
  assert.deepEqual(workload.scanLength, { distribution: 'uniform', minimum: 1, maximum: 1000 });
  const other = parseWorkload('fieldcount=3\nmongodb.url=x', { file: 'w', overrides: { fieldcount: '4' } });
  assert.equal(other.fieldCount, 4);
  assert.deepEqual(other.ignored, ['mongodb.url']);
});

test('each workload file of the package has the mix of its name', () => {
  const folder = new URL('../../workloads/', import.meta.url);
  const mixes = readdirSync(folder)
    .filter((name) => /^workload.$/.test(name))
    .map((name) => {
      const { mix, requestDistribution, ignored } = parseWorkload(
        readFileSync(new URL(name, folder), 'utf8'),
        { file: name },
      );
      assert.deepEqual(ignored, [], name);
      const shares = Object.entries(mix).filter(([, share]) => share > 0);
      return [name.slice(-1), ...shares.map(([type, share]) => `${type} ${share}`), requestDistribution].join(
        ', ',
      );
    });
  assert.deepEqual(mixes, [
    'a, read 0.5, update 0.5, zipfian',
    'b, read 0.95, update 0.05, zipfian',
    'c, read 1, zipfian',
    'd, read 0.95, insert 0.05, latest',
    'e, insert 0.05, scan 0.95, zipfian',
    'f, read 0.5, readModifyWrite 0.5, zipfian',
    'g, insert 1, uniform',
    'i, read 0.01, insert 0.99, latest',
  ]);
});

test('a line that ends in an escaped backslash does not continue', () => {
  assert.deepEqual(
    [...parseProperties('a=b\\\\\nc=d\\\\\\\n  e', 'f')],
    [
      ['a', 'b\\'],
      ['c', 'd\\e'],
    ],
  );
});
