import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { defaultRoutes } from '../../src/routes-file.ts';
import { testPipeline } from '../test-pipeline.ts';

const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;

test('the bound on bytes counts the buffers of the socket that messages in flight keep in memory', async (context) => {
  const directory = temporaryDirectory('pipeline-memory');
  const store = await openStore(`sqlite:${join(directory.path, 's.db')}`);
  let isFull = false;
  const { pipeline, quarantine, spool } = testPipeline(store, directory.path, 100, defaultRoutes('stored'), {
    maxInFlightBytes: MIB,
    onFull: (full) => {
      isFull = full;
    },
  });
  context.after(async () => {
    await spool.close();
    await store.close();
    quarantine.close();
    directory.remove();
  });
  const accept = (chunk: Buffer, text: string, at: number) => {
    const payload = chunk.subarray(at, at + chunk.write(text, at));
    const message = {
      topic: 'sensors/a/t',
      payload,
      qos: 0,
      retain: false,
      size: payload.length + 20,
    } as const;
    pipeline.accept(message, { settled() {} });
  };
  // The rest of each chunk was a message that left nothing behind. It comes first.
  let sparse = 0;
  for (; !isFull && sparse < 10_000; sparse++) {
    const chunk = Buffer.from(new ArrayBuffer(CHUNK));
    accept(chunk, '[]', 0);
    accept(chunk, '21.5', 1000);
  }
  assert.ok(sparse * CHUNK <= MIB + CHUNK, `${sparse} chunks are in memory`);
  await pipeline.idle();
  assert.equal(isFull, false);
  // Messages that share a chunk count it once.
  let dense = 0;
  let chunk = Buffer.from(new ArrayBuffer(CHUNK));
  for (; !isFull && dense < 10_000; dense++) {
    const at = (dense % 600) * 100;
    if (at === 0) chunk = Buffer.from(new ArrayBuffer(CHUNK));
    accept(chunk, '21.5', at);
  }
  assert.ok(dense > 1000, `${dense} messages`);
  await pipeline.idle();
});
