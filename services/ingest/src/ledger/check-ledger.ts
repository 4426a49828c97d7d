import { forEach } from '@tidegauge/parallel';
import type { Logger } from '@tidegauge/service';
import { isDamaged, type Store } from '@tidegauge/storage';
import { Backoff } from '../backoff.ts';
import { type Late, lateFrom } from './late.ts';
import type { LedgerFile } from './ledger-file.ts';

/** Devices that are read at the same time. */
const DEVICES_AT_ONCE = 8;
/** Readings of one device that are read at most: those of an hour at 250/s. */
const MOST_READINGS = 900_000;
/** How long the start of ingest waits for the comparison. */
const START_MS = 60_000;

export interface CheckOptions {
  /** No reading with an earlier time can be lacking, microseconds since the epoch. */
  readonly from: number;
  /** The same for devices whose readings were older. */
  readonly late: Late;
  /**
   * Whether the store decides. False when a number can have been recorded that the store does not have, because filters
   * leave readings out, or because the ledger was not kept for a time.
   */
  readonly isFinal: boolean;
  /**
   * Whether the ledger has all numbers of the process that wrote it. Then a device that was read is in doubt only if the
   * store has numbers of another process.
   */
  readonly wasUnused: boolean;
  /** Whether the ledger can lack devices that the store has, because its file could not be written. */
  readonly lacksDevices: boolean;
}

/** What a comparison found. `begun` is a time of `performance.now()`. */
interface Outcome {
  readonly devices: number;
  readonly doubted: number;
  readonly begun: number;
  readonly failure: unknown;
}

/**
 * Reads the file of an earlier process, compares its ledger with the store if that is needed, and starts the file.
 *
 * @param hasFilters whether readings can be recorded that the store does not have
 * @returns the comparison, which can go on; null when none is needed
 * @throws {Error} when the file cannot be read or written
 */
export async function recoverLedger(
  file: LedgerFile,
  store: Store,
  hasFilters: boolean,
  logger: Logger,
): Promise<LedgerCheck | null> {
  const { checkFrom: from, late, isIncomplete, wasUnused } = file.recover();
  if (from === null) {
    file.start();
    return null;
  }
  const check = new LedgerCheck(
    file,
    store,
    { from, late, isFinal: !isIncomplete && !hasFilters, wasUnused, lacksDevices: isIncomplete },
    logger,
  );
  await check.start();
  return check;
}

/**
 * Completes a ledger that may lack the last numbers, after a power cut or because ingest ran on another board: numbers of
 * readings that the store has are recorded. A number is missing only when the store does not have it. Where that cannot be
 * decided, the device is in doubt.
 *
 * While the store does not answer, the ledger is `isUnchecked`. The comparison is repeated until the store answers, by the
 * next process too.
 */
export class LedgerCheck {
  readonly #file: LedgerFile;
  readonly #store: Store;
  readonly #options: CheckOptions;
  readonly #logger: Logger;
  readonly #end = new AbortController();

  constructor(file: LedgerFile, store: Store, options: CheckOptions, logger: Logger) {
    this.#file = file;
    this.#store = store;
    this.#options = options;
    this.#logger = logger;
  }

  /** Why numbers that count as missing can be stored; null when they are not. */
  get trouble(): string | null {
    return this.#file.ledger.isUnchecked
      ? 'the ledger was not compared with the store yet: numbers that count as missing can be stored'
      : null;
  }

  /**
   * Compares once, and starts the file. Nothing may be recorded before. If the store does not answer, or needs more than a
   * minute, the comparison goes on in the background.
   *
   * @throws {Error} when the file cannot be written
   */
  async start(): Promise<void> {
    const { ledger } = this.#file;
    const { gapsOpened, healed = 0 } = ledger.totals();
    const { missing } = ledger;
    const isDone = await this.#compare(true);
    // Numbers that arrived in another order than that of their times were no gaps.
    ledger.restoreTotals({
      ...ledger.totals(),
      gapsOpened: gapsOpened + Math.max(0, ledger.missing - missing),
      healed: healed + Math.max(0, missing - ledger.missing),
    });
    const { from, late } = this.#options;
    this.#file.start(isDone ? null : Math.min(from, ...late.values()));
    if (!isDone) void this.#compareUntilDone();
  }

  /** Ends the comparison. Call it before the file is closed. A read that hangs is not waited for. */
  stop(): void {
    this.#end.abort();
  }

  async #compareUntilDone(): Promise<void> {
    const { signal } = this.#end;
    const backoff = new Backoff();
    let isDone = false;
    while (!isDone) {
      await backoff.wait(signal).catch(() => {});
      isDone = await this.#compare(false);
      if (signal.aborted) return;
    }
    this.#file.checked();
  }

  /** Returns whether all devices were compared. */
  async #compare(isFirst: boolean): Promise<boolean> {
    const begun = performance.now();
    const limit = isFirst ? begun + START_MS : Number.POSITIVE_INFINITY;
    const { ledger } = this.#file;
    const { isFinal } = this.#options;
    const { signal } = this.#end;
    let compared = 0;
    let doubted = 0;
    let failure: unknown = null;
    const names = await this.#names().catch((error: unknown) => {
      failure = error;
      return [...ledger.names()];
    });
    await forEach(names, DEVICES_AT_ONCE, async (device) => {
      const isOver = failure !== null || signal.aborted || performance.now() > limit;
      const isKnown = isOver
        ? null
        : await this.#complete(device).catch((error: unknown) => {
            // The others are compared nevertheless.
            if (isDamaged(error)) return false;
            failure ??= error;
            return null;
          });
      if (isKnown !== null) compared++;
      // Where the store does not decide, the first attempt has put all others in doubt.
      if (isKnown ?? isFinal) return;
      if (!isFirst && !isFinal) return;
      ledger.doubt(device);
      doubted++;
    });
    const isDone = failure === null && compared === names.length;
    if (isDone || isFirst) this.#report(isDone, { devices: compared, doubted, begun, failure });
    return isDone;
  }

  async #names(): Promise<readonly string[]> {
    const names = new Set(this.#file.ledger.names());
    if (this.#options.lacksDevices)
      for await (const device of this.#store.readings.devices()) names.add(device);
    return [...names];
  }

  #report(isDone: boolean, { devices, doubted, begun, failure }: Outcome): void {
    const { wasUnused } = this.#options;
    const seconds = Math.round(performance.now() - begun) / 1000;
    const outcome = { devices, doubted, seconds, ...(failure === null ? {} : { err: failure }) };
    const why = wasUnused ? 'after a time without this file' : 'after a power cut';
    this.#logger[isDone && wasUnused ? 'info' : 'warn'](
      outcome,
      isDone
        ? `the ledger of sequence numbers was completed from the store ${why}`
        : `the ledger of sequence numbers was not compared with the store ${why} yet, trying again`,
    );
  }

  /** Records the numbers of a device that the store has. Returns whether all others were never stored. */
  async #complete(device: string): Promise<boolean> {
    const { late, isFinal, wasUnused } = this.#options;
    const from = Math.min(this.#options.from, lateFrom(late, device));
    let read = 0;
    let isNew = false;
    const readings = this.#store.readings.range({ device, from, order: 'asc', limit: MOST_READINGS });
    for await (const { boot, seq } of readings) {
      this.#end.signal.throwIfAborted();
      if (++read === MOST_READINGS) return false;
      if (boot !== null && seq !== null && this.#file.ledger.confirm(device, boot, seq)) isNew = true;
    }
    return isFinal || (wasUnused && !isNew);
  }
}
