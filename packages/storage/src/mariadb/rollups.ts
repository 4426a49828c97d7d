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
import type { Database, Row } from './database.ts';

const PAGE_ROWS = 500;
const REMOVE_ROWS = 5000;

// The server assigns from left to right.
const PUT_MARK = `
  insert into tidegauge_marks (device, metric, hour, due, erased) values (?, ?, ?, ?, ?)
  on duplicate key update due = greatest(due, values(due)), erased = greatest(erased, values(erased))`;
const REMOVE_MARK = 'delete from tidegauge_marks where device = ? and metric = ? and hour = ? and due = ?';
const MARKS = 'select device, metric, hour, due, erased from tidegauge_marks';
const PUT_ROW =
  'replace into tidegauge_rollups (device, metric, period, start, figures) values (?, ?, ?, ?, ?)';

/** Marks, rows of rollups and the state in tables. */
export class MariadbRollups implements BackendRollups {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async putMarks(marks: readonly Mark[]): Promise<void> {
    const rows = marks.map(({ device, metric, hour, due, erased }) => [
      device,
      metric,
      hour,
      due,
      erased ? 1 : 0,
    ]);
    await this.#db.transaction((connection) => connection.batch(PUT_MARK, rows));
  }

  async dueMarks(due: number, limit: number): Promise<Mark[]> {
    return (await this.#db.query(`${MARKS} where due <= ? order by due limit ?`, [due, limit])).map(toMark);
  }

  async marksOf({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const sql = `${MARKS} where device = ? and metric = ? and hour >= ? and hour < ? order by hour`;
    return (await this.#db.query(sql, [device, metric, from, to])).map(toMark);
  }

  async removeMarks(marks: readonly Mark[]): Promise<void> {
    const rows = marks.map(({ device, metric, hour, due }) => [device, metric, hour, due]);
    await this.#db.transaction((connection) => connection.batch(REMOVE_MARK, rows));
  }

  async countMarks(): Promise<MarkCount> {
    const sql = 'select count(*) as marks, min(hour) as hour, min(due) as due from tidegauge_marks';
    const [row] = await this.#db.query(sql, []);
    return row as unknown as MarkCount;
  }

  async putRows(rows: readonly RollupRow[]): Promise<void> {
    const values = rows.map(({ device, metric, period, start, periods }) => [
      device,
      metric,
      period,
      start,
      encodeFigures(periods, start, PERIOD_US[period]),
    ]);
    await this.#db.transaction((connection) => connection.batch(PUT_ROW, values));
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const sql = `
      select start, figures from tidegauge_rollups
      where device = ? and metric = ? and period = ? and start >= ? and start < ? order by start limit ?`;
    for (let next = from; ; ) {
      const rows = await this.#db.query(sql, [device, metric, period, next, to, PAGE_ROWS]);
      for (const row of rows) {
        const start = row.start as number;
        const periods = decodeFigures(row.figures as Buffer, start, PERIOD_US[period]);
        yield { device, metric, period, start, periods };
        next = start + 1;
      }
      if (rows.length < PAGE_ROWS) return;
    }
  }

  async removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    const values: (string | number)[] = [];
    const where = rowsBefore(period, before, scope, (value) => {
      values.push(value);
      return '?';
    });
    const sql = `delete from tidegauge_rollups where ${where} limit ${REMOVE_ROWS}`;
    const count = await this.#db.change(sql, values);
    return count === 0 ? null : count;
  }

  async getState(name: string): Promise<string | null> {
    const [row] = await this.#db.query('select value from tidegauge_state where name = ?', [name]);
    return (row?.value ?? null) as string | null;
  }

  async setState(name: string, value: string): Promise<void> {
    await this.#db.change('replace into tidegauge_state (name, value) values (?, ?)', [name, value]);
  }

  async ensureState(name: string, value: string): Promise<void> {
    await this.#db.change('insert ignore into tidegauge_state (name, value) values (?, ?)', [name, value]);
  }
}

function toMark({ device, metric, hour, due, erased }: Row): Mark {
  return {
    device: device as string,
    metric: metric as string,
    hour: Number(hour),
    due: Number(due),
    erased: erased === 1,
  };
}
