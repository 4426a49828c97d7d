import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import { deviceText, registeredDevices } from '@tidegauge/copy';
import { type Device, now, type Reading, unknownDevice } from '@tidegauge/readings';
import { boundedFetch, type Logger, whyFailed } from '@tidegauge/service';
import { type Store, StoreError } from '@tidegauge/storage';
import { Backoff } from '../backoff.ts';
import { ByteCache } from '../byte-cache.ts';
import { readingBytes } from '../reading-bytes.ts';
import type { Segment } from '../spool.ts';
import type { SpoolEntry } from '../spool-entry.ts';
import { Comparison, type ComparisonDocument } from './comparison.ts';
import { dayOf } from './day-digest.ts';
import { type DayRange, type RelayLog, unite } from './relay-log.ts';
import {
  encodeHeader,
  MOST_DEVICES,
  RELAY_PATH,
  type RelayAnswer,
  type RelayHeader,
  readRelayAnswer,
} from './relay-message.ts';
import { encodeRelayed } from './relayed-lines.ts';

const gzip = promisify(gzipWithCallback);

/** Lines of one request at most, bytes before compression. A timeout halves it down to the least. */
const MOST_BYTES = 256 * 1024;
const LEAST_BYTES = 16 * 1024;
/** With a limit on the bandwidth, the lines of a request are those of so many seconds, so that live readings wait less. */
const PACED_SECONDS = 8;
/** Approximate bytes of a request and its answer besides the body. */
const REQUEST_BYTES = 600;
const TIMEOUT_MS = 60_000;
/** While nothing is sent, the centre receives a request at least so often, milliseconds. */
const HEARTBEAT_MS = 30_000;
/** How long it waits for readings before it looks for other work, milliseconds. */
const IDLE_MS = 5000;
/** Readings that arrive within this time are sent together, so that each fsynced segment has several of them. */
const LINGER_MS = 500;
/** After an answer that does not change by itself, such as one about the key, or for a loop, milliseconds. */
const REFUSED_MS = 30_000;
/** More than one request waits from here on, so live readings are sent besides. */
const LIVE_FROM_BYTES = MOST_BYTES;
/** Memory for live readings that are to be sent, and for the newest time of each device. */
const LIVE_BYTES = 1024 * 1024;
const NEWEST_BYTES = 4 * 1024 * 1024;
/** Memory for what was sent of registered devices. */
const DEVICES_BYTES = 4 * 1024 * 1024;
/** Registered devices are read so often, milliseconds, and never for more than a twentieth of the time. */
const DEVICES_EVERY_MS = 60_000;
const DEVICES_REST = 20;
/** Text of the devices in one request, UTF-16 code units. */
const DEVICES_LENGTH = 64 * 1024;
/** The days before are compared so long after their end, and up to an hour later, microseconds. */
const DAILY_AFTER_US = 3_600_000_000;
/** Days that are compared at most after a pause. */
const MOST_DAILY_DAYS = 31;
/** A warning is repeated at most so often, milliseconds. */
const WARN_EVERY_MS = 600_000;

export interface CentreLinkOptions {
  /** The centre, without user, password and final slash. */
  readonly url: string;
  /** The key that the centre expects; null: it expects none. */
  readonly token: string | null;
  /** Bytes per second, on average; 0: no limit. */
  readonly rate: number;
  readonly log: RelayLog;
  readonly store: Store;
  /** The id and the name of this process. */
  readonly id: string;
  readonly name: string;
  readonly logger: Logger;
}

/** The state of a link as `GET /relay` shows it. */
export interface CentreDocument {
  readonly url: string;
  /** Why the last request failed; null when it succeeded, and before the first one. */
  readonly trouble: string | null;
  /** The last answer; null before the first one. */
  readonly lastContact: string | null;
  readonly backlogBytes: number;
  readonly lagSeconds: number;
  /** Readings that the centre took since the start of this process, and what became of them there. */
  readonly received: number;
  readonly stored: number;
  readonly duplicate: number;
  readonly quarantined: number;
  /** Readings, devices and days that it refused. */
  readonly refused: number;
  /** Bytes of requests, compressed. */
  readonly sentBytes: number;
  /** Days whose readings were dropped and wait to be compared, from the first to the last one. */
  readonly lost: DayRange | null;
  /** The running comparison, or the last one since the start. */
  readonly comparison: ComparisonDocument | null;
}

/** An answer of the centre that refuses a request. */
class Refusal extends Error {
  /** Whether the same request can be accepted later without a change of settings. */
  readonly isPassing: boolean;

  constructor(message: string, isPassing: boolean) {
    super(message);
    this.isPassing = isPassing;
  }
}

/** A part of the log that is being sent. */
interface Sending {
  readonly segment: Segment;
  readonly entries: readonly SpoolEntry[];
  /** Entries that the centre has. */
  sent: number;
}

