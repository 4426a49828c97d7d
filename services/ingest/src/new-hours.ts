import { MAX_READINGS_PER_PAYLOAD } from '@tidegauge/readings';
import { Recent } from '@tidegauge/service';

/** New hours of a client at once: as many as one message may have readings. */
const AT_ONCE = MAX_READINGS_PER_PAYLOAD;
/** And then 1,000 in a second. */
const MS_EACH = 1;
const MOST_WAIT_MS = 10_000;
const MOST_CLIENTS = 10_000;

/**
 * The rate at which clients may begin series, and send readings of the past: each hour of a series takes the time of ten
 * readings of the present. So one that invents names or times does not take the time of all. A token bucket, in the form of the
 * generic cell rate algorithm.
 */
export class NewHours {
  readonly #now: () => number;
  /** When a client has all its new hours again, milliseconds. */
  readonly #fullAt = new Recent<number>(MOST_CLIENTS);

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts new hours of a client. Returns how long it must wait for its acknowledgement, milliseconds. */
  add(client: string, hours: number): number {
    const now = this.#now();
    const free = now + AT_ONCE * MS_EACH;
    const fullAt = Math.max(now, this.#fullAt.get(client) ?? 0) + hours * MS_EACH;
    this.#fullAt.set(client, Math.min(fullAt, free + MOST_WAIT_MS));
    return Math.min(MOST_WAIT_MS, Math.max(0, fullAt - free));
  }
}
