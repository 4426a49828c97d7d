import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { IngestClient } from '../../src/ingest-client.ts';

test('a name that begins with tasks. means all its addresses, and any other name is used as it is', async () => {
  const requested: string[] = [];
  const client = new IngestClient({
    urls: ['http://tasks.ingest:9464', 'http://localhost:9464/'],
    timeoutMs: 100,
    async resolve(host) {
      requested.push(host);
      return [
        { address: '10.0.1.7', family: 4 },
        { address: 'fd00::7', family: 6 },
      ];
    },
  });
  const expected = ['http://10.0.1.7:9464', 'http://[fd00::7]:9464', 'http://localhost:9464'];
  assert.deepEqual(await client.targets(), expected);
  assert.deepEqual(await client.targets(), expected);
  assert.deepEqual(requested, ['tasks.ingest'], 'addresses are kept for a while');
});

test('when the resolver fails, the name itself is used, so that the error contains it', async () => {
  const client = new IngestClient({
    urls: ['http://tasks.invalid:9464'],
    timeoutMs: 2000,
    resolve: () => Promise.reject(new Error('ESERVFAIL')),
  });
  assert.deepEqual(await client.targets(), ['http://tasks.invalid:9464']);
  await assert.rejects(client.ledgers(), /tasks\.invalid/);
});

test('the live feeds of all replicas are read at a limited rate', async (t) => {
  const line = `${JSON.stringify({ id: 'x'.repeat(1000), missed: 1 })}\n`;
  const server = createServer((_request, response) => {
    const write = () => {
      while (!response.destroyed && response.write(line));
    };
    response.on('drain', write);
    write();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new IngestClient({ urls: [url], timeoutMs: 5000, liveBytesPerSecond: 2 ** 20 });
  t.after(() => client.close());
  const started = performance.now();
  let bytes = 0;
  const leaving = new AbortController();
  const follow = async () => {
    for await (const { id } of client.live(url, leaving.signal)) {
      bytes += id.length;
      if (bytes > 2 ** 20) leaving.abort();
    }
  };
  await Promise.allSettled([follow(), follow()]);
  assert.ok(bytes > 2 ** 20);
  // The first quarter of a second is not delayed.
  const ms = performance.now() - started;
  assert.ok(ms > 600, `${bytes} bytes in ${ms} ms`);
});
