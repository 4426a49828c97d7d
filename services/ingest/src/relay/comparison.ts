import { dayName } from '@tidegauge/copy';
import { now } from '@tidegauge/readings';
import type { Logger } from '@tidegauge/service';
import { isDamaged, type RangeCursor, type Store, StoreError } from '@tidegauge/storage';
import { dayFigures, dayOf, MOST_DAY, nextDay, readingsOfDay } from './day-digest.ts';
import type { DayRange } from './relay-log.ts';
import type { DayOfDevice, RelayAnswer } from './relay-message.ts';
import { encodeRelayed } from './relayed-lines.ts';

const NEWLINE = 10;
/** Differences that are listed. All are counted. */
const MOST_LISTED = 20;
/** Readings that are newer than this can be on their way, or can still be received, microseconds. */
const SETTLED_US = 600_000_000;
/** After so many answers that took too long, a device is left out. */
const MOST_TIMEOUTS = 3;

/** A day of a device that differed. */
interface Difference {
  readonly device: string;
  /** Such as 2026-11-23. */
  readonly day: string;
  /** Numbers of readings on the board and at the centre before the repair. */
  readonly board: number;
  readonly centre: number;
  /**
   * `extra`: the centre has all readings of the board, and others. `unequal`: sending the day again did not help.
   */
  readonly result: 'repaired' | 'extra' | 'unequal';
}

/** The state of a comparison. */
export interface ComparisonDocument {
  readonly from: string;
  readonly to: string;
  readonly device: string | null;
  readonly running: boolean;
  /** Days of devices that are compared, and the readings of those that are equal now. */
  readonly days: number;
  readonly readings: number;
  /** Days that differed, by what became of them. */
  readonly repaired: number;
  readonly extra: number;
  readonly unequal: number;
  /** Devices that are left out: the key does not allow them, or a store cannot read them in time. */
  readonly skipped: number;
  /** The first days that differed. */
  readonly differences: readonly Difference[];
}

export interface ComparisonOptions {
  readonly store: Store;
  readonly days: DayRange;
  /** Only this device; null for all devices that have readings. */
  readonly device: string | null;
  readonly logger: Logger;
  /** Compares a day with the centre. */
  readonly compare: (day: DayOfDevice) => Promise<RelayAnswer>;
  /** Sends lines of readings to the centre. */
  readonly send: (lines: Buffer) => Promise<unknown>;
}

/** The day of a device that is in progress. */
interface Current {
  readonly device: string;
  readonly day: number;
  /** Only readings before it are compared, microseconds since the epoch. */
  readonly until: number;
  /** The answer of the centre when the day differed for the second time; null before. */
  differs: { readonly board: number; readonly centre: number } | null;
  /** Whether it has differed once, before or after it was sent again. Its readings can have been on their way then. */
  isSuspicious: boolean;
  /** Whether the day is being sent again, and the last reading that the centre has of it. */
  isRepairing: boolean;
  sent: RangeCursor | null;
  timeouts: number;
}

/**
 * Compares what a board has with what a centre has, one day of one device at a time, and sends the days again that differ.
 * Days on which the board has nothing are not compared. It works in small steps, between which the log is sent: a day that
 * differs is compared again in the next step, so that readings that were on their way are no difference.
 */
export class Comparison {
  readonly days: DayRange;
  readonly #options: ComparisonOptions;
  readonly #counts = { days: 0, readings: 0, repaired: 0, extra: 0, unequal: 0, skipped: 0 };
  readonly #differences: Difference[] = [];
  #device: string | null;
  #from: number;
  #current: Current | null = null;
  #isDone = false;

  constructor(options: ComparisonOptions) {
    this.#options = options;
    this.days = options.days;
    this.#device = options.device;
    this.#from = options.days.from;
  }

  get document(): ComparisonDocument {
    const { days, device } = this.#options;
    return {
      from: dayName(days.from),
      to: dayName(days.to),
      device,
      running: !this.#isDone,
      ...this.#counts,
      differences: this.#differences,
    };
  }