interface Work {
  readonly comparison: Comparison;
  /** The lost days that it compares; null for others. */
  readonly lost: DayRange | null;
  /** Whether its days count as compared. */
  readonly isDaily: boolean;
}

/**
 * Sends what this process commits to one centre. One request is in progress at a time, in this order: live readings while
 * there is a backlog, the log, registered devices, a comparison, and a sign of life. A failed request is repeated until
 * it succeeds: only then the position in the log advances.
 */
export class CentreLink {
  readonly #options: CentreLinkOptions;
  readonly #end = new AbortController();
  readonly #newest = new ByteCache<number>(NEWEST_BYTES, () => 8);
  readonly #devices = new ByteCache<string>(DEVICES_BYTES, ({ length }) => 2 * length);
  readonly #counts = { received: 0, stored: 0, duplicate: 0, quarantined: 0, refused: 0, sentBytes: 0 };
  #live: Reading[] = [];
  #liveBytes = 0;
  #sending: Sending | null = null;
  #work: Work | null = null;
  /** The running comparison, or the last one. */
  #comparison: Comparison | null = null;
  #requested: { readonly days: DayRange; readonly device: string | null } | null = null;
  #running: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #mostBytes = MOST_BYTES;
  /** When the next request may be sent with a limit on the bandwidth, `performance.now()`. */
  #free = 0;
  #devicesDue = 0;
  #contact = Number.NEGATIVE_INFINITY;
  #lastContact: string | null = null;
  #trouble: string | null = null;
  #warned = Number.NEGATIVE_INFINITY;
  #beyond: readonly string[] = [];

  constructor(options: CentreLinkOptions) {
    this.#options = options;
  }

  /** Ids of the centre and of those to which it relays, as far as they are known. */
  get beyond(): readonly string[] {
    return this.#beyond;
  }

  get document(): CentreDocument {
    const { url, log } = this.#options;
    return {
      url,
      trouble: this.#trouble,
      lastContact: this.#lastContact,
      backlogBytes: log.bytes,
      lagSeconds: this.#lagSeconds,
      ...this.#counts,
      lost: log.lost.reduce<DayRange | null>(unite, null),
      comparison: this.#comparison?.document ?? null,
    };
  }

  /** Keeps committed readings until the centre has them. Resolves when they are on the disk. Does not reject. */
  async append(readings: readonly Reading[], entries: readonly SpoolEntry[]): Promise<void> {
    const isBehind = this.#options.log.bytes > LIVE_FROM_BYTES;
    for (const reading of readings) this.#pass(reading, isBehind);
    await this.#options.log.append(entries);
    this.#wake?.();
  }

  /** Compares days with the centre, as soon as what waits is sent. Requests that have not begun become one. */
  compare(days: DayRange, device: string | null): void {
    const other = this.#requested;
    this.#requested = {
      days: unite(other?.days ?? null, days),
      device: other === null || device === other.device ? device : null,
    };
    this.#wake?.();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the request in progress. What the centre has not answered for is sent after the next start. */
  async stop(): Promise<void> {
    this.#end.abort();
    this.#wake?.();
    await this.#running;
    await this.#options.log.close();
  }

