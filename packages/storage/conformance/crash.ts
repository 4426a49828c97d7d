import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitText, startProcess } from '@tidegauge/process';
import type { Store, YcsbRecord } from '../src/index.ts';
import { CRASH_BATCH, crashBatch, firmly, freshDevice, stored, writeFirmly } from './data.ts';
import { openStore } from './open.ts';
import { type StoreTarget, useStore } from './target.ts';

const WRITER = fileURLToPath(new URL('crash-writer.ts', import.meta.url));
const SERVER_BATCHES = 100;
/** The batch before which the server is killed. */
const KILLED_AT = 40;
const TABLE = 'killed';
const RECORDS = 20;

export function crash(target: StoreTarget): void {
  describe('crash', () => {
    const subject = useStore(target);

    test('keeps every acknowledged batch complete when the writing process is killed', {
      timeout: 120_000,
    }, async () => {
      const device = freshDevice('killed');
      let next = 0;
      for (const acknowledgements of [1, 40, 25]) {
        const last = await writeUntilKilled(subject.place.url, device, next, acknowledgements);
        const store = await openStore(subject.place.url);
        await assertWhole(store, device, last + 1);
        await store.close();
        next = last + 1;
      }
    });

    const { restart } = target;
    if (restart === undefined) return;

    test('loses and repeats nothing when the server is killed during readings and records', {
      timeout: 300_000,
    }, async () => {
      const { records } = subject.store;
      await records.createTable(TABLE, 2);
      await target.prepareRestart?.();
      const device = freshDevice('restarted');
      let restarting: Promise<void> | null = null;
      for (let number = 0; number < SERVER_BATCHES; number += 1) {
        if (number === KILLED_AT) restarting = restart(subject.place);
        await Promise.all([
          writeFirmly(subject.store, crashBatch(device, number)),
          firmly(() => records.insertMany(TABLE, recordBatch(number))),
        ]);
      }
      await restarting;
      await assertWhole(subject.store, device, SERVER_BATCHES);
      assert.equal((await stored(subject.store, device)).length, SERVER_BATCHES * CRASH_BATCH);
      for (let number = 0; number < SERVER_BATCHES; number += 1) {
        const batch = recordBatch(number).map(async ({ key, fields }) =>
          assert.deepEqual({ ...(await firmly(() => records.read(TABLE, key, null))) }, fields, key),
        );
        await Promise.all(batch);
      }
    });
  });
}

/** The records that are loaded with batch `number` of readings. */
function recordBatch(number: number): YcsbRecord[] {
  return Array.from({ length: RECORDS }, (_, index) => ({
    key: `user-${number}-${index}`,
    fields: { field0: `value of ${number} ☃`, field1: `${index}` },
  }));
}

/**
 * Runs the writer until it has printed this many acknowledgements, then kills it. Resolves to the last printed
 * batch.
 */
async function writeUntilKilled(url: string, device: string, first: number, count: number): Promise<number> {
  let output = '';
  const printed = (): string[] => output.split('\n').slice(0, -1);
  const writer = startProcess({
    command: process.execPath,
    args: [WRITER, url, device, String(first)],
    stderr: 'inherit',
    onOutput: (text) => {
      output += text;
      if (printed().length >= count) void writer.kill();
    },
  });
  const exit = await writer.exited;
  assert.equal(exit.signal, 'SIGKILL', `the writer ended by itself: ${exitText(exit)}`);
  return Number(printed().at(-1) ?? -1);
}

/** Checks that batches 0 to `acknowledged` - 1 are complete, and that there is at most one more. */
async function assertWhole(store: Store, device: string, acknowledged: number): Promise<void> {
  const all = await stored(store, device);
  const expected = Array.from({ length: acknowledged }, (_, number) => crashBatch(device, number)).flat();
  assert.deepEqual(all.slice(0, expected.length), expected);
  const rest = all.length - expected.length;
  // The running batch can be stored. If batches are atomic, it is stored completely or not at all.
  assert.ok(rest <= CRASH_BATCH, `${rest} readings nobody wrote`);
  if (store.capabilities.atomicBatches) assert.ok(rest === 0 || rest === CRASH_BATCH, `${rest} of a batch`);
}
