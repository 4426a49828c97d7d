import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { OUTCOMES, type Outcome } from '@tidegauge/loadtests/operations/outcome';
import { OPERATION_NAMES, OPERATION_TYPES, type OperationType } from '../operation-names.ts';
import type { TrialObserver } from './operation-set.ts';

/** Names of operations in the archive, by their number in a row, which has 7 bits for it. */
const OPERATIONS = OPERATION_TYPES.map((type) => OPERATION_NAMES[type].toUpperCase());
const CODES = Object.fromEntries(OPERATION_TYPES.map((type, index) => [type, index])) as Readonly<
  Record<OperationType, number>
>;
const STATUS = Object.fromEntries(OUTCOMES.map((outcome, index) => [outcome, index])) as Readonly<
  Record<Outcome, number>
>;

/** 5 words of 32 bits: start, latency, thread, flags (part, status, operation), and turn. */
const WORDS = 5;
const BLOCK_ROWS = 52_428;
const BLOCK_BYTES = BLOCK_ROWS * WORDS * 4;
/** Memory for rows. Further blocks go to a file during the run: one write of 1 MiB for 52,428 operations. */
const MEMORY_BYTES = 64 * 2 ** 20;
/** Largest latency of a row, in microseconds: 71 minutes. */
const MAX_WORD = 2 ** 32 - 1;
const LINES = 4096;

export interface RecorderOptions {
  /** Memory for rows, in bytes. */
  readonly memoryBytes?: number;
  /** `give` is called when this number of whole operations has ended. */
  readonly notice?: { readonly at: number; readonly give: () => void };
}

export interface RecorderTotals {
  readonly rows: number;
  /** Operations that are not a part of another one, by their outcome. */
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  /** From the start of the first operation to the end of the last one. */
  readonly seconds: number;
  /** Reads whose values were wrong. */
  readonly damaged: number;
}

/**
 * Keeps every operation of a run in typed arrays: 20 bytes each, at most 64 MiB. Later blocks are in a file. The text
 * is made after the run, outside the measured time.
 *
 * A run can take turns with others. Its clock, from which starts count, stands still between its turns.
 */
export class Recorder implements TrialObserver {
  readonly #spillPath: string;
  readonly #notice: RecorderOptions['notice'] | null;
  #whole = 0;
  readonly #memoryBlocks: number;
  /** The zero of `start_us` in the present turn, a time of `performance.now()`. */
  origin: number;
  #turn = 0;
  /** When the clock was stopped, a time of `performance.now()`. null: it runs. */
  #stopped: number | null = null;
  readonly #kept: Uint32Array[] = [];
  #block = new Uint32Array(BLOCK_ROWS * WORDS);
  #used = 0;
  #spill: number | null = null;
  #spilled = 0;
  #rows = 0;
  #first = Number.POSITIVE_INFINITY;
  #last = 0;
  #damaged = 0;
  readonly #outcomes = new Uint32Array(OUTCOMES.length);

  /** @param spillPath a file for blocks that do not fit into memory; it is removed by `close` */
  constructor(spillPath: string, { memoryBytes = MEMORY_BYTES, notice }: RecorderOptions = {}) {
    this.#spillPath = spillPath;
    this.#notice = notice ?? null;
    this.#memoryBlocks = Math.max(1, Math.floor(memoryBytes / BLOCK_BYTES));
    this.origin = performance.now();
  }

  /** Starts the clock again, for the next turn. Turns count from 1; before the first one, rows are in turn 1. */
  beginTurn(): void {
    const now = performance.now();
    this.origin = this.#stopped === null ? now : this.origin + now - this.#stopped;
    this.#stopped = null;
    this.#turn += 1;
  }

  /** Stops the clock, unless it is stopped. All operations of the turn have ended. */
  endTurn(): void {
    this.#stopped ??= performance.now();
  }

  ended(
    type: OperationType,
    outcome: Outcome,
    begun: number,
    end: number,
    thread: number,
    isPart: boolean,
  ): void {
    const start = Math.max(0, Math.round((begun - this.origin) * 1000));
    const latency = Math.min(MAX_WORD, Math.max(0, Math.round((end - begun) * 1000)));
    const status = STATUS[outcome];
    const block = this.#block;
    const at = this.#used;
    const upper = start > MAX_WORD ? Math.floor(start / 2 ** 32) : 0;
    block[at] = start - upper * 2 ** 32;
    block[at + 1] = latency;
    block[at + 2] = thread;
    // The upper part of the start is in the flags: 16 bits are 8 years.
    block[at + 3] = (upper << 16) | (status << 8) | (CODES[type] << 1) | (isPart ? 1 : 0);
    block[at + 4] = Math.max(1, this.#turn);
    this.#used = at + WORDS;
    this.#rows += 1;
    if (start < this.#first) this.#first = start;
    if (start + latency > this.#last) this.#last = start + latency;
    if (!isPart) {
      this.#outcomes[status]! += 1;
      this.#whole += 1;
      if (this.#whole === this.#notice?.at) this.#notice.give();
    }
    if (this.#used === block.length) this.#next();
  }

  verified(intact: boolean): void {
    if (!intact) this.#damaged += 1;
  }

  totals(): RecorderTotals {
    const outcomes: Partial<Record<Outcome, number>> = {};
    for (const [index, count] of this.#outcomes.entries()) if (count > 0) outcomes[OUTCOMES[index]!] = count;
    const seconds = this.#rows === 0 ? 0 : (this.#last - this.#first) / 1e6;
    return { rows: this.#rows, outcomes, seconds, damaged: this.#damaged };
  }

  /** The rows as text, a few thousand lines at once, in the order in which the operations ended. */
  *lines(): Generator<string> {
    for (const block of this.#kept) yield* textOf(block, block.length);
    if (this.#spill !== null) {
      const block = new Uint32Array(BLOCK_ROWS * WORDS);
      for (let index = 0; index < this.#spilled; index += 1) {
        readSync(this.#spill, block, 0, BLOCK_BYTES, index * BLOCK_BYTES);
        yield* textOf(block, block.length);
      }
    }
    yield* textOf(this.#block, this.#used);
  }

  /** Frees the memory and removes the file. */
  close(): void {
    this.#kept.length = 0;
    if (this.#spill === null) return;
    closeSync(this.#spill);
    rmSync(this.#spillPath, { force: true });
    this.#spill = null;
  }

  #next(): void {
    this.#used = 0;
    if (this.#kept.length + 1 < this.#memoryBlocks) {
      this.#kept.push(this.#block);
      this.#block = new Uint32Array(BLOCK_ROWS * WORDS);
      return;
    }
    this.#spill ??= openSync(this.#spillPath, 'w+');
    const bytes = Buffer.from(this.#block.buffer);
    for (let written = 0; written < BLOCK_BYTES; ) {
      const position = this.#spilled * BLOCK_BYTES + written;
      written += writeSync(this.#spill, bytes, written, BLOCK_BYTES - written, position);
    }
    this.#spilled += 1;
  }
}

function* textOf(block: Uint32Array, words: number): Generator<string> {
  let text = '';
  for (let at = 0; at < words; at += WORDS) {
    const flags = block[at + 3]!;
    const start = block[at]! + (flags >>> 16) * 2 ** 32;
    const operation = OPERATIONS[(flags >> 1) & 127];
    const status = OUTCOMES[(flags >> 8) & 255];
    text += `${start},${operation},${block[at + 1]},${status},${block[at + 2]},${flags & 1},${block[at + 4]}\n`;
    if ((at / WORDS) % LINES === LINES - 1) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}