  get #lagSeconds(): number {
    const { since } = this.#options.log;
    return since === null ? 0 : Math.max(0, Math.round((now() - since) / 1e6));
  }

  /**
   * Adds a reading to the live ones if there is a backlog and it is newer than all that is known of its device: it is no
   * correction of a reading in the log then.
   */
  #pass(reading: Reading, isBehind: boolean): void {
    const { device, time } = reading;
    const newest = this.#newest.get(device);
    if (newest !== undefined && time <= newest) return;
    this.#newest.set(device, time);
    if (!isBehind || newest === undefined) return;
    const bytes = readingBytes(reading);
    if (this.#liveBytes + bytes > LIVE_BYTES) {
      // The newest ones count. All are in the log.
      this.#live = [];
      this.#liveBytes = 0;
    }
    this.#live.push(reading);
    this.#liveBytes += bytes;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        const isBusy = await this.#step();
        backoff.reset();
        if (!isBusy) await this.#rest();
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error);
        if (error instanceof Refusal && !error.isPassing)
          await sleep(REFUSED_MS, undefined, { signal }).catch(() => {});
        else await backoff.wait(signal).catch(() => {});
      }
    }
  }

  /** @returns whether there is more to do at once */
  async #step(): Promise<boolean> {
    // Before anything else, the centre answers to whom it relays.
    if (this.#lastContact === null) await this.#post([]);
    await this.#sendLive();
    await this.#sendLog();
    if (this.#sending !== null || this.#options.log.bytes > LIVE_FROM_BYTES) return true;
    await this.#inStore(() => this.#sendDevices());
    const isComparing = (await this.#inStore(() => this.#compareSome())) ?? false;
    if (performance.now() - this.#contact > HEARTBEAT_MS) await this.#post([]);
    return isComparing;
  }

  /** Does work that reads the store of this board. Null: the store is unavailable, and it is tried again later. */
  async #inStore<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#warn({ err: error }, 'the store cannot be read for the relay now');
      return null;
    }
  }

  /** Sends live readings in one request. What does not fit, or fails, is in the log. */
  async #sendLive(): Promise<void> {
    if (this.#live.length === 0) return;
    const live = this.#live;
    this.#live = [];
    this.#liveBytes = 0;
    const lines: Buffer[] = [];
    let bytes = 0;
    for (const part of encodeRelayed(live)) {
      lines.push(part);
      bytes += part.length;
      // The newest parts are the last ones.
      while (lines.length > 1 && bytes > this.#requestBytes) bytes -= lines.shift()!.length;
    }
    await this.#post(lines);
  }

  /** Sends the next part of the log. */
  async #sendLog(): Promise<void> {
    const { log } = this.#options;
    if (this.#sending === null) {
      const oldest = await log.oldest();
      if (oldest === null) return;
      this.#sending = { ...oldest, sent: 0 };
    }
    const { segment, entries, sent } = this.#sending;
    const lines: Uint8Array[] = [];
    let bytes = 0;
    for (let next = sent; next < entries.length; next++) {
      const { payload } = entries[next]!;
      if (lines.length > 0 && bytes + payload.length > this.#requestBytes) break;
      lines.push(payload);
      bytes += payload.length;
    }
    if (lines.length > 0) await this.#post(lines);
    this.#sending.sent += lines.length;
    if (this.#sending.sent < entries.length) return;
    await log.remove(segment);
    this.#sending = null;
  }

  get #requestBytes(): number {
    const { rate } = this.#options;
    const most = this.#mostBytes;
    return rate === 0 ? most : Math.min(most, Math.max(LEAST_BYTES, rate * PACED_SECONDS));
  }

  /** Sends registered devices that are new or changed since this process sent them. */
  async #sendDevices(): Promise<void> {
    const begun = performance.now();
    if (begun < this.#devicesDue) return;
    let changed: { readonly device: Device; readonly digest: string }[] = [];
    let length = 0;
    const send = async () => {
      await this.#post([], { devices: changed.map(({ device }) => device) });
      for (const { device, digest } of changed) this.#devices.set(device.name, digest);
      changed = [];
      length = 0;
    };
    for await (const device of registeredDevices(this.#options.store)) {
      const text = deviceText(device);
      const digest = hash('sha256', text, 'hex').slice(0, 32);
      const known = this.#devices.get(device.name);
      // The centre registers a device without fields itself, with its first reading.
      const isBare = known === undefined && text === deviceText(unknownDevice(device.name));
      if (known === digest || isBare) continue;
      changed.push({ device, digest });
      length += text.length;
      if (changed.length === MOST_DEVICES || length >= DEVICES_LENGTH) await send();
    }
    if (changed.length > 0) await send();
    const rest = DEVICES_REST * (performance.now() - begun);
    this.#devicesDue = performance.now() + Math.max(DEVICES_EVERY_MS, rest);
  }

  /** @returns whether there is more to compare */
  async #compareSome(): Promise<boolean> {
    this.#work ??= this.#nextWork();
    if (this.#work === null) return false;
    const { comparison, lost, isDaily } = this.#work;
    if (await comparison.step()) return true;
    this.#work = null;
    if (isDaily || lost !== null) this.#options.log.wasCompared(comparison.days, lost);
    this.#options.logger.info(comparison.document, 'the board was compared with the centre');
    return this.#requested !== null;
  }

  /** The comparison that is due; null when none is. */
  #nextWork(): Work | null {
    const { log } = this.#options;
    if (this.#requested !== null) {
      const { days, device } = this.#requested;
      this.#requested = null;
      return this.#begin(days, device, null, false);
    }
    const { compared } = log;
    const [lost] = log.lost;
    if (lost !== undefined) return this.#begin(lost, null, lost, false);
    const yesterday = dayOf(now() - DAILY_AFTER_US - this.#delayUs) - 1;
    if (compared >= yesterday) return null;
    // One day is compared a second time, because readings can be late.
    return this.#begin(
      { from: Math.max(compared, yesterday - MOST_DAILY_DAYS, 0), to: yesterday },
      null,
      null,
      true,
    );
  }

  #begin(days: DayRange, device: string | null, lost: DayRange | null, isDaily: boolean): Work {
    const { store, logger } = this.#options;
    const comparison = new Comparison({
      store,
      days,
      device,
      logger,
      compare: (day) => this.#post([], { compare: day }),
      send: (lines) => this.#post([lines]),
    });
    this.#comparison = comparison;
    return { comparison, lost, isDaily };
  }

  /** Boards compare at different times of the hour, microseconds. */
  get #delayUs(): number {
    return (Number.parseInt(hash('sha256', this.#options.id, 'hex').slice(0, 8), 16) % 3600) * 1e6;
  }

  /**
   * Sends one request.
   *
   * @throws {Error} when the centre does not answer, or refuses it
   */
  async #post(lines: readonly Uint8Array[], more: Partial<RelayHeader> = {}): Promise<RelayAnswer> {
    const { url, token, id, name, log } = this.#options;
    const { signal } = this.#end;
    const state = { board: id, name, backlogBytes: log.bytes, lagSeconds: this.#lagSeconds };
    const header = encodeHeader({ ...state, devices: [], compare: null, ...more });
    const body = await gzip(Buffer.concat([header, ...lines]));
    await this.#pace(body.length + REQUEST_BYTES);
    const response = await boundedFetch(`${url}${RELAY_PATH}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-ndjson',
        'Content-Encoding': 'gzip',
        'User-Agent': 'tidegauge',
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      },
      body,
      signal,
      timeoutMs: TIMEOUT_MS,
    });
    this.#counts.sentBytes += body.length;
    const text = await response.text();
    // A link that is refused is no part of a chain.
    this.#beyond = [];
    if (!response.ok) throw refusalOf(response.status, text);
    const answer = readRelayAnswer(text);
    const beyond = [answer.centre, ...answer.beyond];
    if (beyond.includes(id)) {
      this.#lastContact = null;
      throw new Refusal('the centre relays to this board, directly or over others: a loop', false);
    }
    this.#beyond = beyond;
    this.#answered(answer);
    return answer;
  }

  #answered(answer: RelayAnswer): void {
    const { url, logger } = this.#options;
    for (const name of ['received', 'stored', 'duplicate', 'quarantined', 'refused'] as const)
      this.#counts[name] += answer[name];
    this.#mostBytes = Math.min(MOST_BYTES, 2 * this.#mostBytes);
    this.#contact = performance.now();
    this.#lastContact = new Date().toISOString();
    if (this.#trouble !== null) logger.info({ centre: url }, 'the centre takes readings again');
    this.#trouble = null;
    if (answer.refused > 0)
      this.#warn({ devices: answer.refusedDevices }, 'the centre refuses devices that its key may not send');
  }

  #failed(error: unknown): void {
    const { url, logger } = this.#options;
    const { name, message, cause } = error as Error;
    const isLate = name === 'TimeoutError';
    if (isLate) this.#mostBytes = Math.max(LEAST_BYTES, this.#mostBytes / 2);
    const reason = isLate ? 'it took too long' : cause instanceof Error ? whyFailed(cause) : message;
    if (this.#trouble === null)
      logger.warn({ centre: url, reason }, 'the centre cannot be reached, trying again');
    this.#trouble = reason;
  }

  #warn(about: object, text: string): void {
    if (performance.now() - this.#warned < WARN_EVERY_MS) return;
    this.#warned = performance.now();
    this.#options.logger.warn(about, text);
  }

  /** Waits until a request of this size keeps the limit on the bandwidth. */
  async #pace(bytes: number): Promise<void> {
    const { rate } = this.#options;
    if (rate === 0) return;
    const wait = this.#free - performance.now();
    if (wait > 0) await sleep(wait, undefined, { signal: this.#end.signal });
    this.#free = Math.max(this.#free, performance.now()) + (bytes / rate) * 1000;
  }

  /** Waits for readings for some seconds, and then for those that follow. */
  async #rest(): Promise<void> {
    const { signal } = this.#end;
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    const timer = setTimeout(woken.resolve, IDLE_MS);
    if (!this.#options.log.isEmpty || this.#requested !== null || signal.aborted) woken.resolve();
    await woken.promise;
    clearTimeout(timer);
    this.#wake = null;
    await sleep(LINGER_MS, undefined, { signal }).catch(() => {});
  }
}

function refusalOf(status: number, text: string): Refusal {
  const isPassing = status === 408 || status === 429 || (status >= 500 && status !== 508);
  const detail = detailOf(text).slice(0, 300);
  const refusal = new Refusal(
    `the centre answered ${status}${detail === '' ? '' : `: ${detail}`}`,
    isPassing,
  );
  // A proxy answers so when the centre takes too long.
  if (status === 504) refusal.name = 'TimeoutError';
  return refusal;
}

/** The detail of a problem document; empty for another text. */
function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    return typeof detail === 'string' ? detail : '';
  } catch {
    return '';
  }
}