  /**
   * Does a bounded piece of work. After an error, the next call repeats it. Resolves to whether there is more.
   *
   * @throws {StoreError} of the board's store
   * @throws {Error} of `compare` and `send`
   */
  async step(): Promise<boolean> {
    const current = this.#current;
    try {
      if (current === null) await this.#next();
      else if (current.isRepairing) await this.#repair(current);
      else await this.#compare(current);
    } catch (error) {
      // A device that the store refuses to read, or of which a part is damaged, must not hold up the others.
      const isRefused = error instanceof StoreError && error.code === 'REJECTED';
      if (!isRefused && !isDamaged(error)) throw error;
      this.#skip(error.message);
    }
    return !this.#isDone;
  }

  /** Leaves out the device in progress. */
  #skip(reason: string): void {
    this.#counts.skipped++;
    this.#options.logger.warn({ device: this.#device, reason }, 'a device is not compared with the centre');
    this.#from = Number.POSITIVE_INFINITY;
    this.#current = null;
  }

  /** Chooses the next day of a device. */
  async #next(): Promise<void> {
    const { store, days, device: only } = this.#options;
    const device = this.#device ?? (await firstDevice(store, null));
    this.#device = device;
    if (device === null) {
      this.#isDone = true;
      return;
    }
    const until = now() - SETTLED_US;
    const day = this.#from > days.to ? null : await nextDay(store, device, this.#from, until);
    if (day !== null && day <= days.to) {
      this.#from = day + 1;
      const fresh = { differs: null, isSuspicious: false, isRepairing: false, sent: null, timeouts: 0 };
      this.#current = { device, day, until, ...fresh };
      return;
    }
    this.#device = only === null ? await firstDevice(store, device) : null;
    this.#from = days.from;
    this.#isDone = this.#device === null;
  }

  async #compare(current: Current): Promise<void> {
    const { device, day, until, differs } = current;
    const figures = await dayFigures(this.#options.store, device, day, until);
    const answer = this.#options.compare({ device, day, until, ...figures });
    const { compared } = await answer.catch((error: Error) => {
      if (error.name !== 'TimeoutError' || ++current.timeouts < MOST_TIMEOUTS) throw error;
      return { compared: null };
    });
    if (compared === null) this.#skip('the centre cannot compare it');
    else if (compared.isEqual || figures.count === 0) {
      this.#counts.readings += figures.count;
      this.#end(current, 'repaired');
    } else if (!current.isSuspicious) current.isSuspicious = true;
    else if (differs !== null) {
      this.#end(current, compared.count > figures.count ? 'extra' : 'unequal');
    } else {
      current.differs = { board: figures.count, centre: compared.count };
      current.isSuspicious = false;
      current.isRepairing = true;
    }
  }

  /**
   * Sends one piece of a day again, as the store has it now: one that was read before, for example for a request that failed,
   * would undo the corrections that the log has sent since.
   */
  async #repair(current: Current): Promise<void> {
    const { device, day, until, sent } = current;
    for await (const page of readingsOfDay(this.#options.store, device, day, until, sent)) {
      const [lines] = encodeRelayed(page);
      await this.#options.send(lines!);
      const { time, metric } = page[linesIn(lines!) - 1]!;
      current.sent = { time, metric };
      return;
    }
    current.isRepairing = false;
  }

  /** @param result of a day that differed */
  #end({ device, day, differs }: Current, result: Difference['result']): void {
    this.#counts.days++;
    this.#current = null;
    if (differs === null) return;
    this.#counts[result]++;
    const difference = { device, day: dayName(day), ...differs, result };
    this.#options.logger.warn(difference, 'a day of a device differed between this board and the centre');
    if (this.#differences.length < MOST_LISTED) this.#differences.push(difference);
  }
}

/** Each reading is one line. */
function linesIn(lines: Buffer): number {
  return lines.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
}

/** The first device after another one; null at the end. */
async function firstDevice(store: Store, after: string | null): Promise<string | null> {
  for await (const name of store.readings.devices(after ?? undefined)) return name;
  return null;
}

/** The day of a name such as 2026-11-23, counted since the epoch; null for another text. */
export function dayOfName(name: string): number | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(name)) return null;
  const time = Date.parse(name);
  const day = Number.isNaN(time) ? -1 : dayOf(time * 1000);
  // Date.parse changes 30 February to a day in March.
  return day < 0 || day > MOST_DAY || dayName(day) !== name ? null : day;
}
