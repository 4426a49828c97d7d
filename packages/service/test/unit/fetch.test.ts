import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fetchFor } from '../../src/index.ts';

test('an error contains the purpose, the address and the cause, and no password', async (context) => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const silent = fetchFor('read the ledger', `http://127.0.0.1:${port}/ledger`, { timeoutMs: 100 });
  await assert.rejects(silent, {
    message: `cannot read the ledger at http://127.0.0.1:${port}/ledger: no answer within 100 ms`,
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const gone = fetchFor('read the ledger', `http://127.0.0.1:${port}/ledger?token=abc`, { timeoutMs: 5000 });
  await assert.rejects(gone, {
    message: `cannot read the ledger at http://127.0.0.1:${port}/ledger?token=***: no program listens there (ECONNREFUSED)`,
  });
  const several = fetchFor('read the ledger', `http://localhost:${port}/`, { timeoutMs: 5000 });
  await assert.rejects(
    several,
    /cannot read the ledger at http:\/\/localhost:\d+\/: no program listens there/,
  );
});
