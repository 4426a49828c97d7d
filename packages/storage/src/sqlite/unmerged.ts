import type { Database } from './database.ts';
import { SLOTS } from './schema.ts';

/** So many series are looked for one by one, before a slot is read as a whole, which costs ten times as much. */
const FEW_SERIES = 100;

const VERSION = 'select data_version, total_changes() from pragma_data_version';
// Of each series by time.
const OF_SLOT =
  "select series, time, value from recent where slot = ? and typeof(value) = 'real' order by time, series";
const ARRIVED = "select series, time, value from arrivals where typeof(value) = 'real' order by id";

export type NumberRow = [time: number, value: number];
type NumbersBySeries = ReadonlyMap<number, readonly NumberRow[]>;

/**
 * The numbers in `recent` and in `arrivals`, some 64,000 at most. Neither table is in the order of series: looking for one
 * series reads all rows of its slot and all arrivals, which is most of the cost of a query over many series. So what such a
 * query reads stays in memory until the file changes.
 */
export class UnmergedNumbers {
  readonly #db: Database;
  /** Changes of the file by other connections, and by this one. */
  #version = '';
  #looks = 0;
  readonly #slots = new Map<number, NumbersBySeries>();
  #arrived: NumbersBySeries | null = null;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * The numbers of a series in [from, to) by time, or null if they must be read: of the first series after a change. Call
   * this in the transaction that reads them.
   */
  of(series: number, from: number, to: number): NumberRow[] | null {
    const version = String(this.#db.arrays(VERSION).get());
    if (version !== this.#version) {
      this.#version = version;
      this.#looks = 0;
      this.#slots.clear();
      this.#arrived = null;
    }
    this.#looks += 1;
    if (this.#looks <= FEW_SERIES) return null;
    const slot = series % SLOTS;
    const inSlot = this.#slots.get(slot) ?? this.#read(OF_SLOT, slot);
    this.#slots.set(slot, inSlot);
    this.#arrived ??= this.#read(ARRIVED);
    const all = [...(inSlot.get(series) ?? []), ...(this.#arrived.get(series) ?? [])];
    return all.filter(([time]) => time >= from && time < to);
  }

  #read(sql: string, ...values: number[]): NumbersBySeries {
    const found = new Map<number, NumberRow[]>();
    const rows = this.#db.arrays(sql).all(...values) as unknown as [number, number, number][];
    for (const [series, time, value] of rows) {
      const known = found.get(series);
      if (known === undefined) found.set(series, [[time, value]]);
      else known.push([time, value]);
    }
    return found;
  }
}
