import { firstLevelOf, type Reading } from '@tidegauge/readings';
import { cachedBytes, MAX_CACHED_BYTES } from '../cached-bytes.ts';
import type { Mark } from './backend-rollups.ts';
import { ceilTo, floorTo, HOUR_US, MINUTE_US } from './periods.ts';

/** A mark of an hour that has ended is due when the present minute has ended, and then this time. Microseconds. */
export const SLACK_US = 120_000_000;
/** The clocks of all processes that use a store differ by less than this, microseconds. */
export const SKEW_US = 60_000_000;

/**
 * The least time between the dues of two marks of one client: 100 a second. The worker takes marks in the order of their dues,
 * so a client with very many of them delays its own rollups only. Microseconds.
 */
const STEP_US = 10_000;
/** Clients whose turns are known. */
const MOST_CLIENTS = 10_000;

/** The last two hours of a series that have marks, and when these are due. */
interface Marked {
  hour: number;
  due: number;
  otherHour: number;
  otherDue: number;
}

/** A reading that is written, or an hour that changes: `time` is in the hour. */
type Written = Pick<Reading, 'device' | 'metric' | 'time'>;

/** Marks that a batch needs besides those that are stored. */
export interface NeededMarks {
  readonly marks: readonly Mark[];
  /** The batch needs its marks again if its write ends after this time, microseconds. */
  readonly validUntil: number;
  /** How many of the marks are the first ones of a series, or of hours of the past. */
  readonly unexpected: number;
}

/** New marks for all hours of a batch. @param now microseconds */
export function marksOf(batch: readonly Written[], now: number): readonly Mark[] {
  return new Marker().needed(batch, now).marks;
}

/** When the mark of the hour of a time is due; -1 without one. */
function dueOf(marked: Marked | undefined, time: number): number {
  if (marked === undefined) return -1;
  if (time >= marked.hour && time < marked.hour + HOUR_US) return marked.due;
  if (time >= marked.otherHour && time < marked.otherHour + HOUR_US) return marked.otherDue;
  return -1;
}

/**
 * Decides which marks a batch needs. The mark of an hour that has not ended is due some time after its end, so a live
 * series needs one mark per hour. Late readings need one mark per hour and minute of the clock.
 */
export class Marker {
  readonly #devices = new Map<string, Map<string, Marked>>();
  #bytes = 0;
  /** When the next mark can be due, by client and kind of hour. */
  readonly #next = new Map<string, number>();
  #now = 0;

  /** @param now microseconds */
  needed(batch: readonly Written[], now: number): NeededMarks {
    // Those of a clock that was ahead would be due too late.
    if (now < this.#now - SKEW_US) this.#next.clear();
    this.#now = now;
    // `due` of hours that have ended. A mark is good for as long as a new one would not be due later.
    const ended = ceilTo(now + 1, MINUTE_US) + SLACK_US;
    const least = now + SLACK_US;
    let first = ended;
    let fresh: Map<string, Mark> | null = null;
    let unexpected = 0;
    for (const { device, metric, time } of batch) {
      const marked = this.#devices.get(device)?.get(metric);
      let due = dueOf(marked, time);
      if (due < least) {
        const hour = floorTo(time, HOUR_US);
        due = Math.max(hour + HOUR_US + SLACK_US, ended);
        fresh ??= new Map();
        const name = `${device} ${metric} ${hour}`;
        const known = fresh.get(name);
        if (known === undefined) {
          const kind = kindOf(hour, now);
          if (marked === undefined || kind === 'past') unexpected += 1;
          due = this.#inTurn(`${kind} ${firstLevelOf(device)}`, due, now);
          fresh.set(name, { device, metric, hour, due, erased: false });
        } else ({ due } = known);
      }
      if (due < first) first = due;
    }
    const marks = fresh === null ? [] : [...fresh.values()];
    return { marks, validUntil: first - SKEW_US, unexpected };
  }

  /** When another mark of a client is due. Marks of earlier hours do not wait for those of the present one. */
  #inTurn(client: string, due: number, now: number): number {
    const turn = Math.max(due, this.#next.get(client) ?? 0);
    if (this.#next.size >= MOST_CLIENTS && !this.#next.has(client)) {
      for (const [name, next] of this.#next) if (next <= now) this.#next.delete(name);
      // There are too many clients.
      if (this.#next.size >= MOST_CLIENTS) return due;
    }
    this.#next.set(client, turn + STEP_US);
    return turn;
  }

  /** Call this when the marks are stored. */
  stored(marks: readonly Mark[]): void {
    for (const { device, metric, hour, due } of marks) {
      let metrics = this.#devices.get(device);
      if (metrics === undefined) {
        if (this.#bytes >= MAX_CACHED_BYTES) {
          this.#devices.clear();
          this.#bytes = 0;
        }
        metrics = new Map();
        this.#devices.set(device, metrics);
        this.#bytes += cachedBytes(device);
      }
      const marked = metrics.get(metric);
      if (marked === undefined) {
        metrics.set(metric, { hour, due, otherHour: -HOUR_US, otherDue: -1 });
        this.#bytes += cachedBytes(metric);
      } else if (marked.hour === hour) marked.due = due;
      else if (marked.otherHour === hour) marked.otherDue = due;
      else Object.assign(marked, { hour, due, otherHour: marked.hour, otherDue: marked.due });
    }
  }
}

/** Hours that have ended, the present one, and those of clocks that are ahead. */
function kindOf(hour: number, now: number): 'past' | 'present' | 'future' {
  if (hour + HOUR_US <= now) return 'past';
  return hour <= now ? 'present' : 'future';
}
