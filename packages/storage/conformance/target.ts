import { after, before } from 'node:test';
import { openStore, type Store } from '../src/index.ts';
import type { Outsider } from './outsider.ts';

/** A kind of store to prove. */
export interface StoreTarget {
  /** The engine's word, as STORES names it. */
  readonly name: string;
  /** Makes an empty place of its own: a file, a database, a keyspace. Called once per subject. */
  create(): Promise<StorePlace>;
  /** Lets another program into a place, by the engine's own means. */
  outsider(place: StorePlace): Promise<Outsider>;
  /**
   * Kills the server of a place as a power cut would and starts it again, data kept; resolves when it starts,
   * ready or not. Left out by embedded engines, where only the process that writes can be killed.
   */
  readonly restart?: (place: StorePlace) => Promise<void>;
}

export interface StorePlace {
  readonly url: string;
  readonly cleanup: () => Promise<void>;
}

/** The place and open store of one subject; both exist from `before` to `after`. */
export interface Subject {
  readonly store: Store;
  readonly place: StorePlace;
  /** Another store on the same place, as a second process has it; closed at the end. */
  open(): Promise<Store>;
  /** Closes the store and opens a new one on the same place. */
  reopen(): Promise<Store>;
}

/** Registers hooks that give the enclosing `describe` a place of its own. */
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
