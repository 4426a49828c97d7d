import assert from 'node:assert/strict';
import type { Reading } from '@tidegauge/readings';
import { isRetryable, type RangeQuery, type Store, StoreError, type StoreErrorCode } from '../src/index.ts';

/** 2026-11-21T00:00:00Z in microseconds. */
export const T0 = 1_795_219_200_000_000;

/** The first time of the readings that the process of `rollup-worker.ts` writes. No test expires them. */
export const WORKER_TIME = T0 + 20 * 86_400_000_000;

/** A reading of temperature 20 at T0, received 1.5 ms later, with the given fields replaced. */
export function reading(fields: Partial<Reading> & Pick<Reading, 'device'>): Reading {
  const time = fields.time ?? T0;
  const filled = { metric: 'temperature', time, value: 20, received: time + 1500 };
  return { ...filled, boot: null, seq: null, quality: 'ok', ...fields };
}

/** `count` readings of one series a second apart, value = index. */
export function series(device: string, count: number, metric = 'temperature'): Reading[] {
  return Array.from({ length: count }, (_, index) =>
    reading({ device, metric, time: T0 + index * 1_000_000, value: index }),
  );
}

let last = 0;

/** A device name that no other test has used. */
export function freshDevice(prefix = 'device'): string {
  last += 1;
  return `conformance/${prefix}-${last}`;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** All readings of a device, oldest first unless the query has another order. */
export function stored(store: Store, device: string, query: Partial<RangeQuery> = {}): Promise<Reading[]> {
  return collect(store.readings.range({ device, order: 'asc', limit: 1_000_000, ...query }));
}

/** Writes like a caller that follows the error codes: it retries retryable errors. Resolves to `stored`. */
export async function writeFirmly(store: Store, batch: readonly Reading[]): Promise<number> {
  return (await firmly(() => store.readings.write(batch))).stored;
}

/** Repeats a call for up to a minute while its error is retryable. */
export async function firmly<T>(call: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isRetryable(error) || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Passes if the call rejects with a StoreError of that code. Resolves to the error. */
export async function rejection(call: Promise<unknown>, code: StoreErrorCode): Promise<StoreError> {
  const error = await call.then(
    () => assert.fail(`expected ${code}, but the call resolved`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StoreError, `expected ${code}, got ${error}`);
  assert.equal(error.code, code, error.message);
  return error;
}

export const CRASH_BATCH = 200;

/** Batch `number` of the crash test: many readings of one metric, and one reading each of twenty others. */
export function crashBatch(device: string, number: number): Reading[] {
  const time = T0 + number * 1_000_000;
  return Array.from({ length: CRASH_BATCH }, (_, index) =>
    reading({
      device,
      metric: `m${Math.max(index - CRASH_BATCH + 21, 0)}`,
      time: time + index,
      value: number,
    }),
  );
}
