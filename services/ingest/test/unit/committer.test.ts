import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { openStore, type Store, StoreError, type WriteEffort, type WriteResult } from '@tidegauge/storage';
import fc from 'fast-check';
import { Committer, StoreUnavailable } from '../../src/committer.ts';

const logger = createLogger('test', 'silent');
let directory: string;
let real: Store;
let epoch = 1_795_000_000_000_000;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegauge-commit-'));
  real = await openStore(`sqlite:${join(directory, 's.db')}?synchronous=normal`);
});
after(async () => {
  await real.close();
  await rm(directory, { recursive: true });
});

/** Readings with distinct times. The faulty store below rejects a value of -1. */
function readings(values: readonly number[]): Reading[] {
  epoch += 1_000_000;
  return values.map((value, index) => ({
    device: 'd',
    metric: 'm',
    time: epoch + index,
    value,
    received: epoch,
    boot: null,
    seq: null,
    quality: 'ok',
  }));
}

const FAULTS = {
  'that the store names': (rows: number[]) => new StoreError('REJECTED', 'marked', { rows }),
  'that the store does not name': () => new StoreError('REJECTED', 'marked'),
  'on which the store fails unexpectedly': () => new StoreError('UNEXPECTED', 'marked'),
  'on which our own code throws': () => new TypeError('marked'),
} as const;

/** The real store behind a fault: it fails on batches with marked rows. */
function picky(fault: (rows: number[]) => Error): Store {
  return Object.create(real, {
    health: { value: () => real.health() },
    readings: {
      value: Object.assign(Object.create(real.readings), {
        write: async (batch: readonly Reading[], effort?: WriteEffort) => {
          const rows = [...batch.keys()].filter((index) => batch[index]!.value === -1);
          if (rows.length > 0) throw fault(rows);
          return real.readings.write(batch, effort);
        },
      }),
    },
  });
}

/** The real store with another `write`, and with health as given. */
function failing(write: (batch: readonly Reading[]) => Promise<WriteResult>, health: () => boolean): Store {
  return Object.create(real, {
    readings: { value: Object.assign(Object.create(real.readings), { write }) },
    health: {
      value: async () => {
        if (!health()) throw new StoreError('UNAVAILABLE', 'ill');
      },
    },
  });
}

