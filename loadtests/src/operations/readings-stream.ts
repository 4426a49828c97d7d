// A relative path, because k6 does not resolve packages.
import { seeded } from '../../../packages/workload/src/index.ts';
import type { IngestPart } from './plan.ts';

export interface ReadingMessage {
  readonly topic: string;
  readonly payload: string;
}

/** What a thread publishes: its devices in turn, each with its next `seq`, so that ingest's ledger finds any gap. */
export class ReadingsStream {
  /** Matches all topics of this thread and no other's. */
  readonly filter: string;
  readonly #topics: readonly string[];
  readonly #boot: string;
  readonly #random: { double(): number };
  #number = 0;
  #time = 0;

  constructor({ devices, model, run }: IngestPart, seed: number, thread: number) {
    const own = Math.ceil(devices / model.threads);
    const base = `sensors/${run}/t${thread}`;
    this.filter = `${base}/#`;
    this.#topics = Array.from({ length: own }, (_, device) => `${base}/probe-${device}/temperature`);
    this.#boot = run;
    this.#random = seeded(seed, thread);
  }

  /** @param now microseconds since the epoch; a clock of milliseconds will do, for no two readings have one time */
  next(now: number): ReadingMessage {
    const number = this.#number++;
    this.#time = Math.max(now, this.#time + 1);
    const seq = Math.floor(number / this.#topics.length);
    const value = Math.round(this.#random.double() * 1000) / 10;
    return {
      topic: this.#topics[number % this.#topics.length]!,
      payload: `{"t":${this.#time},"v":${value},"boot":"${this.#boot}","seq":${seq}}`,
    };
  }
}
