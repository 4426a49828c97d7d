import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { collect, reading, rejection, series } from '../../conformance/data.ts';
import type { CompleteBackend } from '../../src/backend.ts';
import {
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreOperation,
  silentLogger,
} from '../../src/index.ts';
import { wrapStore } from '../../src/wrapper.ts';

/** A minimal store. A test replaces the parts that it needs. */
function bareStore(readings: Partial<CompleteBackend['readings']>, close = async () => {}): CompleteBackend {
  const nothing = async () => {};
  const unused = () => assert.fail('not part of this test');
  const capabilities = {
    countsDuplicates: true,
    namesDuplicates: false,
    atomicBatches: true,
    maxBatch: 100,
    writers: 1,
    serverAggregates: true,
    orderedScan: true,
    updateIsUpsert: false,
    insertIsUpsert: false,
    ttl: false,
    consistencyLevels: [],
    maxReplicationFactor: 1,
    groupTables: false,
    rollups: false,
  };
  return {
    name: 'bare',
    capabilities,
    readings: {
      write: unused,
      range: unused,
      latest: unused,
      metrics: async () => [],
      devices: unused,
      setUnits: unused,
      units: unused,
      aggregate: unused,
      groups: unused,
      rangeOfDevices: unused,
      rollUp: unused,
      expire: unused,
      delete: unused,
      ...readings,
    },
    devices: {} as Store['devices'],
    records: {} as CompleteBackend['records'],
    open: nothing,
    migrate: nothing,
    health: nothing,
    lease: unused,
    compact: unused,
    space: unused,
    close,
  };
}

async function opened(
  inner: CompleteBackend,
  seen: [StoreOperation, StoreErrorCode | null][] = [],
): Promise<Store> {
  const observe = (operation: StoreOperation, _seconds: number, code: StoreErrorCode | null) => {
    if (operation !== 'open') seen.push([operation, code]);
  };
  const store = wrapStore(inner, { logger: silentLogger, observe });
  await store.open();
  return store;
}

describe('a wrapped store', () => {
  test('splits a batch at maxBatch, in order, and adds the counts up', async () => {
    const pieces: Reading[][] = [];
    const store = await opened(
      bareStore({
        async write(batch) {
          pieces.push([...batch]);
          return { stored: batch.length - 1, duplicate: 1 };
        },
      }),
    );
    const batch = series('d', 250);
    assert.deepEqual(await store.readings.write(batch), { stored: 247, duplicate: 3 });
    assert.deepEqual(
      pieces.map(({ length }) => length),
      [100, 100, 50],
    );
    assert.deepEqual(pieces.flat(), batch);
  });

  test('names rejected rows by their index in the complete batch', async () => {
    let calls = 0;
    const store = await opened(
      bareStore({
        async write(batch) {
          calls += 1;
          if (calls === 2) throw new StoreError('REJECTED', 'no', { rows: [0, 7] });
          return { stored: batch.length, duplicate: 0 };
        },
      }),
    );
    const error = await rejection(store.readings.write(series('d', 250)), 'REJECTED');
    assert.deepEqual(error.rows, [100, 107]);
    assert.equal(calls, 2);
  });

  test('refuses invalid rows before the backend receives any', async () => {
    const store = await opened(bareStore({}));
    const batch = series('d', 3);
    for (const bad of [{ value: Number.NaN }, { seq: -1 }, { boot: 'x'.repeat(201) }, { received: 0.5 }]) {
      const error = await rejection(store.readings.write([...batch, { ...batch[0]!, ...bad }]), 'REJECTED');
      assert.deepEqual(error.rows, [3]);
    }
  });

  test('maps an unknown error of a backend to UNEXPECTED', async () => {
    const mistake = new TypeError('x is not a function');
    const seen: [StoreOperation, StoreErrorCode | null][] = [];
    const store = await opened(bareStore({ write: () => Promise.reject(mistake) }), seen);
    const error = await rejection(store.readings.write(series('d', 1)), 'UNEXPECTED');
    assert.equal(error.cause, mistake);
    assert.deepEqual(seen, [['readings.write', 'UNEXPECTED']]);
  });

  test('waits for a running call before it closes', async () => {
    const steps: string[] = [];
    const answer = Promise.withResolvers<Reading[]>();
    const latest = async () => {
      const found = await answer.promise;
      steps.push('answered');
      return found;
    };
    const close = async () => {
      steps.push('closed');
    };
    const store = await opened(bareStore({ latest }, close));
    const call = store.readings.latest(['d']);
    const closing = store.close();
    await rejection(store.health(), 'CLOSED');
    assert.deepEqual(steps, []);
    answer.resolve([]);
    await Promise.all([call, closing]);
    assert.deepEqual(steps, ['answered', 'closed']);
  });

  test('does not wait for a consumer that holds a range open', async () => {
    async function* range() {
      for (;;) yield reading({ device: 'd' });
    }
    const store = await opened(bareStore({ range }));
    const iterator = store.readings.range({ device: 'd', limit: 5 })[Symbol.asyncIterator]();
    await iterator.next();
    await store.close();
    await rejection(iterator.next(), 'CLOSED');
  });

  test('reports a range once, when it ends, is ended early or fails', async () => {
    const seen: [StoreOperation, StoreErrorCode | null][] = [];
    let released = 0;
    async function* range() {
      try {
        yield reading({ device: 'd' });
        yield reading({ device: 'd' });
        throw new StoreError('TIMEOUT', 'slow');
      } finally {
        released += 1;
      }
    }
    const store = await opened(bareStore({ range }), seen);
    for await (const _ of store.readings.range({ device: 'd', limit: 5 })) break;
    await rejection(collect(store.readings.range({ device: 'd', limit: 5 })), 'TIMEOUT');
    assert.deepEqual(seen, [
      ['readings.range', null],
      ['readings.range', 'TIMEOUT'],
    ]);
    assert.equal(released, 2);
  });

  test('opens once, and stays closed when that fails', async () => {
    const inner = bareStore({});
    const failing = { ...inner, open: () => Promise.reject(new StoreError('UNAVAILABLE', 'nobody there')) };
    const store = wrapStore(failing, { logger: silentLogger, observe: () => {} });
    await rejection(store.open(), 'UNAVAILABLE');
    await rejection(store.health(), 'CLOSED');
    await rejection(store.open(), 'CLOSED');
    await store.close();
  });
});
