import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { rejection } from '../conformance/data.ts';
import { openStore, type StoreError, type StoreErrorCode } from '../src/index.ts';

/** Rejects with the code, naming the place, within the connect timeout and a little. */
export async function refused(url: string, code: StoreErrorCode, ms: number): Promise<StoreError> {
  const start = performance.now();
  const error = await rejection(openStore(url), code);
  const took = performance.now() - start;
  assert.ok(took < ms, `it took ${took} ms`);
  assert.ok(error.message.includes(new URL(url).host), error.message);
  assert.ok(error.hint);
  return error;
}

/** Lends the port of a host that takes connections and never answers. */
export async function withSilentHost(use: (port: number) => Promise<unknown>): Promise<void> {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  try {
    await use((silent.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
}
