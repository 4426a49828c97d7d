import type { Database } from './database.ts';

/** A series has its readings in the order of their times, because only a newer one is added. */
const ARRIVED = 'select id, series, time from arrivals';

/** The readings of one series among the arrivals. */
interface OfSeries {
  newest: number;
  /** The row of each time. */
  readonly rows: Map<number, number>;
}

/** What the table of arrivals has, in memory: at most some 3,100 readings, of which only the identities are kept. */
export class Arrivals {
  readonly #series = new Map<number, OfSeries>();
  #count = 0;

  static read(db: Database): Arrivals {
    const arrivals = new Arrivals();
    const rows = db.arrays(ARRIVED).all() as unknown as [number, number, number][];
    for (const [row, series, time] of rows) arrivals.add(series, time, row);
    return arrivals;
  }

  get count(): number {
    return this.#count;
  }

  /** The series that have some, with their newest time, and how many they are. */
  *all(): Generator<{ readonly series: number; readonly newest: number; readonly count: number }> {
    for (const [series, { newest, rows }] of this.#series) yield { series, newest, count: rows.size };
  }

  /** The newest time of a series, or -1. */
  newest(series: number): number {
    return this.#series.get(series)?.newest ?? -1;
  }

  /** The row of a reading, if it is an arrival. */
  row(series: number, time: number): number | undefined {
    return this.#series.get(series)?.rows.get(time);
  }

  /** @param time newer than all of the series */
  add(series: number, time: number, row: number): void {
    let known = this.#series.get(series);
    if (known === undefined) {
      known = { newest: time, rows: new Map() };
      this.#series.set(series, known);
    }
    known.newest = time;
    known.rows.set(time, row);
    this.#count += 1;
  }

  clear(): void {
    this.#series.clear();
    this.#count = 0;
  }
}
