import { closeSync, openSync, readSync } from 'node:fs';
import { readFrames } from '../frames.ts';
import type { Late } from './late.ts';
import { KIND, readNumbers } from './ledger-entries.ts';
import type { DeviceState, LedgerTotals, SequenceLedger } from './sequence-ledger.ts';

/** The version of the file format. */
export const FORMAT = 1;
const CHUNK_BYTES = 1024 * 1024;
/** A kind and `{}`. */
const LEAST_BODY = 2;
const DAY_US = 86_400_000_000;

/** What a ledger file contains besides the numbers. Times are microseconds since the epoch. */
export interface LedgerRecord {
  /** The boot of the kernel under which its last entries were written; null: not known. */
  readonly kernel: string | null;
  /** Numbers of readings from this time on have yet to be completed from the store; null: they are complete. */
  readonly uncheckedFrom: number | null;
  /** When the process last noted the time: a few seconds before its last numbers, at most. */
  readonly at: number;
  /** No reading with an earlier time was recorded after the last synced entry, except those of `late`. */
  readonly floor: number;
  /** Those of devices that sent older readings. */
  readonly late: Late;
  /** Whether the process stopped in order. */
  readonly isClosed: boolean;
  /** Bytes at the end that cannot be read. */
  readonly torn: number;
}

/** A ledger file of which nothing can be used. */
export class LedgerDamaged extends Error {}

/**
 * Restores a ledger from its file.
 *
 * @param ledger an empty ledger without a journal
 * @throws {LedgerDamaged} when the file has another format, or is damaged before the end of its first state; the
 *   ledger can have devices then
 */
export function readLedger(file: string, ledger: SequenceLedger): LedgerRecord {
  const reader = new Reader(ledger);
  const descriptor = openSync(file, 'r');
  try {
    let rest = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const length = readSync(descriptor, chunk);
      if (length === 0) break;
      const data = Buffer.concat([rest, chunk.subarray(0, length)]);
      let end = 0;
      for (const frame of readFrames(data, LEAST_BODY)) {
        reader.take(frame.body);
        end = frame.end;
      }
      rest = data.subarray(end);
    }
    return reader.finish(rest.length);
  } finally {
    closeSync(descriptor);
  }
}

class Reader {
  readonly #ledger: SequenceLedger;
  /** The name of each device by its id. */
  readonly #names = new Map<number, string>();
  #hasHeader = false;
  #kernel: string | null = null;
  #uncheckedFrom: number | null = null;
  #at = 0;
  #floor = 0;
  #late = new Map<string, number>();
  #isWhole = false;
  #isClosed = false;

  constructor(ledger: SequenceLedger) {
    this.#ledger = ledger;
  }

  take(body: Buffer): void {
    const kind = body[0];
    if (!this.#hasHeader && kind !== KIND.header) throw new LedgerDamaged('it is not a ledger file');
    this.#isClosed = kind === KIND.closed;
    try {
      if (kind === KIND.numbers) this.#takeNumbers(body);
      else this.#takeJson(kind, JSON.parse(body.toString('utf8', 1)));
    } catch (error) {
      if (error instanceof LedgerDamaged) throw error;
      throw new LedgerDamaged(`an entry cannot be read: ${(error as Error).message}`, { cause: error });
    }
  }

  /** @throws {LedgerDamaged} */
  finish(torn: number): LedgerRecord {
    if (!this.#isWhole) throw new LedgerDamaged('its beginning is not complete');
    const isClosed = this.#isClosed && torn === 0;
    return {
      kernel: this.#kernel,
      uncheckedFrom: this.#uncheckedFrom,
      at: this.#at,
      floor: this.#floor,
      late: this.#late,
      isClosed,
      torn,
    };
  }

  #takeNumbers(body: Buffer): void {
    for (const [id, seq] of readNumbers(body)) {
      const device = this.#names.get(id);
      // Before the state of a device, its numbers have no effect.
      if (device !== undefined) this.#ledger.replay(id, device, null, seq);
    }
  }

  #takeJson(kind: number | undefined, value: unknown): void {
    switch (kind) {
      case KIND.header: {
        const { format } = value as { format: number };
        if (format !== FORMAT)
          throw new LedgerDamaged(`it has format ${format}, and this version reads ${FORMAT}`);
        this.#hasHeader = true;
        break;
      }
      case KIND.process: {
        const { boot, uncheckedFrom = null } = value as {
          boot: string | null;
          uncheckedFrom?: number | null;
        };
        this.#kernel = boot;
        this.#uncheckedFrom = uncheckedFrom;
        break;
      }
      case KIND.time: {
        const { at, floor, late } = value as {
          at: number;
          floor: number;
          late?: readonly (readonly [device: string, from: number])[];
        };
        this.#at = at;
        this.#floor = floor;
        if (late !== undefined) this.#late = new Map(late);
        this.#ledger.today = Math.floor(at / DAY_US);
        break;
      }
      case KIND.device: {
        const state = value as DeviceState;
        this.#names.set(state[0], state[1]);
        this.#ledger.restore(state);
        break;
      }
      case KIND.totals:
        this.#ledger.restoreTotals(value as LedgerTotals);
        this.#isWhole = true;
        break;
      case KIND.named: {
        const [id, device, boot, seq, isAgain] = value as [number, string, string, number, 1?];
        this.#names.set(id, device);
        this.#ledger.replay(id, device, boot, seq, isAgain === 1);
        break;
      }
      case KIND.late:
        this.#late.set(...(value as [string, number]));
        break;
      case KIND.gone:
        this.#ledger.declare(...(value as [string, string, number]));
        break;
    }
  }
}
