import type { Reading } from '@tidegauge/readings';
import { type Backend, type Store, StoreError, type WriteResult } from '@tidegauge/storage';
import type { Origin } from '../../src/delivery.ts';
import type { Inbound, Pipeline, PipelineOptions } from '../../src/pipeline.ts';
import type { QuarantineEntry } from '../../src/quarantine-rows.ts';
import { takeRelayed } from '../../src/relay/take-relayed.ts';
import { type Route, Router } from '../../src/routes.ts';
import { SensorClocks, timedAtReceipt } from '../../src/sensor-clocks.ts';
import type { SpoolEntry } from '../../src/spool-entry.ts';
import { changedStore } from './changed-store.ts';
import type { Disk } from './disk.ts';
import type { Mistake } from './ingest-process.ts';
import type { RelayNetwork } from './relay-network.ts';

/** A planted mistake, which the simulation must find. */
export interface Mutant {
  readonly name: string;
  /** Where tests begin to search; default 1. The first seeds of a mistake that is found rarely take many seconds. */
  readonly firstSeed?: number;
  readonly disk?: (disk: Disk) => void;
  readonly engine?: (engine: Backend) => Backend;
  readonly store?: (store: Store) => Store;
  readonly fetch?: (fetch: Send) => Send;
  readonly process?: Mistake;
}

type Send = RelayNetwork['fetch'];
type Write = (batch: readonly Reading[]) => Promise<WriteResult>;

/** A store with other functions for readings. */
function withReadings(store: Store, functions: Partial<Store['readings']>): Store {
  return changedStore(store, { readings: { ...store.readings, ...functions } });
}

/** Gives a store another size, bytes. */
function withSize(used: number): (store: Store) => Store {
  return (store) => changedStore(store, { space: async () => ({ ...(await store.space())!, used }) });
}

/** A store with another `write`. */
function writing(store: Store, change: (write: Write) => Write): Store {
  return withReadings(store, { write: change((batch) => store.readings.write(batch)) });
}

/** An engine that drops writes of rollups, or of marks of changed hours, by their kind. */
function forgetting(kind: string): (engine: Backend) => Backend {
  const isForgotten = ({ device, metric }: Reading) =>
    device.startsWith('rollups ') && metric.startsWith(`${kind} `);
  return (engine) => {
    const write: Write = (batch) =>
      batch.some(isForgotten)
        ? Promise.resolve({ stored: batch.length, duplicate: 0 })
        : engine.readings.write(batch);
    return { ...engine, readings: { ...engine.readings, write } };
  };
}

/** A store with another answer to a write that fails with `code`. */
function failing(
  store: Store,
  code: StoreError['code'],
  answer: (error: StoreError, batch: readonly Reading[]) => WriteResult,
): Store {
  return writing(store, (write) => async (batch) => {
    try {
      return await write(batch);
    } catch (error) {
      if (error instanceof StoreError && error.code === code) return answer(error, batch);
      throw error;
    }
  });
}

/** The outcome of a batch that is taken as stored. */
function asStored(_: StoreError, { length }: readonly Reading[]): WriteResult {
  return { stored: length, duplicate: 0 };
}

/** A spool that reads other entries from its segments. */
function reading(change: (entries: readonly SpoolEntry[]) => readonly SpoolEntry[]): Mistake {
  return {
    parts({ spool }) {
      if (spool === null) return;
      const read = spool.read.bind(spool);
      spool.read = async (segment) => change([...(await read(segment))]);
    },
  };
}

/** A quarantine that takes other entries. */
function keeping(change: (entries: readonly QuarantineEntry[]) => readonly QuarantineEntry[]): Mistake {
  return {
    parts({ quarantine }) {
      const add = quarantine.add.bind(quarantine);
      quarantine.add = (batch) => add(change(batch));
    },
  };
}

type Append = NonNullable<PipelineOptions['onCommitted']>;

/** A relay that takes committed readings otherwise. */
function relaying(change: (append: Append) => Append): Mistake {
  return {
    options: (options) =>
      options.onCommitted === undefined ? options : { ...options, onCommitted: change(options.onCommitted) },
  };
}

function withWideDeadband(route: Route): Route {
  const { filter } = route;
  return filter === null ? route : { ...route, filter: { ...filter, deadband: 5 * filter.deadband } };
}

/** The clocks of sensors without what an earlier process kept. */
function timing(timed: SensorClocks['timed']): Mistake {
  const clocks = Object.assign(new SensorClocks(), { timed });
  return { options: (options) => ({ ...options, clocks }) };
}

/** A request of the relay without its readings. */
function withoutLines(body: Buffer): Buffer {
  return body.subarray(0, body.indexOf('\n') + 1);
}

