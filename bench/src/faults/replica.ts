import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { peakResidentBytes, residentBytes } from '@tidegauge/test-support/process-usage';

const LEDGER_MS = 2000;
const RESTART_MS = 1000;
const START_ATTEMPTS = 60;

/** Counts of all processes of a replica, one after the other. */
export interface Counts {
  readonly stored: number;
  readonly duplicate: number;
  readonly quarantined: number;
}

const NONE: Counts = { stored: 0, duplicate: 0, quarantined: 0 };

/**
 * An ingest process that is started again when it ends, as a supervisor does. The counts of a killed process are those
 * of the last `ledger` before its end.
 */
export class Replica {
  readonly #environment: () => Readonly<Record<string, string>>;
  #process: IngestProcess | null = null;
  #last: LedgerDocument | null = null;
  #before = NONE;
  #peak = 0;
  #isWanted = false;
  /** How often it ended without a fault that ends it. */
  unexpectedEnds = 0;

  /** @param environment called at each start */
  constructor(environment: () => Readonly<Record<string, string>>) {
    this.#environment = environment;
  }

  /** Starts it. Attempts that fail are repeated, because a fault can outlast the start. */
  async start(): Promise<void> {
    this.#isWanted = true;
    for (let attempt = 1; this.#isWanted; attempt++) {
      try {
        const started = await startIngestProcess(this.#environment());
        this.#process = started;
        void started.exited.then(() => this.#ended(started));
        return;
      } catch (error) {
        if (attempt >= START_ATTEMPTS) throw error;
        await sleep(RESTART_MS);
      }
    }
  }

  /** Ends it with SIGKILL. */
  async kill(): Promise<void> {
    await this.#end((process) => process.kill());
  }

  /** Suspends it (SIGSTOP) until it is killed. */
  suspend(): void {
    if (this.#process !== null) process.kill(this.#process.pid, 'SIGSTOP');
  }

  /** Ends it with SIGTERM. Resolves to the exit code; null: it was not running, or was killed because it did not end. */
  async stop(): Promise<number | null> {
    let code: number | null = null;
    await this.#end(async (process) => {
      code = await process.stop();
    });
    return code;
  }

  /** The URL of its HTTP server. @throws {TypeError} while it does not run */
  get url(): string {
    if (this.#process === null) throw new TypeError('ingest does not run');
    return this.#process.url;
  }

  /** The id of its process; null while it does not run. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** The most resident memory that one of its processes has had, bytes. */
  get peakBytes(): number {
    return Math.max(this.#peak, this.#process === null ? 0 : peakResidentBytes(this.#process.pid));
  }

  get residentBytes(): number {
    return this.#process === null ? 0 : residentBytes(this.#process.pid);
  }

  /** Its ledger; null while it does not answer. */
  async ledger(): Promise<LedgerDocument | null> {
    const process = this.#process;
    if (process === null) return null;
    try {
      const answer = await fetchFor('read the ledger', `${process.url}/ledger`, { timeoutMs: LEDGER_MS });
      const ledger = (await answer.json()) as LedgerDocument;
      if (process !== this.#process) return null;
      this.#last = ledger;
      return ledger;
    } catch {
      return null;
    }
  }

  /** Counts since its first start. */
  get counts(): Counts {
    return sum(this.#before, this.#last?.readings ?? NONE);
  }

  async #end(end: (process: IngestProcess) => Promise<unknown>): Promise<void> {
    this.#isWanted = false;
    const process = this.#process;
    if (process === null) return;
    this.#peak = this.peakBytes;
    await end(process);
    this.#forget(process);
  }

  #ended(process: IngestProcess): void {
    if (!this.#isWanted || process !== this.#process) return;
    this.unexpectedEnds++;
    this.#forget(process);
    void sleep(RESTART_MS).then(() => (this.#isWanted && this.#process === null ? this.start() : undefined));
  }

  #forget(process: IngestProcess): void {
    if (process !== this.#process) return;
    this.#process = null;
    this.#before = this.counts;
    this.#last = null;
  }
}

function sum(a: Counts, b: Counts): Counts {
  return {
    stored: a.stored + b.stored,
    duplicate: a.duplicate + b.duplicate,
    quarantined: a.quarantined + b.quarantined,
  };
}
