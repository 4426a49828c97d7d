import assert from 'node:assert/strict';
import { test } from 'node:test';
import { yaml } from '../../src/cassandra-conf.ts';

function tokens(count: number): bigint[] {
  const shared = { folder: '/tmp', host: '127.0.0.1', announced: null, port: 9042, storagePort: 7000 };
  return Array.from({ length: count }, (_, index) => {
    const text = yaml({ ...shared, index, count, identity: null });
    return BigInt(/^initial_token: (.*)$/m.exec(text)![1]!);
  });
}

for (const count of [1, 2, 3, 4, 5, 6]) {
  test(`the tokens of ${count} nodes divide the ring into equal parts`, () => {
    const found = tokens(count);
    assert.equal(found[0], -(2n ** 63n));
    const ends = [...found.slice(1), 2n ** 63n];
    const parts = found.map((token, index) => Number(ends[index]! - token) / 2 ** 64);
    for (const part of parts) assert.ok(Math.abs(part - 1 / count) < 1e-12, String(parts));
  });
}
