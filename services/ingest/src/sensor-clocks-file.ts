import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { Logger } from '@tidegauge/service';
import { readFrames, splitFrames } from './frames.ts';
import { jsonEntry } from './ledger/ledger-entries.ts';
import { type ClockState, SensorClocks } from './sensor-clocks.ts';

/** Entries after the state from which the file is written again, unless the state is larger. */
const LEAST_ENTRY_BYTES = 1024 * 1024;
/** States that are written at once. */
const STATES_AT_ONCE = 1000;
/** Time between two attempts to write a file that could not be written. */
const RETRY_MS = 60_000;
/** The version of the format. Entries of another version are not read. */
const FORMAT = 1;
/** A format and `{}`. */
const LEAST_BODY = 2;

/**
 * Keeps the clocks of sensors without a clock in a file, so that a message that is received again after a restart has
 * the times that it had before. An entry is appended before the readings are stored, without a sync: the kernel has it
 * when the process is killed. A power cut can lose the last entries.
 *
 * The file begins with the state of all clocks. It is written again when the entries after it have 1 MiB, or as many bytes
 * as the state. If it cannot be written, that is logged once and tried again once a minute.
 */
export class SensorClocksFile {
  readonly clocks = new SensorClocks();
  readonly #path: string;
  readonly #logger: Logger;
  #descriptor: number | null = null;
  #bytes = 0;
  #stateBytes = 0;
  #failed: number | null = null;

  /** Reads the file of an earlier process. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    try {
      if (existsSync(path)) this.#read(readFileSync(path));
    } catch (error) {
      this.#fail(error as Error);
    }
    this.#rewrite();
    this.clocks.journal = (states) => this.#append(states);
  }

  close(): void {
    this.clocks.journal = null;
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #read(data: Buffer): void {
    const { sound, damaged } = splitFrames(data, LEAST_BODY);
    for (const run of sound) {
      for (const { body } of readFrames(run, LEAST_BODY)) {
        if (body[0] === FORMAT) this.clocks.restore(JSON.parse(body.toString('utf8', 1)) as ClockState);
      }
    }
    if (damaged.length === 0) return;
    const bytes = damaged.reduce((sum, { length }) => sum + length, 0);
    this.#logger.warn(
      { file: this.#path, bytes },
      'a part of the file of the clocks of sensors without a clock is torn or damaged: their messages that are sent again may be stored twice',
    );
  }

  #append(states: readonly ClockState[]): void {
    if (this.#descriptor === null && performance.now() - this.#failed! < RETRY_MS) return;
    const isLarge = this.#bytes - this.#stateBytes > Math.max(LEAST_ENTRY_BYTES, this.#stateBytes);
    try {
      if (this.#descriptor === null || isLarge) this.#rewrite();
      else this.#write(this.#descriptor, states);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Replaces the file by the present state. */
  #rewrite(): void {
    let next: number | null = null;
    try {
      next = openSync(`${this.#path}.new`, 'w', 0o600);
      this.#bytes = 0;
      let states: ClockState[] = [];
      for (const state of this.clocks.states()) {
        states.push(state);
        if (states.length < STATES_AT_ONCE) continue;
        this.#write(next, states);
        states = [];
      }
      this.#write(next, states);
      renameSync(`${this.#path}.new`, this.#path);
      if (this.#descriptor !== null) closeSync(this.#descriptor);
      this.#descriptor = next;
      this.#stateBytes = this.#bytes;
      if (this.#failed !== null) this.#logger.info('the clocks of sensors are kept again');
      this.#failed = null;
    } catch (error) {
      if (next !== null) closeSync(next);
      this.#fail(error as Error);
    }
  }

  #write(descriptor: number, states: readonly ClockState[]): void {
    const data = Buffer.concat(states.map((state) => jsonEntry(FORMAT, state)));
    for (let written = 0; written < data.length; )
      written += writeSync(descriptor, data, written, data.length - written);
    this.#bytes += data.length;
  }

  /** The file lacks entries from now on, so it is written again as a whole. */
  #fail(error: Error): void {
    if (this.#failed === null)
      this.#logger.error(
        { err: error, file: this.#path },
        'the clocks of sensors without a clock cannot be kept, retrying: their messages that are sent again after a restart may be stored twice',
      );
    this.#failed = performance.now();
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}
