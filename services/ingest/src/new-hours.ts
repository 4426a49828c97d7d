import { MAX_READINGS_PER_PAYLOAD } from '@tidegauge/readings';
import { type Logger, Recent, Seldom } from '@tidegauge/service';

/** New hours of a client at once: as many as one message may have readings. */
const AT_ONCE = MAX_READINGS_PER_PAYLOAD;
/** And then 1,000 in a second. */
const MS_EACH = 1;
const MOST_WAIT_MS = 10_000;
const MOST_CLIENTS = 10_000;
const LOG_EVERY_MS = 10_000;

/**
 * The rate at which clients may begin series, and send readings of the past: each hour of a series takes the time of ten
 * readings of the present. So one that invents names or times does not take the time of all. A token bucket, in the form of the
 * generic cell rate algorithm.
 */
export class NewHours {
  /** Messages whose acknowledgement came later. */
  delayed = 0;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #log = new Seldom(LOG_EVERY_MS);
  /** When a client has all its new hours again, milliseconds. */
  readonly #fullAt = new Recent<number>(MOST_CLIENTS);

  /** @param now milliseconds */
  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  /** Counts new hours of a client. Returns how long it must wait for its acknowledgement, milliseconds. */
  add(client: string, hours: number): number {
    const now = this.#now();
    const free = now + AT_ONCE * MS_EACH;
    const fullAt = Math.max(now, this.#fullAt.get(client) ?? 0) + hours * MS_EACH;
    this.#fullAt.set(client, Math.min(fullAt, free + MOST_WAIT_MS));
    const waitMs = Math.min(MOST_WAIT_MS, Math.max(0, fullAt - free));
    if (waitMs > 0) this.#report(client, waitMs);
    return waitMs;
  }

  #report(client: string, waitMs: number): void {
    this.delayed += 1;
    if (this.#log.isDue())
      this.#logger.warn(
        { client, waitMs: Math.round(waitMs) },
        'a client begins too many series, or sends too many hours of the past: its acknowledgements come later',
      );
  }
}
