import { after, before } from 'node:test';
import type { Store } from '../src/index.ts';
import { openStore } from './open.ts';
import type { Outsider } from './outsider.ts';

/** A store for the suite. */
export interface StoreTarget {
  /** The name of the engine in STORES. */
  readonly name: string;
  /** Creates an empty file, database or keyspace. */
  create(): Promise<StorePlace>;
  /** Connects to the database as another program. */
  outsider(place: StorePlace): Promise<Outsider>;
  /**
   * Kills the server like a power failure, and starts it again with its data. Resolves when it starts, before it
   * is ready. Embedded engines leave it out.
   */
  readonly restart?: (place: StorePlace) => Promise<void>;
  /** Called before the writes during which `restart` is called. */
  readonly prepareRestart?: () => Promise<void>;
  /** Readings of the largest call. Default: 100,000. */
  readonly largestCall?: number;
}

export interface StorePlace {
  readonly url: string;
  readonly cleanup: () => Promise<void>;
}

/**
 * How often a property is tested. Continuous integration gives servers two of five runs. Every run has another seed, and
 * embedded stores get all runs.
 */
export function runsOn({ restart }: StoreTarget, runs: number): number {
  return restart !== undefined && process.env.CI === 'true' ? Math.ceil(runs * 0.4) : runs;
}

/** The same target with one place for all its subjects. It is cleaned up after the enclosing `describe`. */
export function withOnePlace(target: StoreTarget): StoreTarget {
  let place: Promise<StorePlace> | null = null;
  after(async () => (await place)?.cleanup());
  return {
    ...target,
    async create() {
      place ??= target.create();
      return { url: (await place).url, cleanup: async () => {} };
    },
  };
}

/** The database and the open store of one subject. The store exists from `before` to `after`. */
export interface Subject {
  readonly store: Store;
  readonly place: StorePlace;
  /** Another store on the same database, like that of a second process. It is closed at the end. */
  open(): Promise<Store>;
  /** Closes the store and opens a new one on the same database. */
  reopen(): Promise<Store>;
}

/** Registers hooks that create a database for the enclosing `describe`. */
export function useStore(target: StoreTarget): Subject {
  let place: StorePlace | undefined;
  let store: Store | undefined;
  const others: Store[] = [];
  before(async () => {
    place = await target.create();
    store = await openStore(place.url);
  });
  after(async () => {
    for (const other of others) await other.close();
    await store?.close();
    await place?.cleanup();
  });
  return {
    get store() {
      return store!;
    },
    get place() {
      return place!;
    },
    async open() {
      const other = await openStore(place!.url);
      others.push(other);
      return other;
    },
    async reopen() {
      await store!.close();
      store = await openStore(place!.url);
      return store;
    },
  };
}
