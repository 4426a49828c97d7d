import type { Outcome } from '@tidegauge/loadtests/operations/outcome';
import type { Driver } from '../drivers.ts';
import type { Verification } from './sampled-writes.ts';
import type { TrialSettings } from './trial-workload.ts';

// The driver program reads one request on each line of its standard input, and answers with one line on its standard
// output. It handles one request at a time.

export type DriverRequest =
  | {
      readonly command: 'open';
      readonly driver: Driver;
      readonly settings: TrialSettings;
      readonly table: string;
      /** Seed of the loaded records. */
      readonly seed: number;
      /** The store, for the load. null: tables are loaded and dropped through the API. */
      readonly store: string | null;
      /** The API that the operations go through. null: they go to the store. */
      readonly api: { readonly url: string; readonly token: string | null } | null;
    }
  /** Begins another series on the loaded table. */
  | { readonly command: 'use'; readonly settings: TrialSettings }
  /** Drops the table, creates it and inserts the records. */
  | { readonly command: 'load' }
  /** Checks that the table has its records. Used after a restore. */
  | { readonly command: 'restored' }
  /** Closes all connections to the store. The next request opens them again. */
  | { readonly command: 'disconnect' }
  /** Begins a run. No operation is done. */
  | {
      readonly command: 'begin';
      readonly seed: number;
      /** For operations that do not fit into memory. */
      readonly spill: string;
      /** Reports when this number of operations has ended, with a line `NOTICE`. */
      readonly noticeAt?: number;
    }
  /** Does the next operations of the run, and waits until all have ended. */
  | {
      readonly command: 'turn';
      /** null: as many as there is time for. */
      readonly operations: number | null;
      /** No operation starts later, in milliseconds from now. */
      readonly ms: number;
    }
  /** Ends the run. */
  | { readonly command: 'end' }
  /** Reads the next operations of the last run. */
  | { readonly command: 'rows' }
  /**
   * Checks the sample of records. `replay`: the seed of a run that another program has done on the table; each of its
   * writes is then possible.
   */
  | { readonly command: 'verify'; readonly replay?: number }
  /** Drops the table. */
  | { readonly command: 'drop' };

export interface DriverResults {
  readonly open: null;
  readonly use: null;
  /** null: the data were there already. */
  readonly load: { readonly seconds: number | null };
  readonly restored: null;
  readonly disconnect: null;
  readonly begin: null;
  /** Operations that were started in this turn, and how long it took. */
  readonly turn: { readonly started: number; readonly ms: number };
  readonly end: RunResult;
  /** A few thousand whole lines with the columns `RUN_COLUMNS`. null: there are no more. */
  readonly rows: { readonly text: string | null };
  readonly verify: Verification;
  readonly drop: null;
}

export interface RunResult {
  /** ISO 8601. */
  readonly started: string;
  /** The zero of `start_us` in the last turn, in milliseconds since 1970 of the monotonic clock. */
  readonly originMs: number;
  /** From the start of the first operation to the end of the last one, without the turns of others. */
  readonly seconds: number;
  /** Operations that were started, and that succeeded. */
  readonly startedOperations: number;
  readonly done: number;
  readonly rows: number;
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  readonly damaged: number;
  /** Use of the client during the operations. */
  readonly cpuSeconds: number;
  /** null: not known. */
  readonly memoryBytes: number | null;
}

/** The line of a driver program that has done as many operations as `noticeAt`. */
export const NOTICE = '{"notice":true}';

export type DriverAnswer =
  | { readonly ok: true; readonly result: unknown }
  /** `code` is that of a system error, such as ENOSPC. */
  | { readonly ok: false; readonly error: string; readonly code: string | null };
