import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import type {
  BackendRollups,
  Mark,
  MarkCount,
  RollupRow,
  RollupRowsQuery,
} from '../rollups/backend-rollups.ts';
import { decodeFigures, encodeFigures } from '../rollups/encoding.ts';
import { PERIOD_US } from '../rollups/periods.ts';
import { rowsBefore } from '../rollups/sql-rows.ts';
import type { Database } from './database.ts';

/** Rows in one read or one removal, about 2 ms. */
const PAGE_ROWS = 200;
const REMOVE_ROWS = 2000;

export const PUT_MARK = `
  insert into tidegauge_marks (device, metric, hour, due, erased) values (?, ?, ?, ?, ?)
  on conflict do update set due = max(due, excluded.due), erased = max(erased, excluded.erased)`;
const MARKS = 'select device, metric, hour, due, erased from tidegauge_marks';

/** Marks and rollups in tables of the same file. */
export class SqliteRollups implements BackendRollups {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  putMarks(marks: readonly Mark[]): Promise<void> {
    return this.#db.transaction(() => {
      const put = this.#db.statement(PUT_MARK);
      for (const { device, metric, hour, due, erased } of marks)
        put.run(device, metric, hour, due, erased ? 1 : 0);
    });
  }

  async dueMarks(due: number, limit: number): Promise<Mark[]> {
    const sql = `${MARKS} where due <= ? order by due limit ?`;
    return (await this.#db.run(() => this.#db.statement(sql).all(due, limit))).map(toMark);
  }

  async marksOf({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const sql = `${MARKS} where device = ? and metric = ? and hour >= ? and hour < ? order by hour`;
    return (await this.#db.read(() => this.#db.statement(sql).all(device, metric, from, to))).map(toMark);
  }

  removeMarks(marks: readonly Mark[]): Promise<void> {
    return this.#db.transaction(() => {
      const remove = this.#db.statement(
        'delete from tidegauge_marks where (device, metric, hour, due) = (?, ?, ?, ?)',
      );
      for (const { device, metric, hour, due } of marks) remove.run(device, metric, hour, due);
    });
  }

  async countMarks(): Promise<MarkCount> {
    const sql = 'select count(*) as marks, min(hour) as hour, min(due) as due from tidegauge_marks';
    return (await this.#db.run(() => this.#db.statement(sql).get())) as unknown as MarkCount;
  }

  putRows(rows: readonly RollupRow[]): Promise<void> {
    return this.#db.transaction(() => {
      const put = this.#db.statement(
        'insert or replace into tidegauge_rollups (device, metric, period, start, figures) values (?, ?, ?, ?, ?)',
      );
      for (const { device, metric, period, start, periods } of rows)
        put.run(device, metric, period, start, encodeFigures(periods, start, PERIOD_US[period]));
    });
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const sql = `
      select start, figures from tidegauge_rollups
      where device = ? and metric = ? and period = ? and start >= ? and start < ? order by start limit ?`;
    for (let next = from; ; ) {
      await this.#db.pause();
      const position = next;
      const page = await this.#db.read(() =>
        this.#db.statement(sql).all(device, metric, period, position, to, PAGE_ROWS),
      );
      for (const row of page) {
        const start = row.start as number;
        const periods = decodeFigures(row.figures as Uint8Array, start, PERIOD_US[period]);
        yield { device, metric, period, start, periods };
        next = start + 1;
      }
      if (page.length < PAGE_ROWS) return;
    }
  }

  async removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    await this.#db.pause();
    const values: (string | number)[] = [];
    const where = rowsBefore(period, before, scope, (value) => `?${values.push(value)}`);
    const sql = `
      delete from tidegauge_rollups where rowid in
        (select rowid from tidegauge_rollups where ${where} limit ${REMOVE_ROWS})`;
    const { changes } = await this.#db.transaction(() => this.#db.statement(sql).run(...values));
    return changes === 0 ? null : Number(changes);
  }

  async getState(name: string): Promise<string | null> {
    const row = await this.#db.run(() =>
      this.#db.statement('select value from tidegauge_state where name = ?').get(name),
    );
    return row === undefined ? null : (row.value as string);
  }

  setState(name: string, value: string): Promise<void> {
    return this.#db.transaction(() => {
      this.#db
        .statement('insert or replace into tidegauge_state (name, value) values (?, ?)')
        .run(name, value);
    });
  }

  ensureState(name: string, value: string): Promise<void> {
    return this.#db.transaction(() => {
      this.#db
        .statement('insert or ignore into tidegauge_state (name, value) values (?, ?)')
        .run(name, value);
    });
  }
}

function toMark(row: Record<string, unknown>): Mark {
  const { device, metric, hour, due, erased } = row as Record<string, string & number>;
  return { device: device!, metric: metric!, hour: hour!, due: due!, erased: erased === 1 };
}
