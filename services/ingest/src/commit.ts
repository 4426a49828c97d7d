import type { Reading } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { isRetryable, type Store, StoreError } from '@tidegauge/storage';
import { Backoff } from './backoff.ts';

/** Rows that the store refuses for good, by their place in the batch. */
export type Rejections = ReadonlyMap<number, StoreError>;

export interface CommitResult {
  readonly stored: number;
  readonly duplicate: number;
  readonly rejected: Rejections;
}

const NONE: Rejections = new Map();

/** The store has refused or not answered writes for longer than the caller wanted to wait. */
export class StoreAway extends Error {}

/**
 * Brings a batch into the store, whatever it takes: waits while the store is away, and isolates rows that it
 * refuses. Resolves when every row is durable or known to be refused. Rejects only when waiting is pointless
 * (MISCONFIGURED, CLOSED) or `signal` is aborted; the outcome of the batch is then unknown, and nothing of it
 * may be acknowledged.
 */
export class Committer {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #known = new Set<string>();
  #failing: string | null = null;
  #failingSince = 0;

  constructor(store: Store, logger: Logger, signal: AbortSignal) {
    this.#store = store;
    this.#logger = logger;
    this.#signal = signal;
  }

  /** The error the store answers with at present; null while it takes writes. */
  get failing(): string | null {
    return this.#failing;
  }

  /**
   * @param patienceMs how long the store may have been away, counted from its first failure to any caller
   * @throws {StoreAway} when that has passed; the outcome of the batch is unknown
   */
  async commit(
    batch: readonly Reading[],
    patienceMs: number = Number.POSITIVE_INFINITY,
  ): Promise<CommitResult> {
    await this.#register(batch, patienceMs);
    try {
      const write = () => this.#store.readings.write(batch);
      const { stored, duplicate } = await this.#retry(write, patienceMs);
      return { stored, duplicate, rejected: NONE };
    } catch (error) {
      if (!isRejection(error)) throw error;
      const rejected = new Map<number, StoreError>();
      const all = batch.map((reading, index) => ({ reading, index }));
      const counts = await this.#isolate(all, error, rejected, patienceMs);
      return { ...counts, rejected };
    }
  }

  /**
   * The batch was refused: takes out the rows that the store named, or halves until one row is left that it
   * refuses alone. A part that had been stored by a refused write counts as duplicate when written again.
   */
  async #isolate(
    rows: readonly { readonly reading: Reading; readonly index: number }[],
    refusal: StoreError,
    rejected: Map<number, StoreError>,
    patienceMs: number,
  ): Promise<{ stored: number; duplicate: number }> {
    const total = { stored: 0, duplicate: 0 };
    for (const part of split(rows, refusal, rejected)) {
      try {
        const write = () => this.#store.readings.write(part.map((row) => row.reading));
        const { stored, duplicate } = await this.#retry(write, patienceMs);
        total.stored += stored;
        total.duplicate += duplicate;
      } catch (error) {
        if (!isRejection(error)) throw error;
        const { stored, duplicate } = await this.#isolate(part, error, rejected, patienceMs);
        total.stored += stored;
        total.duplicate += duplicate;
      }
    }
    return total;
  }

  /** A device is registered before its first reading is stored. */
  async #register(batch: readonly Reading[], patienceMs: number): Promise<void> {
    let unseen: Set<string> | null = null;
    for (const { device } of batch) {
      if (this.#known.has(device)) continue;
      unseen ??= new Set();
      unseen.add(device);
    }
    if (unseen === null) return;
    const names = [...unseen];
    const register = () => this.#store.devices.register(names);
    await this.#retry(register, patienceMs).catch((error: unknown) => {
      // The readings count more than the registration; a name the store refuses shows up there again.
      if (!isRejection(error)) throw error;
    });
    if (this.#known.size + names.length > 200_000) this.#known.clear();
    for (const name of names) this.#known.add(name);
  }

  async #retry<T>(call: () => Promise<T>, patienceMs: number): Promise<T> {
    const backoff = new Backoff();
    for (;;) {
      try {
        const result = await call();
        if (this.#failing !== null) this.#logger.info('store takes writes again');
        this.#failing = null;
        return result;
      } catch (error) {
        if (isRejection(error)) {
          this.#failing = null;
          throw error;
        }
        if (error instanceof StoreError && !isRetryable(error)) throw error;
        const message = (error as Error).message;
        if (this.#failing === null) {
          this.#logger.warn({ err: error }, 'store refuses writes, retrying');
          this.#failingSince = performance.now();
        }
        this.#failing = message;
        if (performance.now() - this.#failingSince >= patienceMs) throw new StoreAway(message);
        await backoff.wait(this.#signal);
      }
    }
  }
}

function isRejection(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === 'REJECTED';
}

function split<R extends { readonly index: number }>(
  rows: readonly R[],
  refusal: StoreError,
  rejected: Map<number, StoreError>,
): readonly (readonly R[])[] {
  const named = new Set(refusal.rows ?? (rows.length === 1 ? [0] : []));
  const rest = rows.filter((row, place) => {
    if (named.has(place)) rejected.set(row.index, refusal);
    return !named.has(place);
  });
  if (named.size > 0 && rest.length < rows.length) return rest.length === 0 ? [] : [rest];
  const middle = rows.length >> 1;
  return [rows.slice(0, middle), rows.slice(middle)];
}
