import assert from 'node:assert/strict';
import type { Reading } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';

const DEVICES = Array.from({ length: 20 }, (_, number) => `power-cuts/history-${number}`);
const METRIC = 'number';
const START = Date.UTC(2025, 0, 1) * 1000;
const SECOND_US = 1_000_000;
const BATCH = 5000;

/** Stores so many readings of each of 20 devices, one per second: reading n has the value n. */
export async function fillHistory(url: string, readings: number): Promise<void> {
  const store = await openStore(url);
  try {
    for (const device of DEVICES) {
      for (let first = 0; first < readings; first += BATCH) {
        const count = Math.min(BATCH, readings - first);
        await store.readings.write(Array.from({ length: count }, (_, n) => readingOf(device, first + n)));
      }
    }
  } finally {
    await store.close();
  }
}

/** @throws {AssertionError} when a reading is missing or has another value */
export async function checkHistory(url: string, readings: number): Promise<void> {
  const store = await openStore(url);
  try {
    for (const device of DEVICES) {
      let next = 0;
      const query = { device, metric: METRIC, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
      for await (const { time, value } of store.readings.range(query)) {
        if (time !== timeOf(next) || value !== next)
          assert.fail(`${device}: in place of reading ${next}, there is ${value} at ${time}`);
        next += 1;
      }
      assert.equal(next, readings, `${device} has ${next} of ${readings} readings`);
    }
  } finally {
    await store.close();
  }
}

function readingOf(device: string, number: number): Reading {
  const time = timeOf(number);
  return {
    device,
    metric: METRIC,
    time,
    value: number,
    received: time,
    quality: 'ok',
    boot: null,
    seq: null,
  };
}

function timeOf(number: number): number {
  return START + number * SECOND_US;
}