/** The message that a process received last, or that it holds. */
const newest = new WeakMap<Pipeline, { readonly message: Inbound; readonly origin: Origin }>();
/** When a mistake does late what ingest does at once, milliseconds. */
const LATE_MS = 50;
/** When it deletes readings too early, microseconds. */
const EARLY_US = 5_000_000;

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'acknowledge before the commit',
    process: {
      accept(pipeline, message, origin) {
        pipeline.accept(message, { settled() {} });
        origin.settled(null as never, null);
      },
    },
  },
  {
    name: 'acknowledge and drop a message when the pipeline is full',
    process: {
      options: (options) => ({ ...options, onFull: () => {} }),
      accept(pipeline, message, origin) {
        if (pipeline.full) origin.settled(null as never, null);
        else pipeline.accept(message, origin);
      },
    },
  },
  {
    name: 'take messages beyond the bound on readings in flight',
    process: { options: (options) => ({ ...options, onFull: () => {} }) },
  },
  {
    name: 'acknowledge the newest message together with each other one',
    firstSeed: 70,
    process: {
      accept(pipeline, message, origin) {
        newest.set(pipeline, { message, origin });
        pipeline.accept(message, {
          settled(delivery, outcome) {
            origin.settled(delivery, outcome);
            newest.get(pipeline)!.origin.settled(delivery, outcome);
          },
        });
      },
    },
  },
  {
    name: 'take a message after the next one',
    process: {
      accept(pipeline, message, origin) {
        const held = newest.get(pipeline);
        newest.delete(pipeline);
        if (held === undefined) {
          newest.set(pipeline, { message, origin });
          // Without a next one it is taken late.
          setTimeout(() => {
            if (newest.get(pipeline)?.message !== message) return;
            newest.delete(pipeline);
            pipeline.accept(message, origin);
          }, LATE_MS);
          return;
        }
        pipeline.accept(message, origin);
        pipeline.accept(held.message, held.origin);
      },
    },
  },
  {
    name: 'acknowledge before the spool has the message',
    process: {
      parts({ spool }) {
        if (spool === null) return;
        const append = spool.append.bind(spool);
        spool.append = (entries) => {
          void append(entries);
          return Promise.resolve(true);
        };
      },
    },
  },
  {
    name: 'acknowledge from the spool without a sync',
    firstSeed: 580,
    disk: (disk) => {
      disk.syncs = (_, name) => !name.endsWith('.spool');
    },
  },
  {
    name: 'create and remove segments without a sync of their folder',
    disk: (disk) => {
      disk.syncs = (kind) => kind !== 'folder';
    },
  },
  {
    name: 'replay a segment in the reverse order',
    process: reading((entries) => entries.toReversed()),
  },
  {
    name: 'leave out the last message of a segment',
    process: reading((entries) => entries.slice(0, -1)),
  },
  {
    name: 'leave out the first message of a segment',
    process: reading((entries) => entries.slice(1)),
  },
  {
    name: 'delete a segment before its messages are stored',
    process: {
      parts({ spool }) {
        if (spool === null) return;
        const read = spool.read.bind(spool);
        const remove = spool.remove.bind(spool);
        spool.read = async (segment) => {
          const entries = [...(await read(segment))];
          await remove(segment);
          return entries;
        };
        spool.remove = async () => {};
      },
    },
  },
  {
    name: 'take an unknown outcome of a write as stored',
    store: (store) => failing(store, 'TIMEOUT', asStored),
  },
  {
    name: 'take a rejected batch as stored',
    store: (store) => failing(store, 'REJECTED', asStored),
  },
  {
    name: 'reject the row after the one that the store names',
    store: (store) =>
      failing(store, 'REJECTED', (error, { length }) => {
        if (error.rows === null || length === 1) throw error;
        const rows = error.rows.map((row) => (row + 1) % length);
        throw new StoreError('REJECTED', error.message, { rows });
      }),
  },
  {
    name: 'reject rows while the store is unavailable',
    store: (store) =>
      failing(store, 'UNAVAILABLE', ({ message }) => {
        throw new StoreError('REJECTED', message);
      }),
  },
  {
    name: 'store a batch in the reverse order',
    store: (store) => writing(store, (write) => (batch) => write(batch.toReversed())),
  },
  {
    name: 'write the halves of a batch at the same time',
    store: (store) =>
      writing(store, (write) => async (batch) => {
        const middle = batch.length >> 1;
        if (middle === 0) return write(batch);
        const [first, second] = await Promise.all([
          write(batch.slice(0, middle)),
          write(batch.slice(middle)),
        ]);
        return { stored: first.stored + second.stored, duplicate: first.duplicate + second.duplicate };
      }),
  },
  {
    name: 'repeat a write after later ones',
    store: (store) =>
      writing(store, (write) => async (batch) => {
        const result = await write(batch);
        setTimeout(() => void write(batch).catch(() => {}), LATE_MS);
        return result;
      }),
  },
  {
    name: 'leave rejected rows out of the quarantine',
    process: keeping((entries) => entries.filter(({ reason }) => reason !== 'rejected')),
  },
  {
    name: 'leave undecodable messages out of the quarantine',
    process: keeping((entries) =>
      entries.filter(({ reason }) => reason === 'rejected' || reason === 'unexpected'),
    ),
  },
  {
    name: 'lose the last entry of a write to the quarantine',
    process: keeping((entries) => (entries.length === 1 ? entries : entries.slice(0, -1))),
  },
  {
    name: 'acknowledge before the quarantine has the message',
    process: {
      parts({ quarantine }) {
        const add = quarantine.add.bind(quarantine);
        quarantine.add = (batch) => {
          setTimeout(() => add(batch), LATE_MS);
          return 0;
        };
      },
    },
  },
  {
    name: 'acknowledge before the numbers are in the file of the ledger',
    process: { options: (options) => ({ ...options, onSequences: () => {} }) },
  },
  {
    name: 'keep the times of late readings out of the file of the ledger',
    firstSeed: 50,
    process: {
      options: ({ onSequences, ...options }) => ({
        ...options,
        onSequences: (oldest) => onSequences?.(oldest),
      }),
    },
  },
  {
    name: 'leave numbers out of the ledger',
    process: {
      pipeline({ sequences }) {
        const record = sequences.record.bind(sequences);
        sequences.record = (device, boot, seq) => {
          if (seq % 7 !== 6) record(device, boot, seq);
        };
      },
    },
  },
  {
    name: 'lose all requests for missing readings',
    process: { request: () => true },
  },
  {
    name: 'acknowledge before the log of the relay has the readings',
    process: relaying((append) => async (readings, units) => void append(readings, units)),
  },
  {
    name: 'relay a batch in the reverse order',
    process: relaying((append) => (readings, units) => append(readings.toReversed(), units)),
  },
  {
    name: 'take a request without an answer as received by the centre',
    firstSeed: 680,
    fetch: (fetch) => (url, init) =>
      fetch(url, init).catch(() => fetch(url, { ...init, body: withoutLines(init.body as Buffer) })),
  },
  {
    name: 'answer a board before its readings are stored',
    firstSeed: 65,
    process: {
      async takeRelayed(centre, request, sender) {
        takeRelayed(centre, request, sender).catch(() => {});
        return await takeRelayed(centre, { ...request, payload: Buffer.alloc(0) }, sender);
      },
    },
  },
  {
    name: 'find all days of a board equal',
    process: {
      async takeRelayed(...given) {
        const { compared, ...answer } = await takeRelayed(...given);
        return { ...answer, compared: compared === null ? null : { ...compared, isEqual: true } };
      },
    },
  },
  {
    name: 'leave out readings beyond the deadband',
    process: {
      options: (options) => ({ ...options, router: new Router(options.router.routes.map(withWideDeadband)) }),
    },
  },
  {
    name: 'keep the times of clocks that were never set',
    process: timing((readings) => readings),
  },
  {
    name: 'give each reading of a clock that was never set the time of its receipt',
    firstSeed: 155,
    process: timing(timedAtReceipt),
  },
  {
    name: 'forget the clocks of sensors when a process ends',
    firstSeed: 215,
    process: { options: (options) => ({ ...options, clocks: new SensorClocks() }) },
  },
  {
    name: 'leave the last reading of each batch out of the rules of alerts',
    process: {
      options: ({ onStored, ...options }) => ({
        ...options,
        onStored: (readings) => onStored?.(readings.slice(0, -1)),
      }),
    },
  },
  {
    name: 'look at no readings of the store for alerts',
    store: (store) => withReadings(store, { latest: async () => [] }),
  },
  {
    name: 'look at the readings that another process stored once an hour',
    firstSeed: 250,
    process: {
      alerts: (options) => ({ ...options, lease: Object.assign(options.lease, { isShared: false }) }),
    },
  },
  {
    name: 'take all time as an interruption, in which no silence counts',
    process: { alerts: (options) => ({ ...options, isReceiving: () => false }) },
  },
  {
    name: 'take a lease that another process has',
    store: (store) => changedStore(store, { lease: async () => true }),
  },
  {
    name: 'do not mark changed hours',
    engine: forgetting('mark'),
  },
  {
    name: 'do not store rollups of hours',
    engine: forgetting('hour'),
  },
  {
    name: 'delete readings before they are too old',
    store: (store) =>
      withReadings(store, {
        expire: (before, pace) => store.readings.expire(before + EARLY_US, pace),
      }),
  },
  {
    name: 'delete no readings',
    store: (store) => withReadings(store, { expire: async () => 0 }),
  },
  {
    name: 'delete readings although there is room',
    store: withSize(Number.POSITIVE_INFINITY),
  },
  {
    name: 'do not notice that the data is too large',
    store: withSize(0),
  },
  {
    name: 'delete readings before they are in rollups',
    firstSeed: 800,
    store: (store) =>
      changedStore(store, {
        rollups: {
          ...store.rollups,
          status: async () => ({ ...(await store.rollups.status()), oldestHour: null }),
        },
      }),
  },
  {
    name: 'count a duplicate as in flight',
    process: {
      pipeline({ accounts }) {
        const store = accounts.store.bind(accounts);
        accounts.store = (stored, duplicate) => {
          store(stored, duplicate);
          accounts.inFlight += duplicate;
        };
      },
    },
  },
];
