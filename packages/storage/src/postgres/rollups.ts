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
import { binder, type Database, type Row, type Value } from './database.ts';

const PAGE_ROWS = 500;
const REMOVE_ROWS = 5000;

const PUT_MARKS = `
  insert into tidegauge_marks as kept (device, metric, hour, due, erased)
  select device, metric, hour, due, erased <> 0
  from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::int[]) as new (device, metric, hour, due, erased)
  on conflict (device, metric, hour) do update
  set due = greatest(kept.due, excluded.due), erased = kept.erased or excluded.erased`;
const REMOVE_MARKS = `
  delete from tidegauge_marks as kept
  using unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as done (device, metric, hour, due)
  where kept.device = done.device and kept.metric = done.metric and kept.hour = done.hour and kept.due = done.due`;
const MARKS = 'select device, metric, hour, due, erased from tidegauge_marks';
const PUT_ROWS = `
  insert into tidegauge_rollups (device, metric, period, start, figures)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bytea[])
  on conflict (device, metric, period, start) do update set figures = excluded.figures`;

/** Marks, rows of rollups and the state in tables. On Citus the rows are distributed by device. */
export class PostgresRollups implements BackendRollups {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async putMarks(marks: readonly Mark[]): Promise<void> {
    const erased = marks.map((mark) => (mark.erased ? 1 : 0));
    await this.#db.run('ingest', PUT_MARKS, [...columnsOf(marks), erased]);
  }

  async dueMarks(due: number, limit: number): Promise<Mark[]> {
    const { rows } = await this.#db.run('calls', `${MARKS} where due <= $1 order by due limit $2`, [
      due,
      limit,
    ]);
    return rows.map(toMark);
  }

  async marksOf({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const sql = `${MARKS} where device = $1 and metric = $2 and hour >= $3 and hour < $4 order by hour`;
    return (await this.#db.run('calls', sql, [device, metric, from, to])).rows.map(toMark);
  }

  async removeMarks(marks: readonly Mark[]): Promise<void> {
    await this.#db.run('calls', REMOVE_MARKS, columnsOf(marks));
  }

  async countMarks(): Promise<MarkCount> {
    const { rows } = await this.#db.run('calls', 'select count(*), min(hour), min(due) from tidegauge_marks');
    const [marks, hour, due] = rows[0] as [number, number | null, number | null];
    return { marks, hour, due };
  }

  async putRows(rows: readonly RollupRow[]): Promise<void> {
    await this.#db.run('calls', PUT_ROWS, [
      rows.map(({ device }) => device),
      rows.map(({ metric }) => metric),
      rows.map(({ period }) => period),
      rows.map(({ start }) => start),
      rows.map(({ periods, start, period }) => encodeFigures(periods, start, PERIOD_US[period])),
    ]);
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const sql = `
      select start, figures from tidegauge_rollups
      where device = $1 and metric = $2 and period = $3 and start >= $4 and start < $5 order by start limit $6`;
    for (let next = from; ; ) {
      const { rows } = await this.#db.run('calls', sql, [device, metric, period, next, to, PAGE_ROWS]);
      for (const [start, figures] of rows as [number, Buffer][]) {
        yield { device, metric, period, start, periods: decodeFigures(figures, start, PERIOD_US[period]) };
        next = start + 1;
      }
      if (rows.length < PAGE_ROWS) return;
    }
  }

  async removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    const values: Value[] = [];
    const bind = binder(values);
    const where = rowsBefore(period, before, scope, bind);
    const page = `select device, start from tidegauge_rollups where ${where} order by start limit ${REMOVE_ROWS}`;
    const { rows } = await this.#db.run('calls', page, values);
    if (rows.length === 0) return null;
    // All rows of these devices up to the last start can go, and they are hardly more than those of the page.
    const found = [...new Set(rows.map(([device]) => device as string))];
    const last = rows.at(-1)![1] as number;
    const part = `${where} and device = any (${bind(found)}) and start <= ${bind(last)}`;
    const { count } = await this.#db.run('calls', `delete from tidegauge_rollups where ${part}`, values);
    return count;
  }

  async getState(name: string): Promise<string | null> {
    const { rows } = await this.#db.run('calls', 'select value from tidegauge_state where name = $1', [name]);
    return (rows[0]?.[0] ?? null) as string | null;
  }

  async setState(name: string, value: string): Promise<void> {
    const sql = `
      insert into tidegauge_state (name, value) values ($1, $2)
      on conflict (name) do update set value = excluded.value`;
    await this.#db.run('calls', sql, [name, value]);
  }

  async ensureState(name: string, value: string): Promise<void> {
    const sql = 'insert into tidegauge_state (name, value) values ($1, $2) on conflict (name) do nothing';
    await this.#db.run('calls', sql, [name, value]);
  }
}

function columnsOf(marks: readonly Mark[]): Value[] {
  return [
    marks.map(({ device }) => device),
    marks.map(({ metric }) => metric),
    marks.map(({ hour }) => hour),
    marks.map(({ due }) => due),
  ];
}

function toMark(row: Row): Mark {
  const [device, metric, hour, due, erased] = row as [string, string, number, number, boolean];
  return { device, metric, hour, due, erased };
}
