import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngestClient } from '../../src/ingest-client.ts';

test('a name that begins with tasks. stands for all its addresses, any other for itself', async () => {
  const asked: string[] = [];
  const client = new IngestClient({
    urls: ['http://tasks.ingest:9464', 'http://localhost:9464/'],
    timeoutMs: 100,
    async resolve(host) {
      asked.push(host);
      return [
        { address: '10.0.1.7', family: 4 },
        { address: 'fd00::7', family: 6 },
      ];
    },
  });
  const expected = ['http://10.0.1.7:9464', 'http://[fd00::7]:9464', 'http://localhost:9464'];
  assert.deepEqual(await client.targets(), expected);
  assert.deepEqual(await client.targets(), expected);
  assert.deepEqual(asked, ['tasks.ingest'], 'addresses are kept for a while');
});

test('a resolver that fails leaves the name itself, which then says what is wrong', async () => {
  const client = new IngestClient({
    urls: ['http://tasks.invalid:9464'],
    timeoutMs: 2000,
    resolve: () => Promise.reject(new Error('ESERVFAIL')),
  });
  assert.deepEqual(await client.targets(), ['http://tasks.invalid:9464']);
  await assert.rejects(client.ledgers(), /tasks\.invalid/);
});
