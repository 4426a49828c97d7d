import type { Store } from '@tidegauge/storage';
import { changedStore } from './changed-store.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

interface Held {
  readonly holder: string;
  readonly owner: Owner;
  /** Milliseconds of the monotonic clock. */
  readonly until: number;
}

/** The leases that processes have. At most one process has one at a time. */
export class Leases {
  readonly #time: VirtualTime;
  readonly #held = new Map<string, Held>();
  readonly #onTwice: (mistake: string) => void;

  /** @param onTwice called when two processes have a lease */
  constructor(time: VirtualTime, onTwice: (mistake: string) => void) {
    this.#time = time;
    this.#onTwice = onTwice;
  }

  /** A store whose leases are watched. */
  watched(store: Store): Store {
    const lease: Store['lease'] = async (name, holder, ms) => {
      const begun = this.#time.now;
      const has = await store.lease(name, holder, ms);
      if (has) this.#take(name, holder, begun + ms);
      return has;
    };
    return changedStore(store, { lease });
  }

  /** A process has ended, and does nothing with its leases any more. */
  endProcess(owner: Owner): void {
    for (const [name, held] of this.#held) if (held.owner === owner) this.#held.delete(name);
  }

  #take(name: string, holder: string, until: number): void {
    const known = this.#held.get(name);
    if (known !== undefined && known.holder !== holder && known.until > this.#time.now)
      this.#onTwice(`${known.holder} and ${holder} have the lease ${name}`);
    this.#held.set(name, { holder, owner: this.#time.owner, until });
  }
}
