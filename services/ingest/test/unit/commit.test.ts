import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { openStore, type Store, StoreError } from '@tidegauge/storage';
import fc from 'fast-check';
import { Committer } from '../../src/commit.ts';

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

/** Readings of a time of their own; a value of -1 marks one that the faulty store below refuses. */
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

/** The real store behind a fault: it refuses batches with marked rows, naming them or not. */
function picky(names: boolean): Store {
  return Object.create(real, {
    readings: {
      value: Object.assign(Object.create(real.readings), {
        write: async (batch: readonly Reading[]) => {
          const rows = [...batch.keys()].filter((index) => batch[index]!.value === -1);
          if (rows.length > 0) throw new StoreError('REJECTED', 'marked', names ? { rows } : {});
          return real.readings.write(batch);
        },
      }),
    },
  });
}

test('of a refused batch exactly the bad rows are isolated and all others stored, whether the store names them or not', async () => {
  const batches = fc.array(fc.constantFrom(-1, 1, 2, 3), { minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(batches, fc.boolean(), async (values, names) => {
      const batch = readings(values);
      const committer = new Committer(picky(names), logger, new AbortController().signal);
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
    { numRuns: 40 },
  );
});

test('a store that is away is waited for, and the failure is shown meanwhile', async () => {
  let failures = 3;
  const seen: (string | null)[] = [];
  const away = Object.create(real, {
    readings: {
      value: {
        write: async (batch: readonly Reading[]) => {
          seen.push(committer.failing);
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
  });
  assert.deepEqual(seen, [null, 'away', 'away', 'away']);
  assert.equal(committer.failing, null);
});

test('waiting for a store ends when asked to stop', async () => {
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

test('a misconfigured store is not waited for', async () => {
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
  const committer = new Committer(real, logger, new AbortController().signal);
  const [reading] = readings([1]);
  await committer.commit([{ ...reading!, device: 'new/one' }]);
  assert.equal((await real.devices.get('new/one'))?.name, 'new/one');
});
