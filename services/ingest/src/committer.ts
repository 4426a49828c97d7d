import { forEach } from '@tidegauge/parallel';
import type { Reading } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { isRetryable, type Store, StoreError, type WriteEffort } from '@tidegauge/storage';
import { Backoff } from './backoff.ts';
import { ByteCache } from './byte-cache.ts';
import { BOUNDS } from './memory.ts';

/** Rows that the store rejects permanently, by their index in the batch. */
export type Rejections = ReadonlyMap<number, StoreError>;

export interface CommitResult {
  readonly stored: number;
  readonly duplicate: number;
  readonly rejected: Rejections;
  /** The places of the duplicates in the batch. Empty unless the store names them. */
  readonly duplicates: readonly number[];
}

/** Concurrent reads when a batch is compared with the stored readings. */
const READS_AT_ONCE = 16;

const NONE: Rejections = new Map();

/** The store has rejected or not answered writes for longer than the caller waits. */
export class StoreUnavailable extends Error {}

/** How often a write with an unexpected error is retried as a whole, before its rows are isolated. */
const UNEXPECTED_RETRIES = 3;
/**
 * Rows that are given up at most after unexpected errors while no write succeeds. A store that fails on more rows
 * fails on every row, so the committer waits for it.
 */
const MOST_UNPROVEN = 1000;
/**
 * After a row caused an unexpected error, the next such error within this time is attributed to a row too, without
 * retries.
 */
const SUSPICION_MS = 60_000;
/** Failed calls at most while the devices of a batch are registered. */
const MOST_NAME_FAILURES = 100;

/**
 * Writes a batch to the store. It retries while the store is unavailable, and isolates rows that the store rejects or
 * fails on unexpectedly. Resolves when every row is durable or rejected. Rejects only when a retry is pointless
 * (MISCONFIGURED, CLOSED) or `signal` is aborted. The outcome of the batch is then unknown, and none of it may be
 * acknowledged.
 */
export class Committer {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #registerNames: (names: readonly string[]) => Promise<void>;
  readonly #known = new ByteCache<true>(BOUNDS.knownDevices, () => 0);
  /** The number of successful writes. */
  #writes = 0;
  /** Rows given up after unexpected errors since the last successful write. */
  #unproven = 0;
  /** `performance.now()` when a row last proved to be the cause of an unexpected error. */
  #blamed = Number.NEGATIVE_INFINITY;
  #failure: StoreError | null = null;
  #failingSince = 0;

  /** @param registerNames registers devices, which can be known. It can be repeated */
  constructor(
    store: Store,
    logger: Logger,
    signal: AbortSignal,
    registerNames = (names: readonly string[]) => store.devices.register(names),
  ) {
    this.#store = store;
    this.#logger = logger;
    this.#signal = signal;
    this.#registerNames = registerNames;
  }

  /** The current error of the store; null while it accepts writes. */
  get failure(): StoreError | null {
    return this.#failure;
  }

  /**
   * @param patienceMs how long the store may be unavailable, from its first failure for any caller, milliseconds
   * @param effort receives that of the last attempt to write the batch
   * @throws {StoreUnavailable} after that time; the outcome of the batch is unknown
   */
  async commit(
    batch: readonly Reading[],
    patienceMs: number = Number.POSITIVE_INFINITY,
    effort?: WriteEffort,
  ): Promise<CommitResult> {
    await this.#register(batch, patienceMs);
    try {
      const write = () => this.#write(batch, effort);
      const isSuspicious = performance.now() - this.#blamed < SUSPICION_MS;
      const retries = isSuspicious ? 0 : UNEXPECTED_RETRIES;
      const written = await this.#retry(write, patienceMs, retries);
      return { ...written, rejected: NONE };
    } catch (error) {
      if (!isOfRows(error)) throw error;
      return this.#isolate(batch, error, patienceMs);
    }
  }

  /**
   * Commits readings from quarantine. A stored reading of the same identity that was received later is kept, and the
   * older reading counts as a duplicate. A reading that cannot be compared is rejected, so it stays in quarantine.
   */
  async commitOlder(batch: readonly Reading[]): Promise<CommitResult & { readonly skipped: Set<number> }> {
    const skipped = new Set<number>();
    const rejected = new Map<number, StoreError>();
    await forEach(batch.entries(), READS_AT_ONCE, async ([index, reading]) => {
      try {
        const find = () => this.#find(reading);
        const found = await this.#retry(find, Number.POSITIVE_INFINITY, UNEXPECTED_RETRIES);
        if (found !== null && found.received > reading.received) skipped.add(index);
      } catch (error) {
        if (!(error instanceof StoreError) || isFinal(error)) throw error;
        if (error.code !== 'NOT_SUPPORTED') rejected.set(index, error);
      }
    });
    const rest = [...batch.keys()].filter((index) => !skipped.has(index) && !rejected.has(index));
    const result = await this.commit(rest.map((index) => batch[index]!));
    for (const [index, error] of result.rejected) rejected.set(rest[index]!, error);
    return { ...result, duplicate: result.duplicate + skipped.size, rejected, skipped };
  }

