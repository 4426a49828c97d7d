import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { publish } from '../../src/publisher.ts';

test('a publisher fails when its broker ends before it answers', async (t) => {
  const server = createServer((socket) => socket.on('data', () => socket.destroy()));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await assert.rejects(publish({ port, count: 1, devices: 1 }), /closed the connection before it answered/);
});
