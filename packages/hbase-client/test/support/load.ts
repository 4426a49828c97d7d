import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HBaseError, type Table } from '../../src/index.ts';

const WRITERS = 16;
const FAMILY = 'f';
/** A pause between puts, so that the servers have processor time, and the table that is scanned stays small. */
const PACE_MS = 30;
const SCAN_PACE_MS = 500;
const PROGRESS_MS = 120_000;

export interface LoadOptions {
  /** Deadline of each put, and of each page of a scan. */
  readonly timeoutMs: number;
}

/** The results of the writers and of the scanner. */
export interface LoadReport {
  readonly acknowledged: ReadonlySet<string>;
  /** Keys whose put failed. The rows may or may not be stored. */
  readonly failed: ReadonlyMap<string, HBaseError>;
  /** The number of complete scans of the table. */
  readonly scans: number;
  readonly failedScans: readonly HBaseError[];
  /** The longest time of a put, successful or not. */
  readonly longestMs: number;
}

/**
 * 16 writers put rows one after the other, distributed over the whole range of keys. A scanner reads the whole table
 * repeatedly. Every row that was acknowledged before a scan started must be in the scan, exactly once and in order.
 */
export class Load {
  readonly #table: Table;
  readonly #timeoutMs: number;
  readonly #acknowledged = new Set<string>();
  readonly #failed = new Map<string, HBaseError>();
  readonly #failedScans: HBaseError[] = [];
  readonly #running: Promise<unknown>;
  #scans = 0;
  #longestMs = 0;
  #stopping = false;

  constructor(table: Table, { timeoutMs }: LoadOptions) {
    this.#table = table;
    this.#timeoutMs = timeoutMs;
    const writers = Array.from({ length: WRITERS }, (_, number) => this.#write(number));
    this.#running = Promise.all([...writers, this.#scan()]);
    // `stop` reports the error.
    this.#running.catch(() => {});
  }

  /** Resolves when this number of rows has been acknowledged whose puts started after this call. */
  async progress(rows = 300): Promise<void> {
    const target = this.#acknowledged.size + WRITERS + rows;
    for (const deadline = Date.now() + PROGRESS_MS; this.#acknowledged.size < target; await delay(20)) {
      if (this.#stopping || Date.now() > deadline)
        assert.fail(`stuck at ${this.#acknowledged.size} of ${target} rows`);
    }
  }

  /** Resolves when a scan that started after this call is complete. */
  async fullScan(): Promise<void> {
    const target = this.#scans + 2;
    for (const deadline = Date.now() + PROGRESS_MS; this.#scans < target; await delay(20)) {
      if (this.#stopping || Date.now() > deadline) assert.fail('no scan is completed');
    }
  }

  async stop(): Promise<LoadReport> {
    this.#stopping = true;
    await this.#running;
    return {
      acknowledged: this.#acknowledged,
      failed: this.#failed,
      scans: this.#scans,
      failedScans: this.#failedScans,
      longestMs: this.#longestMs,
    };
  }

  async #write(number: number): Promise<void> {
    for (let row = 0; !this.#stopping; row += 1) {
      const name = `${number}-${row}`;
      const key = `${createHash('md5').update(name).digest('hex').slice(0, 4)}-${name}`;
      const started = performance.now();
      try {
        await this.#table.put(key, [{ family: FAMILY, qualifier: 'q', value: key }], {
          timeoutMs: this.#timeoutMs,
        });
        this.#acknowledged.add(key);
      } catch (error) {
        if (!(error instanceof HBaseError)) throw error;
        this.#failed.set(key, error);
      }
      this.#longestMs = Math.max(this.#longestMs, performance.now() - started);
      await delay(PACE_MS);
    }
  }

  async #scan(): Promise<void> {
    for (; !this.#stopping; await delay(SCAN_PACE_MS)) {
      const expected = new Set(this.#acknowledged);
      let last = '';
      try {
        for await (const { key, cells } of this.#table.scan({ timeoutMs: this.#timeoutMs })) {
          const name = key.toString();
          assert.ok(name > last, `${name} comes after ${last}`);
          assert.equal(cells[0]?.value.toString(), name);
          expected.delete(name);
          last = name;
        }
      } catch (error) {
        if (!(error instanceof HBaseError)) throw error;
        this.#failedScans.push(error);
        continue;
      }
      assert.deepEqual([...expected], [], 'rows that were acknowledged before a scan are missing in it');
      this.#scans += 1;
    }
  }
}
