import type { Store } from '@tidegauge/storage';

/** The time after which another process continues the work of one that was killed, milliseconds. */
const LEASE_MS = 120_000;
const RENEW_MS = 40_000;
/** How often a process that does not have the lease tries to take it. */
const RETRY_MS = 15_000;
const NAME = 'alerts';

/** Decides which of several ingest processes evaluates the rules. */
export interface Lease {
  /** Whether several processes receive a part of the readings each. */
  readonly isShared: boolean;
  /** Takes or renews the lease if it is time. Resolves to whether this process has it. @throws {StoreError} */
  renew(): Promise<boolean>;
  /** Lets another process take it. Does not throw. */
  release(): Promise<void>;
}

/**
 * The lease of a store. It is written every 40 s. A process that could not renew it in time does not have it any more,
 * also when the store is unavailable.
 */
export class StoreLease implements Lease {
  readonly isShared: boolean;
  readonly #store: Pick<Store, 'lease'>;
  readonly #holder: string;
  readonly #elapsedMs: () => number;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #due = Number.NEGATIVE_INFINITY;

  /**
   * @param holder the name of this process, which is the same after a restart
   * @param elapsedMs a clock that only grows
   */
  constructor(
    store: Pick<Store, 'lease'>,
    holder: string,
    isShared: boolean,
    elapsedMs = () => performance.now(),
  ) {
    this.#store = store;
    this.#holder = holder;
    this.isShared = isShared;
    this.#elapsedMs = elapsedMs;
  }

  async renew(): Promise<boolean> {
    const begun = this.#elapsedMs();
    if (begun >= this.#due) {
      try {
        const holds = await this.#store.lease(NAME, this.#holder, LEASE_MS);
        this.#heldUntil = holds ? begun + LEASE_MS : Number.NEGATIVE_INFINITY;
        this.#due = begun + (holds ? RENEW_MS : RETRY_MS);
      } catch (error) {
        // Until its end nobody else has it.
        if (this.#elapsedMs() >= this.#heldUntil) throw error;
      }
    }
    return this.#elapsedMs() < this.#heldUntil;
  }

  async release(): Promise<void> {
    if (this.#elapsedMs() >= this.#heldUntil) return;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    await this.#store.lease(NAME, this.#holder, 1000).catch(() => {});
  }
}
