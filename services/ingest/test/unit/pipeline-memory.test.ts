import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { bytesInMemory } from '../../src/delivery.ts';
import { defaultRoutes, parseRoutes } from '../../src/routes-file.ts';
import { testPipeline } from '../test-pipeline.ts';

const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;

test('the memory of a message counts the names and texts of its readings, and the units', () => {
  const reading = (device: string, value: number | string) =>
    ({ device, metric: 'm', time: 0, value, received: 0, boot: null, seq: null, quality: 'ok' }) as const;
  const base = bytesInMemory(100, 'topic', []);
  assert.ok(base >= 100);
  const long = Array.from({ length: 1000 }, () => reading('d'.repeat(200), 'x'.repeat(4096)));
  assert.ok(bytesInMemory(100, 'topic', long) - base >= 1000 * (200 + 2 * (200 + 4096)));
  assert.ok(bytesInMemory(100, 'topic', [reading('d', 1)]) - base < 300, 'a short reading costs little');
  assert.ok(bytesInMemory(100, 'topic', [], 10) > base);
});

test('names that a birth adds to a message count as bytes in flight', async (context) => {
  const directory = temporaryDirectory('pipeline-names');
  const store = await openStore(`sqlite:${join(directory.path, 's.db')}`);
  let isFull = false;
  const routes = parseRoutes('- { topic: "spBv1.0/#", format: sparkplug-b }', 'r.yml', 'stored').routes;
  const { pipeline, quarantine, spool } = testPipeline(store, directory.path, 100, routes, {
    maxInFlightBytes: MIB / 2,
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
  // One metric of 1,000 characters with an alias, and a message of 500 aliases: Sparkplug 3.0.0, section 6.4.1.
  const name = Buffer.from('n'.repeat(1000));
  const alias = Buffer.from([0x10, 1, 0x50, 1]);
  const metric = Buffer.concat([Buffer.from([0x0a, 0xe8, 0x07]), name, Buffer.from([0x20, 7]), alias]);
  const birth = Buffer.concat([Buffer.from([0x12, 0xf1, 0x07]), metric, Buffer.from([0x18, 0])]);
  const data = Buffer.concat([
    ...Array.from({ length: 500 }, () => Buffer.from([0x12, 4, ...alias])),
    Buffer.from([0x18, 1]),
  ]);
  const accept = (kind: string, payload: Buffer) => {
    const message = {
      topic: `spBv1.0/g/${kind}/n`,
      payload,
      qos: 0,
      retain: false,
      size: payload.length,
    } as const;
    pipeline.accept(message, { settled() {} });
  };
  accept('NBIRTH', birth);
  assert.equal(isFull, false);
  accept('NDATA', data);
  assert.equal(isFull, true, 'the message that is kept has 500 names');
  await pipeline.idle();
  assert.equal(quarantine.list(10, null, null).items.length, 0);
});

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
