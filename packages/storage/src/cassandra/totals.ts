import { forEach } from '@tidegauge/parallel';
import { covered, type Days, type DayTotal, type RollUp, type TotalsTable } from '../day-totals.ts';
import { DAY_US } from '../rollups/periods.ts';
import { toNumber } from './mapping.ts';
import type { Session, Statement } from './session.ts';

/** Concurrent writes of days. */
const WIDTH = 16;
/** Rows of one request. A request on one partition has no limit besides the size of a segment of the commit log. */
const REQUEST_ROWS = 5000;
const PAGE = 5000;
/** All roll-ups are in one partition. */
const SCOPE = 0;

/**
 * Totals in a partition per year, and the list of roll-ups. All writes have the start of the roll-up as their
 * timestamp, so a roll-up that started earlier cannot replace a later one.
 */
export class CassandraTotals implements TotalsTable {
  readonly #session: Session;
  readonly #totals: string;
  readonly #rollUps: string;

  constructor(session: Session) {
    this.#session = session;
    this.#totals = `"${session.keyspace}".totals`;
    this.#rollUps = `"${session.keyspace}".rollups`;
  }

  async *read({ first, until }: Days): AsyncGenerator<DayTotal> {
    const query = `select day, metric, count, sum, min, max from ${this.#totals} ${WHERE}`;
    for (const year of await this.#years({ first, until })) {
      for await (const row of this.#session.scan(query, [year, first, until], PAGE)) {
        yield {
          day: row.day as number,
          metric: row.metric as string,
          count: toNumber(row.count),
          sum: row.sum as number,
          min: row.min as number,
          max: row.max as number,
        };
      }
    }
  }

  async rollUps(): Promise<RollUp[]> {
    const query = `select first, until, as_of from ${this.#rollUps} where scope = ?`;
    const rows = await this.#session.readAll(query, [SCOPE]);
    return rows.map((row) => ({
      first: row.first as number,
      until: row.until as number,
      asOf: toNumber(row.as_of),
    }));
  }

  async replace(rollUp: RollUp, totals: ReadonlyMap<number, readonly DayTotal[]>): Promise<void> {
    const { first, until, asOf } = rollUp;
    const days = new Set([...totals.keys(), ...(await this.#daysIn(rollUp))]);
    await forEach(days, WIDTH, (day) => this.#replaceDay(day, totals.get(day) ?? [], asOf));
    await this.#session.write(
      `insert into ${this.#rollUps} (scope, first, until, as_of) values (?, ?, ?, ?) using timestamp ?`,
      [SCOPE, first, until, asOf, asOf],
    );
    for (const old of covered(await this.rollUps(), rollUp)) {
      const drop = `delete from ${this.#rollUps} using timestamp ? where scope = ? and first = ? and until = ?`;
      await this.#session.write(drop, [asOf - 1, SCOPE, old.first, old.until]);
    }
  }

  async #replaceDay(day: number, totals: readonly DayTotal[], asOf: number): Promise<void> {
    const year = yearOf(day);
    const drop = `delete from ${this.#totals} using timestamp ? where year = ? and day = ?`;
    const insert = `insert into ${this.#totals} (year, day, metric, count, sum, min, max)
      values (?, ?, ?, ?, ?, ?, ?) using timestamp ?`;
    // Metrics that have no readings any more are deleted. A deletion replaces a write with the same timestamp, so it
    // gets an earlier one.
    const statements: Statement[] = [{ query: drop, params: [asOf - 1, year, day] }];
    for (const { metric, count, sum, min, max } of totals) {
      statements.push({ query: insert, params: [year, day, metric, count, sum, min, max, asOf] });
    }
    for (let start = 0; start < statements.length; start += REQUEST_ROWS) {
      await this.#session.writeBatch(statements.slice(start, start + REQUEST_ROWS));
    }
  }

  /** Days that have totals. */
  async #daysIn({ first, until }: Days): Promise<Set<number>> {
    const days = new Set<number>();
    const query = `select day from ${this.#totals} ${WHERE}`;
    for (const year of await this.#years({ first, until })) {
      for await (const row of this.#session.scan(query, [year, first, until], PAGE))
        days.add(row.day as number);
    }
    return days;
  }

  /** Years of these days that have totals. */
  async #years({ first, until }: Days): Promise<number[]> {
    const [oldest, newest] = [yearOf(first), yearOf(until - 1)];
    if (oldest === newest) return [oldest];
    const rows = await this.#session.readAll(`select distinct year from ${this.#totals}`, []);
    return rows.map((row) => row.year as number).filter((year) => year >= oldest && year <= newest);
  }
}

const WHERE = 'where year = ? and day >= ? and day < ?';

function yearOf(day: number): number {
  return new Date((day * DAY_US) / 1000).getUTCFullYear();
}
