import { setTimeout as sleep } from 'node:timers/promises';
import { firstLevelOf } from '@tidegauge/readings';
import { type Logger, RoundRobin } from '@tidegauge/service';
import type { Alert } from './book.ts';

/** What happened to an alert; `test` is for messages that a person requests. */
export type AlertEvent = 'raised' | 'ended' | 'test';

/** A message about an alert that a receiver should get. */
export interface Notice {
  readonly event: AlertEvent;
  readonly alert: Alert;
}

/** Delivers a message in bounded time. Rejects when the receiver did not accept it. */
export type Send = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** The receiver refused a message and would refuse it again. */
export class NoticeRefused extends Error {
  override readonly name = 'NoticeRefused';
}

export interface ChannelOptions {
  /** Its name in metrics and in the kept state. */
  readonly name: string;
  /** Differs when another receiver has the same name. */
  readonly version: string;
  readonly send: Send;
  /** Called when a message was accepted or given up. */
  readonly onDone: (notice: Notice) => void;
  readonly logger: Logger;
  readonly firstDelayMs?: number;
}

/** Messages that wait at most: about 1 MiB. Beyond it the client with the most loses its oldest. */
const MOST_WAITING = 2000;
/** The first and the longest delay between two attempts, milliseconds. */
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 300_000;
/** Attempts for a message that the receiver refuses. Others are tried until `MAX_AGE`. */
const MOST_REFUSALS = 5;
/** A message about an alert that was raised or ended before is given up, microseconds. */
const MAX_AGE = 86_400_000_000;

/**
 * Delivers messages about alerts to one receiver, one at a time, with exponential back-off (full jitter). The clients of
 * devices take turns, and the messages of a client keep their order. A receiver that hangs or refuses delays its own
 * messages only.
 */
export class Channel {
  readonly name: string;
  readonly version: string;
  readonly counts = { sent: 0, failed: 0, dropped: 0 };
  readonly #options: ChannelOptions;
  readonly #now: () => number;
  #waiting = new RoundRobin<Notice>();
  /** The message that is under way. */
  #current: Notice | null = null;
  #isRunning = false;
  #isFailing = false;
  #abort = new AbortController();

  /** @param now microseconds since the epoch */
  constructor(options: ChannelOptions, now: () => number) {
    this.name = options.name;
    this.version = options.version;
    this.#options = options;
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting.size + (this.#current === null ? 0 : 1);
  }

  /** How long the oldest message has waited, seconds. */
  get oldestSeconds(): number {
    let oldest = this.#now();
    if (this.#current !== null) oldest = Math.min(oldest, timeOf(this.#current));
    for (const notice of this.#waiting.oldest()) oldest = Math.min(oldest, timeOf(notice));
    return (this.#now() - oldest) / 1e6;
  }

  push(notice: Notice): void {
    this.#waiting.push(firstLevelOf(notice.alert.device), notice);
    if (this.waiting > MOST_WAITING) this.#drop(this.#waiting.dropOldest()!);
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run(this.#abort.signal);
  }

  /** Delivers a message now, once, and before those that wait. Rejects when the receiver did not accept it. */
  async test(notice: Notice): Promise<void> {
    await this.#options.send(notice, this.#abort.signal);
  }

  /** Ends the delivery and removes all messages. They stay in the kept state. */
  clear(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#waiting = new RoundRobin();
    this.#current = null;
    this.#isRunning = false;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const firstDelayMs = this.#options.firstDelayMs ?? FIRST_DELAY_MS;
    let delayMs = firstDelayMs;
    let refusals = 0;
    while (!signal.aborted) {
      const notice = this.#next();
      if (notice === null) return;
      const error = await this.#try(notice, signal);
      if (signal.aborted) return;
      if (error instanceof NoticeRefused) refusals++;
      const isOver = error === null || refusals >= MOST_REFUSALS || this.#now() - timeOf(notice) > MAX_AGE;
      if (isOver) {
        this.#current = null;
        if (error === null) this.#sent(notice);
        else this.#drop(notice);
        delayMs = firstDelayMs;
        refusals = 0;
        continue;
      }
      await sleep(Math.random() * delayMs, undefined, { signal, ref: false }).catch(() => {});
      delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS);
    }
  }

  /** The message whose turn it is; null when none waits, and the delivery ends. */
  #next(): Notice | null {
    this.#current ??= this.#waiting.shift() ?? null;
    this.#isRunning = this.#current !== null;
    return this.#current;
  }

  async #try(notice: Notice, signal: AbortSignal): Promise<Error | null> {
    try {
      await this.#options.send(notice, signal);
      return null;
    } catch (error) {
      if (signal.aborted) return error as Error;
      this.counts.failed++;
      const { message } = error as Error;
      const { name: channel, logger } = this.#options;
      const what = { channel, reason: message, waiting: this.waiting };
      if (!this.#isFailing) logger.warn(what, 'a message about an alert was not accepted, retrying');
      this.#isFailing = true;
      return error as Error;
    }
  }

  #sent(notice: Notice): void {
    this.counts.sent++;
    if (this.#isFailing)
      this.#options.logger.info({ channel: this.name }, 'messages about alerts are accepted again');
    this.#isFailing = false;
    this.#options.onDone(notice);
  }

  #drop(notice: Notice): void {
    this.counts.dropped++;
    const { alert, event } = notice;
    const what = { channel: this.name, alert: alert.id, rule: alert.rule, event };
    this.#options.logger.error(what, 'a message about an alert was given up');
    this.#options.onDone(notice);
  }
}

/** When the event of a message happened. */
function timeOf({ event, alert }: Notice): number {
  return event === 'ended' ? (alert.ended ?? alert.raised) : alert.raised;
}
