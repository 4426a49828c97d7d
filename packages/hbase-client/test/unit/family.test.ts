import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alteredFamily, type FamilyOptions, readFamily } from '../../src/family.ts';
import { readTableName, shortTableName } from '../../src/table-name.ts';

const ALL: Required<FamilyOptions> = {
  maxVersions: 7,
  ttlSeconds: 60,
  compression: 'GZ',
  bloomFilter: 'NONE',
  blockEncoding: 'DIFF',
};

test('options of a family are read as they were written', () => {
  const { attributes, ...options } = readFamily(alteredFamily('f', ALL));
  assert.deepEqual(options, { name: 'f', ...ALL });
  assert.deepEqual(attributes, {
    VERSIONS: '7',
    TTL: '60',
    COMPRESSION: 'GZ',
    BLOOMFILTER: 'NONE',
    DATA_BLOCK_ENCODING: 'DIFF',
  });
});

test('a family without options has those of HBase', () => {
  const { attributes, ...options } = readFamily(alteredFamily('f', {}));
  assert.deepEqual(options, {
    name: 'f',
    maxVersions: 1,
    ttlSeconds: null,
    compression: 'NONE',
    bloomFilter: 'ROW',
    blockEncoding: 'NONE',
  });
  assert.deepEqual(attributes, {});
});

test('an alteration keeps other attributes, also those that this client does not use', () => {
  const foreign = { first: Buffer.from('IN_MEMORY'), second: Buffer.from('true') };
  const now = alteredFamily('f', ALL);
  const altered = alteredFamily(
    'f',
    { ttlSeconds: null },
    { ...now, attributes: [...now.attributes, foreign] },
  );
  const { attributes, ...options } = readFamily(altered);
  assert.deepEqual(options, { name: 'f', ...ALL, ttlSeconds: null });
  assert.equal(attributes.IN_MEMORY, 'true');
});

test('an invalid option is a TypeError with its name', () => {
  const wrong = {
    maxVersions: 0,
    ttlSeconds: 1.5,
    compression: 'ZIP',
    bloomFilter: 'row',
    blockEncoding: 'FAST',
  };
  for (const [name, value] of Object.entries(wrong)) {
    const options = { [name]: value } as FamilyOptions;
    assert.throws(() => alteredFamily('f', options), {
      name: 'TypeError',
      message: new RegExp(`^${name} is `),
    });
  }
  for (const name of ['', 'a:b', '.a']) assert.throws(() => alteredFamily(name, {}), TypeError);
});

test('a table name has the form name or namespace:name', () => {
  assert.deepEqual(readTableName('t'), { namespace: Buffer.from('default'), qualifier: Buffer.from('t') });
  assert.deepEqual(readTableName('n:t.a-b'), {
    namespace: Buffer.from('n'),
    qualifier: Buffer.from('t.a-b'),
  });
  assert.deepEqual(['default:t', 't', 'n:t'].map(shortTableName), ['t', 't', 'n:t']);
  for (const name of ['', ':t', 'n:', 'a:b:c', '-t', '.t', 'a b']) {
    assert.throws(() => readTableName(name), TypeError);
  }
});
