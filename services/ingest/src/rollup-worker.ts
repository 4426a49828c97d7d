import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, Seldom } from '@tidegauge/service';
import { type RollupStatus, type Store, StoreError } from '@tidegauge/storage';

/** How often it looks for hours that can be computed. */
const POLL_MS = 15_000;
const LEASE = 'rollups';
/** The lease is renewed before each piece of work, which takes some seconds at most. */
const LEASE_MS = 120_000;
/** After a piece, it waits this many times as long as the piece took, so that live readings have most of the time. */
const REST = 3;
/** Rollups and compaction take turns of this time, so that a sensor that changes old hours all the time delays neither. */
const TURN_MS = 60_000;
/** A failure is logged once in this time. */
const LOG_EVERY_MS = 60_000;

/**
 * Computes rollups beside live traffic, and moves old readings into less space: in bounded pieces, and for a quarter of the
 * time at most. Of all processes that use the store, the one with the lease computes rollups. A failure never concerns
 * ingest: the marks and the readings stay, and it tries again.
 */
export class RollupWorker {
  /** Since the start, by this process. */
  readonly counts = { hours: 0, late: 0, rows: 0, failures: 0 };
  /** The store's status when it was last read. Null before. */
  status: RollupStatus | null = null;
  readonly #store: Store;
  readonly #holder: string;
  readonly #logger: Logger;
  readonly #pollMs: number;
  readonly #turnMs: number;
  readonly #end = new AbortController();
  #running: Promise<void> | null = null;
  #looked = Number.NEGATIVE_INFINITY;
  readonly #log = new Seldom(LOG_EVERY_MS);

  /** @param holder a name that no other process of the store has */
  constructor(store: Store, holder: string, logger: Logger, pollMs = POLL_MS, turnMs = TURN_MS) {
    this.#store = store;
    this.#holder = holder;
    this.#logger = logger;
    this.#pollMs = pollMs;
    this.#turnMs = turnMs;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Waits for the running piece. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const failed = (error: unknown) => this.#failed(error);
    while (!this.#end.signal.aborted) {
      // Each also after a failure of the others. The last one shows how long the hours wait.
      const hasHours = await this.#turn(() => this.#work()).catch(failed);
      // Steps of several processes do not disturb each other, so this needs no lease.
      const hasOld = await this.#turn(() => this.#store.compact()).catch(failed);
      await this.#look().catch(failed);
      if (hasHours !== true && hasOld !== true) await this.#rest(this.#pollMs);
    }
  }

  /** Does pieces of work until there are no more, or the turn is over. Resolves to whether there are more. */
  async #turn(piece: () => Promise<boolean>): Promise<boolean> {
    const end = performance.now() + this.#turnMs;
    while (!this.#end.signal.aborted && performance.now() < end) {
      const started = performance.now();
      if (!(await piece())) return false;
      await this.#rest(REST * (performance.now() - started));
      if (performance.now() - this.#looked >= this.#pollMs) await this.#look();
    }
    return true;
  }

  async #work(): Promise<boolean> {
    if (!(await this.#store.lease(LEASE, this.#holder, LEASE_MS))) return false;
    const work = await this.#store.rollups.work();
    this.counts.hours += work.hours;
    this.counts.late += work.late;
    this.counts.rows += work.rows;
    if (work.damage !== null) this.#failed(work.damage);
    return work.more;
  }

  async #look(): Promise<void> {
    this.#looked = performance.now();
    this.status = await this.#store.rollups.status();
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#end.signal }).catch(() => {});
  }

  #failed(error: unknown): void {
    this.counts.failures += 1;
    if (!this.#log.isDue()) return;
    const err = error instanceof StoreError ? error : new StoreError('UNEXPECTED', String(error));
    this.#logger.warn({ err }, 'some rollups, or compaction, wait because of an error of the store');
  }
}
