import type { Reading } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { isRetryable, type Store, StoreError, type WriteResult } from '@tidegauge/storage';
import { Backoff } from './backoff.ts';
import { ByteCache } from './byte-cache.ts';

/** Rows that the store refuses for good, by their place in the batch. */
export type Rejections = ReadonlyMap<number, StoreError>;

export interface CommitResult {
  readonly stored: number;
  readonly duplicate: number;
  readonly rejected: Rejections;
}

/** Reads of the store at once, when it is asked what it holds already. */
const READS_AT_ONCE = 16;

const NONE: Rejections = new Map();

/** Bytes of the names of devices that are known to be registered: about 70,000 of 20 characters. */
const KNOWN_BYTES = 8 * 1024 * 1024;

/** The store has refused or not answered writes for longer than the caller wanted to wait. */
export class StoreAway extends Error {}

/** How often a write that failed unexpectedly is tried again as a whole, before its rows are tried apart. */
const UNEXPECTED_RETRIES = 3;
/**
 * Rows, at most, that are given up after unexpected errors while nothing at all could be written. A store that
 * fails on more than these fails on every row, and is waited for.
 */
const MOST_UNPROVEN = 1000;
/** For how long after a row was to blame the next unexpected error is taken to be of a row too, without retries. */
const SUSPICION_MS = 60_000;
/** Calls, at most, that fail while the devices of a batch are registered. */
const MOST_NAME_FAILURES = 100;

/**
 * Brings a batch into the store, whatever it takes: waits while the store is away, and isolates rows that it
 * refuses, or on which it fails in a way that nobody foresaw. Resolves when every row is durable or known to be
 * refused. Rejects only when waiting is pointless (MISCONFIGURED, CLOSED) or `signal` is aborted; the outcome of
 * the batch is then unknown, and nothing of it may be acknowledged.
 */
