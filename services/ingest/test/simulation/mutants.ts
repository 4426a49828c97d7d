import type { Reading } from '@tidegauge/readings';
import { type Store, StoreError, type WriteResult } from '@tidegauge/storage';
import type { Disk } from './disk.ts';
import type { Mistake } from './ingest-process.ts';

/** A planted mistake, which the simulation must find. */
export interface Mutant {
  readonly name: string;
  /** Where tests begin to search; default 1. The first seeds of a mistake that is found rarely take many seconds. */
  readonly firstSeed?: number;
  readonly disk?: (disk: Disk) => void;
  readonly store?: (store: Store) => Store;
  readonly process?: Mistake;
}

type Write = (batch: readonly Reading[]) => Promise<WriteResult>;

/** A store with another `write`. */
function writing(store: Store, change: (write: Write) => Write): Store {
  const write = change((batch) => store.readings.write(batch));
  return { ...store, readings: { ...store.readings, write } };
}

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
    process: {
      parts({ spool }) {
        if (spool === null) return;
        const read = spool.read.bind(spool);
        spool.read = async (segment) => [...(await read(segment))].reverse();
      },
    },
  },
  {
    name: 'leave out the last message of a segment',
    process: {
      parts({ spool }) {
        if (spool === null) return;
        const read = spool.read.bind(spool);
        spool.read = async (segment) => [...(await read(segment))].slice(0, -1);
      },
    },
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
    store: (store) =>
      writing(store, (write) => async (batch) => {
        try {
          return await write(batch);
        } catch (error) {
          if (!(error instanceof StoreError) || error.code !== 'TIMEOUT') throw error;
          return { stored: batch.length, duplicate: 0 };
        }
      }),
  },
  {
    name: 'store a batch in the reverse order',
    store: (store) => writing(store, (write) => (batch) => write(batch.toReversed())),
  },
  {
    name: 'leave rejected rows out of the quarantine',
    process: {
      parts({ quarantine }) {
        const add = quarantine.add.bind(quarantine);
        quarantine.add = (batch) => add(batch.filter(({ reason }) => reason !== 'rejected'));
      },
    },
  },
  {
    name: 'acknowledge before the numbers are in the file of the ledger',
    process: { options: (options) => ({ ...options, onSequences: () => {} }) },
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
