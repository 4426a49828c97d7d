import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { openAcceptors } from '@tidegauge/acceptors';

const HOST = '127.0.0.1';

test('several connections are accepted in one turn of the event loop', async (context) => {
  const accepted: Socket[] = [];
  const { port, servers } = await openAcceptors({ host: HOST, port: 0 }, () =>
    createServer((socket) => void accepted.push(socket)),
  );
  context.after(() => end(servers, accepted));
  const clients = Array.from({ length: 200 }, () => connect({ host: HOST, port }));
  context.after(() => clients.forEach((client) => void client.destroy()));
  let most = 0;
  for (let before = 0; accepted.length < clients.length; before = accepted.length) {
    await turn();
    most = Math.max(most, accepted.length - before);
  }
  assert.ok(most > 1, `${most}`);
});

test('a port that is taken is refused, also one of such servers', async (context) => {
  const first = await openAcceptors({ host: HOST, port: 0 }, () => createServer());
  context.after(() => end(first.servers, []));
  const plain = createServer().listen(0, HOST);
  await once(plain, 'listening');
  context.after(() => void plain.close());
  for (const port of [first.port, (plain.address() as { port: number }).port])
    await assert.rejects(
      openAcceptors({ host: HOST, port }, () => createServer()),
      { code: 'EADDRINUSE' },
    );
});

async function end(servers: readonly Server[], sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
}
