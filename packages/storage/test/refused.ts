import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { rejection } from '../conformance/data.ts';
import { openStore, type StoreError, type StoreErrorCode } from '../src/index.ts';

/** Checks that opening the URL fails within `ms` with the code, the host and a hint. Resolves to the error. */
export async function refused(url: string, code: StoreErrorCode, ms: number): Promise<StoreError> {
  const start = performance.now();
  const error = await rejection(openStore(url), code);
  const took = performance.now() - start;
  assert.ok(took < ms, `it took ${took} ms`);
  assert.ok(error.message.includes(new URL(url).host), error.message);
  assert.ok(error.hint);
  return error;
}

/** Calls `use` with the port of a server that accepts connections and never answers. */
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
