// A relative path, because k6 does not resolve packages.
import { seeded } from '../../../packages/workload/src/index.ts';
import type { IngestPart } from './plan.ts';

export interface ReadingMessage {
  readonly topic: string;
  readonly payload: string;
}

/**
 * The messages that a thread publishes. Its devices take turns, and each reading has its device's next `seq`, so that
 * the ledger of ingest shows every gap.
 */
export class ReadingsStream {
  /** A topic filter for all topics of this thread, and no others. */
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

  /**
   * @param now microseconds since the epoch. A clock of milliseconds is sufficient, because each reading is at least
   *   one microsecond later than the previous one.
   */
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
