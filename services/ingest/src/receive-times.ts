import { crc32 } from 'node:zlib';
import { now } from '@tidegauge/readings';

/** Replicas whose times differ for certain. More of them would make the times of one coarser. */
const SLOTS = 16;

/**
 * The times of receipt, unique for each message. They are part of the identity of a reading without a time: two plain values of
 * one metric in one microsecond would otherwise be one reading. Replicas receive messages of one sensor, so each has its
 * own microseconds of every sixteen.
 */
export class ReceiveTimes {
  readonly #slot: number | null;
  #last = 0;

  /** @param replica the name of this process among those that share messages; null: it shares none */
  constructor(replica: string | null) {
    this.#slot = replica === null ? null : slotOf(replica);
  }

  /** The time of a message that has just arrived, microseconds since the epoch. */
  next(): number {
    const time = Math.max(now(), this.#last + 1);
    this.#last = this.#slot === null ? time : time + ((SLOTS + this.#slot - (time % SLOTS)) % SLOTS);
    return this.#last;
  }
}

/** Replicas are mostly numbered at the end of their names. */
function slotOf(replica: string): number {
  const number = /\d{1,9}$/.exec(replica)?.[0];
  return (number === undefined ? crc32(replica) : Number(number)) % SLOTS;
}
