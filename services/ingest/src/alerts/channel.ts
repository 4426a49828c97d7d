import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@tidegauge/service';
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

/** Messages that wait at most: about 1 MiB. */
const MOST_WAITING = 2000;
/** The first and the longest delay between two attempts, milliseconds. */
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 300_000;
/** Attempts for a message that the receiver refuses. Others are tried until `MAX_AGE`. */
const MOST_REFUSALS = 5;
/** A message about an alert that was raised or ended before is given up, microseconds. */
const MAX_AGE = 86_400_000_000;

/**
 * Delivers messages about alerts to one receiver, in order and one at a time, with exponential back-off (full jitter).
 * A receiver that hangs or refuses delays its own messages only. When too many messages wait, the oldest are given up.
 */
export class Channel {
  readonly name: string;
  readonly version: string;
  readonly counts = { sent: 0, failed: 0, dropped: 0 };
  readonly #options: ChannelOptions;
  readonly #now: () => number;
  #waiting: Notice[] = [];
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
    return this.#waiting.length;
  }

  /** How long the oldest message has waited, seconds. */
  get oldestSeconds(): number {
    const oldest = this.#waiting[0];
    return oldest === undefined ? 0 : Math.max(0, (this.#now() - timeOf(oldest)) / 1e6);
  }

  push(notice: Notice): void {
    this.#waiting.push(notice);
    // The first one may be under way.
    if (this.#waiting.length > MOST_WAITING) this.#drop(this.#waiting.splice(1, 1)[0]!);
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
    this.#waiting = [];
    this.#isRunning = false;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const firstDelayMs = this.#options.firstDelayMs ?? FIRST_DELAY_MS;
    let delayMs = firstDelayMs;
    let refusals = 0;
    while (!signal.aborted) {
      const notice = this.#waiting[0];
      if (notice === undefined) {
        this.#isRunning = false;
        return;
      }
      const error = await this.#try(notice, signal);
      if (signal.aborted) return;
      if (error instanceof NoticeRefused) refusals++;
      const isOver = error === null || refusals >= MOST_REFUSALS || this.#now() - timeOf(notice) > MAX_AGE;
      if (isOver) {
        this.#waiting.shift();
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

  async #try(notice: Notice, signal: AbortSignal): Promise<Error | null> {
    try {
      await this.#options.send(notice, signal);
      return null;
    } catch (error) {
      if (signal.aborted) return error as Error;
      this.counts.failed++;
      const { message } = error as Error;
      const { name: channel, logger } = this.#options;
      const what = { channel, reason: message, waiting: this.#waiting.length };
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