// Most of their time is retries.
describe('failures', { concurrency: true }, () => {
  for (const [which, fault] of Object.entries(FAULTS)) {
    test(`exactly the bad rows ${which} of a batch are isolated, and all others are stored`, async () => {
      const batches = fc.array(fc.constantFrom(-1, 1, 2, 3), { minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(batches, async (values) => {
          const batch = readings(values);
          const committer = new Committer(picky(fault), logger, new AbortController().signal);
          const { stored, duplicate, rejected } = await committer.commit(batch);
          const bad = [...values.keys()].filter((index) => values[index] === -1);
          assert.deepEqual(
            [...rejected.keys()].toSorted((a, b) => a - b),
            bad,
          );
          assert.equal(stored + duplicate + rejected.size, batch.length);
          let found = 0;
          const query = {
            device: 'd',
            metric: 'm',
            from: batch[0]!.time,
            to: batch[0]!.time + batch.length,
            limit: 1000,
          };
          for await (const _ of real.readings.range(query)) found++;
          assert.equal(found, batch.length - bad.length);
        }),
        { numRuns: 6 },
      );
    });
  }

  test('while the store itself fails unexpectedly, no row is given up', async () => {
    let failures = 8;
    const write = async (batch: readonly Reading[]) => {
      if (failures-- > 0) throw new StoreError('UNEXPECTED', 'what is this');
      return real.readings.write(batch);
    };
    const store = failing(write, () => false);
    const committer = new Committer(store, logger, new AbortController().signal);
    const result = await committer.commit(readings([1, 2]));
    assert.deepEqual([result.stored, result.rejected.size], [2, 0]);
    assert.equal(committer.failure, null);
  });

  test('a store that reports itself healthy but fails on every row is retried after a bounded number of rows', async () => {
    let ill = true;
    const write = async (batch: readonly Reading[]) => {
      if (ill) throw new StoreError('UNEXPECTED', 'what is this');
      return real.readings.write(batch);
    };
    const store = failing(write, () => true);
    const committer = new Committer(store, logger, new AbortController().signal);
    const committed = committer.commit(readings(new Array<number>(1500).fill(1)));
    while (committer.failure === null) await sleep(10);
    assert.equal(committer.failure?.message, 'what is this');
    ill = false;
    const { stored, rejected } = await committed;
    assert.deepEqual([stored, rejected.size], [500, 1000]);
  });

  test('a store that fails unexpectedly for longer than the caller waits counts as unavailable', async () => {
    const write = async () => {
      throw new StoreError('UNEXPECTED', 'what is this');
    };
    const store = failing(write, () => false);
    const committer = new Committer(store, logger, new AbortController().signal);
    await assert.rejects(committer.commit(readings([1, 2]), 50), StoreUnavailable);
  });

  test('an unavailable store is retried, and its failure is shown meanwhile', async () => {
    let failures = 3;
    const seen: (string | null)[] = [];
    const away = Object.create(real, {
      readings: {
        value: {
          write: async (batch: readonly Reading[]) => {
            seen.push(committer.failure?.message ?? null);
            if (failures-- > 0) throw new StoreError('UNAVAILABLE', 'away');
            return real.readings.write(batch);
          },
        },
      },
    }) as Store;
    const committer: Committer = new Committer(away, logger, new AbortController().signal);
    assert.deepEqual(await committer.commit(readings([1, 2])), {
      stored: 2,
      duplicate: 0,
      rejected: new Map(),
      duplicates: [],
    });
    assert.deepEqual(seen, [null, 'away', 'away', 'away']);
    assert.equal(committer.failure, null);
  });
});

test('waiting for a store ends when its signal is aborted', async () => {
  const stop = new AbortController();
  const away = Object.create(real, {
    readings: {
      value: {
        write: async () => {
          throw new StoreError('UNAVAILABLE', 'away');
        },
      },
    },
  }) as Store;
  const committed = new Committer(away, logger, stop.signal).commit(readings([1]));
  stop.abort(new Error('stopped'));
  await assert.rejects(committed, /stopped/);
});

test('a misconfigured store is not retried', async () => {
  const broken = Object.create(real, {
    readings: {
      value: {
        write: async () => {
          throw new StoreError('MISCONFIGURED', 'no such table');
        },
      },
    },
  }) as Store;
  await assert.rejects(
    new Committer(broken, logger, new AbortController().signal).commit(readings([1])),
    /no such table/,
  );
});

test('devices are registered before their first reading, and only once', async () => {
  const calls: (readonly string[])[] = [];
  const register = async (names: readonly string[]) => {
    calls.push(names);
    await real.devices.register(names);
  };
  const committer = new Committer(real, logger, new AbortController().signal, register);
  const [first, second] = readings([1, 2]);
  await committer.commit([{ ...first!, device: 'new/one' }]);
  assert.equal((await real.devices.get('new/one'))?.name, 'new/one');
  await committer.commit([
    { ...second!, device: 'new/two' },
    { ...second!, device: 'new/one' },
    { ...first!, device: 'new/two' },
  ]);
  assert.deepEqual(calls, [['new/one'], ['new/two']]);
});

test('after a row was the cause of an unexpected error, the next one is not retried as a whole for a minute', async (context) => {
  const sizes: number[] = [];
  const write = async (batch: readonly Reading[]) => {
    sizes.push(batch.length);
    if (batch.some(({ value }) => value === -1)) throw new StoreError('UNEXPECTED', 'marked');
    return real.readings.write(batch);
  };
  const committer = new Committer(
    failing(write, () => true),
    logger,
    new AbortController().signal,
  );
  const sizesOf = async () => {
    sizes.length = 0;
    const { rejected } = await committer.commit(readings([1, -1]));
    assert.deepEqual([...rejected.keys()], [1]);
    return [...sizes];
  };
  // The whole four times, then each row.
  assert.deepEqual(await sizesOf(), [2, 2, 2, 2, 1, 1]);
  assert.deepEqual(await sizesOf(), [2, 1, 1]);
  const now = performance.now();
  context.mock.method(performance, 'now', () => now + 60_001);
  assert.deepEqual(await sizesOf(), [2, 2, 2, 2, 1, 1]);
});

test('what a failed write had stored counts as duplicate when its parts are written again', async () => {
  const write = async (batch: readonly Reading[]) => {
    const good = batch.filter(({ value }) => value !== -1);
    const result = good.length === 0 ? { stored: 0, duplicate: 0 } : await real.readings.write(good);
    if (good.length < batch.length) throw new StoreError('REJECTED', 'marked');
    return result;
  };
  const committer = new Committer(
    failing(write, () => true),
    logger,
    new AbortController().signal,
  );
  const { stored, duplicate, rejected } = await committer.commit(readings([1, 2, -1, 3]));
  assert.deepEqual([stored, duplicate, [...rejected.keys()]], [0, 3, [2]]);
});

describe('older readings', () => {
  /** The real store, which cannot read the readings of some times. */
  const unreadable = (code: 'REJECTED' | 'NOT_SUPPORTED' | 'MISCONFIGURED', times: ReadonlySet<number>) =>
    Object.create(real, {
      readings: {
        value: Object.assign(Object.create(real.readings), {
          range(query: { readonly from: number; readonly to: number }) {
            assert.equal(query.to, query.from + 1);
            if (times.has(query.from)) throw new StoreError(code, 'not read');
            return real.readings.range(query as Parameters<Store['readings']['range']>[0]);
          },
        }),
      },
    }) as Store;

  test('do not replace what was received later', async () => {
    const committer = new Committer(real, logger, new AbortController().signal);
    const [later, same, earlier, absent] = readings([1, 2, 3, 4]) as [Reading, Reading, Reading, Reading];
    await real.readings.write([
      { ...later, received: later.received + 1 },
      same,
      { ...earlier, received: earlier.received - 1 },
    ]);
    const result = await committer.commitOlder(
      [later, same, earlier, absent].map((reading) => ({ ...reading, value: 9 })),
    );
    assert.deepEqual(result, {
      stored: 3,
      duplicate: 1,
      rejected: new Map(),
      duplicates: [],
      skipped: new Set([0]),
    });
    const values: unknown[] = [];
    const query = {
      device: 'd',
      metric: 'm',
      from: later.time,
      to: absent.time + 1,
      limit: 10,
      order: 'asc',
    } as const;
    for await (const { value } of real.readings.range(query)) values.push(value);
    assert.deepEqual(values, [1, 9, 9, 9]);
  });

  test('that cannot be compared stay where they are, and the others are stored', async () => {
    const batch = readings([1, 2, -1]);
    const store = unreadable('REJECTED', new Set([batch[0]!.time]));
    const committer = new Committer(store, logger, new AbortController().signal);
    const { stored, rejected, skipped } = await committer.commitOlder(batch);
    assert.deepEqual([stored, [...rejected.keys()], skipped.size], [2, [0], 0]);
  });

  test('are stored where the engine cannot read, and wait for an operator where nothing can be stored', async () => {
    const batch = readings([1, 2]);
    const times = new Set(batch.map(({ time }) => time));
    const commit = (code: 'NOT_SUPPORTED' | 'MISCONFIGURED') =>
      new Committer(unreadable(code, times), logger, new AbortController().signal).commitOlder(batch);
    await assert.rejects(commit('MISCONFIGURED'), /not read/);
    assert.equal((await commit('NOT_SUPPORTED')).stored, 2);
  });
});

test('duplicates are named by their places in the batch, also when its rows are isolated', async () => {
  const [first, bad, ...rest] = readings([1, -1, 2, 3, 4]) as [Reading, Reading, ...Reading[]];
  await real.readings.write([first, rest[1]!]);
  const store = picky(FAULTS['that the store does not name']);
  const committer = new Committer(store, logger, new AbortController().signal);
  assert.deepEqual((await committer.commit([first, ...rest])).duplicates, [0, 2]);
  const { duplicates, rejected } = await committer.commit([bad, first, { ...rest[0]!, value: 7 }, rest[2]!]);
  assert.deepEqual([duplicates, [...rejected.keys()]], [[1, 3], [0]]);
});

test('a call that is not about readings is retried too', async () => {
  const committer = new Committer(real, logger, new AbortController().signal);
  let failures = 2;
  const call = async () => {
    if (failures-- > 0) throw new StoreError('UNAVAILABLE', 'away');
    return 7;
  };
  assert.equal(await committer.call(call), 7);
});

test('a name that cannot be registered does not stop the registration of others', async () => {
  const register = async (names: readonly string[]) => {
    if (names.includes('odd/3')) throw new StoreError('UNEXPECTED', 'marked');
    return real.devices.register(names);
  };
  const devices = { value: Object.assign(Object.create(real.devices), { register }) };
  const store: Store = Object.create(real, { readings: { value: real.readings }, devices });
  const committer = new Committer(store, logger, new AbortController().signal);
  const batch = readings([1, 2, 3, 4, 5]).map((each, index) => ({ ...each, device: `odd/${index}` }));
  const { stored } = await committer.commit(batch);
  assert.equal(stored, 5);
  const found = await Promise.all(batch.map(({ device }) => real.devices.get(device)));
  assert.deepEqual(
    found.map((device) => device !== null),
    [true, true, true, false, true],
  );
});
