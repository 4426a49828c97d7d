import type { Hold } from './lane.ts';

/**
 * How long messages wait for others in one commit while no sender waits for them, and the readings that end the wait. At
 * higher rates a longer wait would save few bytes and cost memory.
 */
export const HOLD: Hold = { ms: 200, weight: 250 };

/** A shorter wait for an acknowledgement shows nothing, because a commit can take as long, milliseconds. */
const LEAST_WAIT_MS = 25;
/** A sender that waits is silent for at least this part of the wait. One with a schedule is not, if it publishes more often. */
const SILENT_SHARE = 2 / 3;
/** It continues after the acknowledgement, within this part of its silence. */
const PROMPT_SHARE = 1 / 4;
/** So often in a row that must happen. With a message every 110 to 250 ms, it happens by chance in one of five waits. */
const ROW = 6;
/** How long a finding counts. Then one message is held again, to repeat the test. */
const FOUND_MS = 10_000;

/**
 * Finds out whether the sender of a connection waits for acknowledgements: a sensor for each of them, or a broker at its
 * limit of messages in flight. Such a sender is silent until the acknowledgement, and continues at once after it. A sensor
 * with a schedule publishes at its own times, whatever is acknowledged.
 *
 * A new connection counts as one that waits for each acknowledgement. So a sensor that connects for one message, and
 * disconnects after its acknowledgement, is not delayed.
 */
export class AckDemand {
  readonly #clock: () => number;
  /** Messages in flight at which the sender waits; infinite: it does not wait. */
  #window = 1;
  #until: number;
  #inRow = 0;
  #inFlight = 0;
  /** Messages in flight when the last message had arrived. */
  #stoppedAt = 0;
  /** When the first message after the last acknowledgement arrived. */
  #first: number;
  /** When the last message arrived. */
  #arrived: number;
  /** When the last message was acknowledged. */
  #settled = Number.NEGATIVE_INFINITY;

  /** @param clock milliseconds */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#first = clock();
    this.#arrived = this.#first;
    this.#until = this.#first + FOUND_MS;
  }

  /**
   * Counts a message.
   *
   * @param now of the clock
   * @returns whether the sender may now be waiting
   */
  arrived(now: number): boolean {
    if (this.#settled > this.#arrived) {
      this.#judge(now);
      this.#first = now;
    }
    if (now > this.#until && this.#window !== Number.POSITIVE_INFINITY) {
      this.#window = Number.POSITIVE_INFINITY;
      this.#inRow = ROW - 1;
    }
    this.#arrived = now;
    this.#stoppedAt = ++this.#inFlight;
    return this.#inFlight >= this.#window;
  }

  /** Counts a message that is acknowledged. Call it once for each message that arrived. */
  settled(): void {
    this.#inFlight--;
    this.#settled = this.#clock();
  }

  /** Looks at the wait for the last acknowledgement, and at the time from there to this message. */
  #judge(now: number): void {
    const wait = this.#settled - this.#first;
    if (wait < LEAST_WAIT_MS) return;
    const silence = this.#settled - this.#arrived;
    if (silence < SILENT_SHARE * wait || now - this.#settled > PROMPT_SHARE * silence) {
      this.#inRow = 0;
      return;
    }
    this.#inRow++;
    if (this.#inRow >= ROW) {
      this.#window = this.#stoppedAt;
      this.#until = now + FOUND_MS;
      this.#inRow = 0;
    } else if (this.#window !== Number.POSITIVE_INFINITY)
      this.#window = Math.min(this.#window, this.#stoppedAt);
  }
}