export class Committer {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #known = new ByteCache<true>(KNOWN_BYTES, () => 0);
  /** Writes that succeeded. */
  #writes = 0;
  /** Rows given up after unexpected errors since the last write that succeeded. */
  #unproven = 0;
  /** When a row was last known to be to blame for an unexpected error. */
  #blamed = Number.NEGATIVE_INFINITY;
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
      const write = () => this.#write(batch);
      const isSuspicious = performance.now() - this.#blamed < SUSPICION_MS;
      const retries = isSuspicious ? 0 : UNEXPECTED_RETRIES;
      const { stored, duplicate } = await this.#retry(write, patienceMs, retries);
      return { stored, duplicate, rejected: NONE };
    } catch (error) {
      if (!isOfRows(error)) throw error;
      return this.#isolate(batch, error, patienceMs);
    }
  }

  /**
   * Commits what came out of quarantine: a reading of the same identity that was received later stays, and the
   * older one counts as duplicate. What the store cannot be asked about is refused, so it stays in quarantine.
   */
  async commitOlder(batch: readonly Reading[]): Promise<CommitResult & { readonly skipped: Set<number> }> {
    const skipped = new Set<number>();
    const rejected = new Map<number, StoreError>();
    const indexes = batch.keys();
    const ask = async () => {
      for (const index of indexes) {
        try {
          const find = () => this.#find(batch[index]!);
          const found = await this.#retry(find, Number.POSITIVE_INFINITY, UNEXPECTED_RETRIES);
          if (found !== null && found.received > batch[index]!.received) skipped.add(index);
        } catch (error) {
          if (!(error instanceof StoreError) || isFinal(error)) throw error;
          if (error.code !== 'NOT_SUPPORTED') rejected.set(index, error);
        }
      }
    };
    await Promise.all(Array.from({ length: READS_AT_ONCE }, ask));
    const rest = [...batch.keys()].filter((index) => !skipped.has(index) && !rejected.has(index));
    const result = await this.commit(rest.map((index) => batch[index]!));
    for (const [index, error] of result.rejected) rejected.set(rest[index]!, error);
    return { stored: result.stored, duplicate: result.duplicate + skipped.size, rejected, skipped };
  }

  async #find({ device, metric, time }: Reading): Promise<Reading | null> {
    const query = { device, metric, from: time, to: time + 1, limit: 1 };
    for await (const found of this.#store.readings.range(query)) return found;
    return null;
  }

  /**
   * The batch failed because of some of its rows: takes out the rows that the store named, or halves until one row
   * is left that fails alone. Parts are written in order, so that the last of equal identities wins. A part that
   * had been stored by a failed write counts as duplicate when it is written again.
   */
  async #isolate(batch: readonly Reading[], failure: StoreError, patienceMs: number): Promise<CommitResult> {
    const rejected = new Map<number, StoreError>();
    const total = { stored: 0, duplicate: 0 };
    const writes = this.#writes;
    const all = [...batch.keys()];
    // A single row that failed unexpectedly is rejected only when it is to blame.
    const isOpen = all.length === 1 && failure.code === 'UNEXPECTED';
    const waiting = isOpen ? [all] : split(all, failure, rejected).toReversed();
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      const rows = part.map((index) => batch[index]!);
      try {
        const write = () => this.#write(rows);
        const mayGiveUp = (error: StoreError) => rows.length > 1 || this.#isProven(error, writes);
        const { stored, duplicate } = await this.#retry(write, patienceMs, 0, mayGiveUp);
        total.stored += stored;
        total.duplicate += duplicate;
      } catch (error) {
        if (!isOfRows(error)) throw error;
        waiting.push(...split(part, error, rejected).toReversed());
      }
    }
    return { ...total, rejected };
  }

  async #write(batch: readonly Reading[]): Promise<WriteResult> {
    const result = await this.#store.readings.write(batch);
    this.#writes++;
    this.#unproven = 0;
    return result;
  }

  /**
   * Whether a row that failed unexpectedly is to blame, and not the store: the store must be in health, and others
   * must have been written since the row was first tried (`writes` by then), or not many rows have failed so.
   */
  async #isProven(error: StoreError, writes: number): Promise<boolean> {
    if (error.code !== 'UNEXPECTED') return true;
    const isHealthy = await this.#store.health().then(
      () => true,
      () => false,
    );
    if (!isHealthy) return false;
    if (this.#writes > writes) {
      this.#blamed = performance.now();
      return true;
    }
    if (this.#unproven >= MOST_UNPROVEN) return false;
    this.#unproven++;
    return true;
  }

  /** A device is registered before its first reading is stored. */
  async #register(batch: readonly Reading[], patienceMs: number): Promise<void> {
    let unseen: Set<string> | null = null;
    for (const { device } of batch) {
      if (this.#known.get(device) !== undefined) continue;
      unseen ??= new Set();
      unseen.add(device);
    }
    if (unseen === null) return;
    const names = [...unseen];
    await this.#registerAll(names, patienceMs);
    for (const name of names) this.#known.set(name, true);
  }

  /** Registers in halves when a name is to blame. Readings count more than that: the store refuses it there again. */
  async #registerAll(all: readonly string[], patienceMs: number): Promise<void> {
    const waiting = [all];
    const retries = all.length === 1 ? UNEXPECTED_RETRIES : 0;
    let failures = 0;
    for (
      let names = waiting.pop();
      names !== undefined && failures < MOST_NAME_FAILURES;
      names = waiting.pop()
    ) {
      const some = names;
      try {
        await this.#retry(() => this.#store.devices.register(some), patienceMs, retries);
      } catch (error) {
        if (!isOfRows(error)) throw error;
        failures++;
        const middle = some.length >> 1;
        if (middle > 0) waiting.push(some.slice(middle), some.slice(0, middle));
      }
    }
  }

  /**
   * Calls until the store answers. An unexpected error is tried again `unexpected` times, and then thrown, unless
   * the caller blames the store for it.
   */
  async #retry<T>(
    call: () => Promise<T>,
    patienceMs: number,
    unexpected: number,
    mayGiveUp: (error: StoreError) => boolean | Promise<boolean> = () => true,
  ): Promise<T> {
    const backoff = new Backoff();
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await call();
        if (this.#failing !== null) this.#logger.info('store takes writes again');
        this.#failing = null;
        return result;
      } catch (error) {
        const failure = toFailure(error);
        const isUnexpected = failure.code === 'UNEXPECTED';
        const isLast = isUnexpected && attempt >= unexpected;
        if (failure.code === 'REJECTED' || (isLast && (await mayGiveUp(failure)))) {
          this.#failing = null;
          throw failure;
        }
        if (!isUnexpected && !isRetryable(failure)) throw failure;
        if (!isUnexpected || isLast) this.#observeAway(failure, patienceMs);
        await backoff.wait(this.#signal);
      }
    }
  }

  #observeAway(failure: StoreError, patienceMs: number): void {
    if (this.#failing === null) {
      this.#logger.warn({ err: failure }, 'store refuses writes, retrying');
      this.#failingSince = performance.now();
    }
    this.#failing = failure.message;
    if (performance.now() - this.#failingSince >= patienceMs) throw new StoreAway(failure.message);
  }
}

/** Errors of a store are StoreErrors; any other is a mistake of ours. */
function toFailure(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError('UNEXPECTED', String(error), { cause: error });
}

/** Nothing can be stored until a person acts. */
function isFinal({ code }: StoreError): boolean {
  return code === 'MISCONFIGURED' || code === 'CLOSED';
}

/** Some rows are to blame, as far as anybody knows. */
function isOfRows(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code === 'REJECTED' || error.code === 'UNEXPECTED');
}

/** The parts to try next: without the rows that the failure names, else both halves. A single row is rejected. */
function split(
  rows: readonly number[],
  failure: StoreError,
  rejected: Map<number, StoreError>,
): readonly (readonly number[])[] {
  const named = new Set(failure.rows ?? (rows.length === 1 ? [0] : []));
  const rest = rows.filter((row, place) => {
    if (named.has(place)) rejected.set(row, failure);
    return !named.has(place);
  });
  if (named.size > 0 && rest.length < rows.length) return rest.length === 0 ? [] : [rest];
  const middle = rows.length >> 1;
  return [rows.slice(0, middle), rows.slice(middle)];
}
