import { firstLevelOf, type ResendDocument } from '@tidegauge/readings';
import { RoundRobin } from '@tidegauge/service';
import { DeviceShares } from '../device-shares.ts';
import type { OpenBoot, SequenceLedger } from '../ledger/sequence-ledger.ts';

/** Ranges and numbers of one request, which then has less than 512 bytes with usual names. */
const MAX_RANGES = 16;
const MAX_NUMBERS = 1000;
/** From the first sight of a gap to its request, because a late reading closes it; and the first interval. */
const FIRST_MS = 5000;
/** Each request without an effect doubles the interval, up to this. */
const LONGEST_MS = 3_600_000;
/** A device that no connection receives requests for is looked at again after this time. */
const ABSENT_MS = 10_000;
/** A device that sends again after a longer silence may have been switched off, and can answer now. */
const SILENT_MS = 60_000;
/** For how many requests without any answer a new gap is requested as soon as the first one. */
const PATIENCE = 4;

/** Requests of all devices together: 5 a second and 0.5 % of the messages, 500 at once. */
const REQUESTS_PER_SECOND = 5;
const REQUESTS_PER_MESSAGE = 0.005;
const MOST_AT_ONCE = 500;
/** Readings that are requested in one call, so that the answers are no flood. */
const NUMBERS_AT_ONCE = 5000;

/** Devices that are followed: about 4 MiB. A client has as many as are free. */
const MAX_DEVICES = 10_000;
/** Devices that are looked at in one call: a few milliseconds. */
const NAMES_AT_ONCE = 20_000;
const DEVICES_AT_ONCE = 2000;

/** The last request of a device: all missing numbers of a boot between two of them. */
interface Asked {
  readonly boot: string;
  readonly from: number;
  readonly to: number;
  /** How many of them are missing. */
  left: number;
}

/** A device with missing readings. */
interface Entry {
  readonly device: string;
  /** Requests since the last one that had an effect. */
  tries: number;
  dueAt: number;
  asked: Asked | null;
  /** Whether any request had an effect. */
  hasAnswered: boolean;
  /** The highest number of its newest boot, and when it changed. */
  highest: number;
  activeAt: number;
}

/**
 * Sends a request to the sensor of its device.
 *
 * @returns false when nobody can receive it
 */
export type SendRequest = (request: ResendDocument) => boolean;

/**
 * Decides when missing readings are requested from their sensors. A pass goes through the gaps of a device from the newest
 * to the oldest, a part in each request. When all numbers of a request have arrived, the next one follows at once. Without
 * an answer the intervals grow, from 5 seconds to an hour.
 *
 * All devices share a number of requests. Clients take turns, and of each the devices with the fewest tries come
 * first, so that sensors that never answer do not delay others.
 */
export class ResendPlan {
  /** Requests that were sent. */
  requests = 0;
  readonly #ledger: SequenceLedger;
  readonly #send: SendRequest;
  /** In the order in which they are looked at. */
  readonly #entries = new Map<string, Entry>();
  readonly #shares = new DeviceShares(MAX_DEVICES);
  #names: Iterator<string> | null = null;
  #credit = MOST_AT_ONCE;
  #creditAt: number | null = null;
  #messages = 0;

  constructor(ledger: SequenceLedger, send: SendRequest) {
    this.#ledger = ledger;
    this.#send = send;
  }

  /** Devices that are followed now. */
  get devices(): number {
    return this.#entries.size;
  }

  /**
   * Sends the requests that are due. Call it about once a second, while readings can be stored.
   *
   * @param now milliseconds of a clock that never goes back
   * @param messages how many messages have arrived so far
   */
  tick(now: number, messages: number): void {
    const { missing, gone } = this.#ledger;
    if (missing === gone && this.#entries.size === 0) return;
    this.#earn(now, messages);
    this.#find(now);
    const due = this.#due(now);
    let numbers = NUMBERS_AT_ONCE;
    for (let entry = due.shift(); entry !== undefined; entry = due.shift()) {
      if (this.#credit < 1 || numbers <= 0) return;
      numbers -= this.#request(entry, now);
    }
  }

  #earn(now: number, messages: number): void {
    const seconds = this.#creditAt === null ? 0 : (now - this.#creditAt) / 1000;
    const earned = seconds * REQUESTS_PER_SECOND + (messages - this.#messages) * REQUESTS_PER_MESSAGE;
    this.#credit = Math.min(MOST_AT_ONCE, this.#credit + earned);
    this.#creditAt = now;
    this.#messages = messages;
  }

  /** Looks for devices with missing readings, some at a time. */
  #find(now: number): void {
    this.#names ??= this.#ledger.names()[Symbol.iterator]();
    for (let looked = 0; looked < NAMES_AT_ONCE; looked++) {
      const { value: device, done } = this.#names.next();
      if (done === true) {
        this.#names = null;
        return;
      }
      if (!this.#entries.has(device) && this.#ledger.open(device).length > 0) this.#add(device, now);
    }
  }

  #add(device: string, now: number): void {
    if (!this.#shares.take(device, 1)) return;
    this.#entries.set(device, {
      device,
      tries: 0,
      dueAt: now + FIRST_MS,
      asked: null,
      hasAnswered: false,
      highest: this.#ledger.highest(device),
      activeAt: now,
    });
  }