  /**
   * Calls the store until it answers, for something other than readings.
   *
   * @throws {StoreError} REJECTED, UNEXPECTED after some retries, or an error that only an operator can fix
   * @throws {StoreUnavailable} as `commit` does
   */
  call<T>(call: () => Promise<T>, patienceMs: number = Number.POSITIVE_INFINITY): Promise<T> {
    return this.#retry(call, patienceMs, UNEXPECTED_RETRIES);
  }

  async #find({ device, metric, time }: Reading): Promise<Reading | null> {
    const query = { device, metric, from: time, to: time + 1, limit: 1 };
    for await (const found of this.#store.readings.range(query)) return found;
    return null;
  }

  /**
   * Isolates the rows that made a batch fail: removes the rows that the store named, or halves the batch until one
   * row is left that fails alone. Parts are written in order, so that the last of equal identities wins. Rows that
   * the failed write had stored already count as duplicates when they are written again.
   */
  async #isolate(batch: readonly Reading[], failure: StoreError, patienceMs: number): Promise<CommitResult> {
    const rejected = new Map<number, StoreError>();
    const total = { stored: 0, duplicate: 0 };
    const duplicates: number[] = [];
    const writes = this.#writes;
    const all = [...batch.keys()];
    // A single row that failed unexpectedly is rejected only when it is the cause.
    const isOpen = all.length === 1 && failure.code === 'UNEXPECTED';
    const waiting = isOpen ? [all] : split(all, failure, rejected).toReversed();
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      const rows = part.map((index) => batch[index]!);
      try {
        const write = () => this.#write(rows);
        const mayGiveUp = (error: StoreError) => rows.length > 1 || this.#isProven(error, writes);
        const written = await this.#retry(write, patienceMs, 0, mayGiveUp);
        total.stored += written.stored;
        total.duplicate += written.duplicate;
        for (const place of written.duplicates) duplicates.push(part[place]!);
      } catch (error) {
        if (!isOfRows(error)) throw error;
        waiting.push(...split(part, error, rejected).toReversed());
      }
    }
    return { ...total, rejected, duplicates };
  }

  async #write(
    batch: readonly Reading[],
    effort: WriteEffort = { newHours: 0 },
  ): Promise<Omit<CommitResult, 'rejected'>> {
    const duplicates: number[] = [];
    effort.duplicates = duplicates;
    const { stored, duplicate } = await this.#store.readings.write(batch, effort);
    this.#writes++;
    this.#unproven = 0;
    return { stored, duplicate, duplicates };
  }

  /**
   * Whether a row, and not the store, is the cause of an unexpected error. The store must be healthy. In addition
   * other rows must have been written since the row was first tried (`writes` is the count at that time), or few rows
   * have failed like this.
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

  /** Registers new devices, before their first reading is stored. */
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

  /**
   * Registers devices, and halves the list when a name causes a failure. A failure here does not stop the batch: the
   * store rejects the readings of that device.
   */
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
        await this.#retry(() => this.#registerNames(some), patienceMs, retries);
      } catch (error) {
        if (!isOfRows(error)) throw error;
        failures++;
        const middle = some.length >> 1;
        if (middle > 0) waiting.push(some.slice(middle), some.slice(0, middle));
      }
    }
  }

  /** Resolves to whether a failure ends the retries. @param isLast whether no retry of an unexpected error is left */
  async #endsRetries(
    failure: StoreError,
    isLast: boolean,
    mayGiveUp: (error: StoreError) => boolean | Promise<boolean>,
  ): Promise<boolean> {
    const isAnswer = failure.code === 'REJECTED' || (isLast && (await mayGiveUp(failure)));
    if (isAnswer) this.#failure = null;
    return isAnswer || (failure.code !== 'UNEXPECTED' && !isRetryable(failure));
  }

  /**
   * Retries a call until the store answers. An unexpected error is retried `unexpected` times and then thrown, unless
   * `mayGiveUp` attributes it to the store.
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
        if (this.#failure !== null) this.#logger.info('store accepts writes again');
        this.#failure = null;
        return result;
      } catch (error) {
        const failure = toFailure(error);
        const isUnexpected = failure.code === 'UNEXPECTED';
        const isLast = isUnexpected && attempt >= unexpected;
        if (await this.#endsRetries(failure, isLast, mayGiveUp)) throw failure;
        if (!isUnexpected || isLast) this.#observeUnavailable(failure, patienceMs);
        await backoff.wait(this.#signal);
      }
    }
  }

  #observeUnavailable(failure: StoreError, patienceMs: number): void {
    if (this.#failure === null) {
      this.#logger.warn({ err: failure }, 'store refuses writes, retrying');
      this.#failingSince = performance.now();
    }
    this.#failure = failure;
    if (performance.now() - this.#failingSince >= patienceMs) throw new StoreUnavailable(failure.message);
  }
}

/** Stores throw StoreErrors only; any other error is a defect. */
function toFailure(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError('UNEXPECTED', String(error), { cause: error });
}

/** Whether nothing can be stored until an operator acts. */
function isFinal({ code }: StoreError): boolean {
  return code === 'MISCONFIGURED' || code === 'CLOSED';
}

/** Whether rows of the batch may have caused the error. */
export function isOfRows(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code === 'REJECTED' || error.code === 'UNEXPECTED');
}

/** The parts to try next: the rows that the failure does not name, or both halves. A single row is rejected. */
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