  #remove({ device }: Entry): void {
    if (this.#entries.delete(device)) this.#shares.add(device, -1);
  }

  /** The devices that are due, some at a time, in the order in which they have their turns. */
  #due(now: number): RoundRobin<Entry> {
    const found: Entry[] = [];
    let left = Math.min(this.#entries.size, DEVICES_AT_ONCE);
    for (const entry of this.#entries.values()) {
      if (left-- === 0) break;
      if (this.#ledger.open(entry.device).length === 0) {
        this.#remove(entry);
        continue;
      }
      this.#look(entry, now);
      if (entry.dueAt <= now) found.push(entry);
      // Others come first next time.
      this.#entries.delete(entry.device);
      this.#entries.set(entry.device, entry);
    }
    found.sort((a, b) => a.tries - b.tries);
    const due = new RoundRobin<Entry>();
    for (const entry of found) due.push(firstLevelOf(entry.device), entry);
    return due;
  }

  /** Notes what has arrived since the last request of a device. */
  #look(entry: Entry, now: number): void {
    const { asked } = entry;
    if (asked !== null && asked.left > 0) {
      const left = this.#ledger.openBetween(entry.device, asked.boot, asked.from, asked.to);
      if (left < asked.left) {
        entry.hasAnswered = true;
        entry.tries = 0;
        // While the answers arrive, the next request waits for an interval.
        entry.dueAt = left === 0 ? now : now + FIRST_MS;
      }
      asked.left = left;
    }
    const highest = this.#ledger.highest(entry.device);
    if (highest === entry.highest) return;
    const silence = now - entry.activeAt;
    const isBack = silence > Math.max(SILENT_MS, interval(entry.tries) / 8);
    if (isBack) entry.dueAt = Math.min(entry.dueAt, now);
    if ((isBack || entry.hasAnswered || entry.tries < PATIENCE) && this.#hasNewGap(entry, highest)) {
      // Another pass begins with it.
      entry.asked = null;
      entry.dueAt = Math.min(entry.dueAt, now + FIRST_MS);
    }
    entry.highest = highest;
    entry.activeAt = now;
  }

  /** Whether numbers are missing that were not when the device was looked at last. */
  #hasNewGap({ device, highest: before }: Entry, highest: number): boolean {
    const [newest] = this.#ledger.open(device);
    const [range] = newest?.between(Number.MAX_SAFE_INTEGER, 1, 1) ?? [];
    return range !== undefined && (range[1] > before || highest < before);
  }

  /** Sends the next request of a device. Returns the count of its numbers. */
  #request(entry: Entry, now: number): number {
    const { device, asked } = entry;
    const next = nextPart(this.#ledger.open(device), asked);
    if (next === null) {
      this.#remove(entry);
      return 0;
    }
    if (!this.#send({ device, ...next })) {
      entry.dueAt = now + ABSENT_MS;
      return 0;
    }
    this.#credit -= 1;
    this.requests += 1;
    const { boot, ranges } = next;
    const left = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    entry.asked = { boot, from: ranges[0]![0], to: ranges.at(-1)![1], left };
    entry.tries += 1;
    entry.dueAt = now + interval(entry.tries);
    return left;
  }
}

/** The part of a pass that follows the last request, or the first part of another pass; null when nothing is missing. */
function nextPart(boots: readonly OpenBoot[], asked: Asked | null): Omit<ResendDocument, 'device'> | null {
  const at = boots.findIndex(({ boot }) => boot === asked?.boot);
  const below = boots[at]?.between(asked!.from - 1, MAX_RANGES, MAX_NUMBERS) ?? [];
  if (below.length > 0) return { boot: asked!.boot, ranges: below };
  // The boot after it is an older one, and after the oldest one a pass begins with the newest.
  for (const { boot, between } of [...boots.slice(at + 1), ...boots.slice(0, at + 1)]) {
    const ranges = between(Number.MAX_SAFE_INTEGER, MAX_RANGES, MAX_NUMBERS);
    if (ranges.length > 0) return { boot, ranges };
  }
  return null;
}

/** Milliseconds until the next request after a number of tries. */
function interval(tries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, tries - 1));
}
