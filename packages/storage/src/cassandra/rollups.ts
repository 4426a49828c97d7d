import { createHash } from 'node:crypto';
import { forEach } from '@tidegauge/parallel';
import { MAX_TIME } from '@tidegauge/readings';
import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import type {
  BackendRollups,
  Mark,
  MarkCount,
  RollupRow,
  RollupRowsQuery,
} from '../rollups/backend-rollups.ts';
import { decodeFigures, encodeFigures } from '../rollups/encoding.ts';
import { isInScope } from '../rollups/limits.ts';
import { PERIOD_US } from '../rollups/periods.ts';
import { toNumber } from './mapping.ts';
import { pack } from './pack.ts';
import type { Row, Session } from './session.ts';

/** The number of partitions of the queue of marks. Each is ordered by `due`. */
const SLOTS = 16;
/** Concurrent calls. */
const WIDTH = 16;
const PAGE_ROWS = 500;
/** The size of a mark without its texts, as the server counts it. */
const MARK_BYTES = 90;
/** Years that one partition of rows covers. A series has at most 2 MB of rows of minutes in a month, 26 MB in a year. */
const SPAN_YEARS: Readonly<Record<RollupPeriod, number>> = { minute: 1, hour: 20, day: 20 };

/**
 * Marks in two tables: by series, for answers, and in a queue by `due`, for the worker. A mark is removed from the queue
 * last, so a crash never leaves a mark that the worker cannot find. All calls use a majority of the copies, whatever the
 * levels of readings are.
 */
export class CassandraRollups implements BackendRollups {
  readonly rawTtl: number;
  readonly #session: Session;
  readonly #marks: string;
  readonly #queue: string;
  readonly #rows: string;
  readonly #state: string;

  constructor(session: Session) {
    this.#session = session;
    this.rawTtl = session.config.ttl * 1_000_000;
    const table = (name: string) => `"${session.keyspace}".${name}`;
    this.#marks = table('tidegauge_marks');
    this.#queue = table('tidegauge_mark_queue');
    this.#rows = table('tidegauge_rollups');
    this.#state = table('tidegauge_state');
  }

  async putMarks(marks: readonly Mark[]): Promise<void> {
    const queue = `insert into ${this.#queue} (slot, due, device, metric, hour, erased) values (?, ?, ?, ?, ?, ?)`;
    const mark = `insert into ${this.#marks} (device, metric, hour, due, erased) values (?, ?, ?, ?, ?)`;
    const bytes = ({ device, metric }: Mark) =>
      MARK_BYTES + Buffer.byteLength(device) + Buffer.byteLength(metric);
    const queued = { bytes, node: (mark: Mark) => this.#session.nodeOf([int32(slotOf(mark))]) };
    await forEach(pack(marks, queued), WIDTH, (some) =>
      this.#session.writeRowsMajority(
        queue,
        some.map((each) => [slotOf(each), each.due, each.device, each.metric, each.hour, each.erased]),
      ),
    );
    const nodeOf = ({ device, metric }: Mark) =>
      this.#session.nodeOf([Buffer.from(device), Buffer.from(metric)]);
    await forEach(pack(marks, { bytes, node: nodeOf }), WIDTH, (some) =>
      this.#session.writeRowsMajority(
        mark,
        some.map(({ device, metric, hour, due, erased }) => [device, metric, hour, due, erased]),
      ),
    );
  }

  async dueMarks(due: number, limit: number): Promise<Mark[]> {
    const query = `
      select device, metric, hour, due, erased from ${this.#queue} where slot = ? and due <= ? limit ?`;
    const found: Mark[] = [];
    await forEach(Array(SLOTS).keys(), WIDTH, async (slot) => {
      for (const row of await this.#session.readMajority(query, [slot, due, limit])) found.push(toMark(row));
    });
    return found.sort((a, b) => a.due - b.due).slice(0, limit);
  }

  /** An hour can have several marks here, until each is due. They count as one. */
  async marksOf({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const query = `
      select device, metric, hour, due, erased from ${this.#marks}
      where device = ? and metric = ? and hour >= ? and hour < ?`;
    const byHour = new Map<number, Mark>();
    for await (const row of this.#session.scanMajority(query, [device, metric, from, to], PAGE_ROWS)) {
      const mark = toMark(row);
      const known = byHour.get(mark.hour);
      const due = Math.max(mark.due, known?.due ?? 0);
      byHour.set(mark.hour, { ...mark, due, erased: mark.erased || known?.erased === true });
    }
    return [...byHour.values()];
  }

  async removeMarks(marks: readonly Mark[]): Promise<void> {
    const mark = `delete from ${this.#marks} where device = ? and metric = ? and hour = ? and due = ?`;
    const queue = `
      delete from ${this.#queue} where slot = ? and due = ? and device = ? and metric = ? and hour = ?`;
    await forEach(marks, WIDTH, async ({ device, metric, hour, due }) => {
      await this.#session.writeMajority(mark, [device, metric, hour, due]);
      await this.#session.writeMajority(queue, [slotOf({ device, metric }), due, device, metric, hour]);
    });
  }

  async countMarks(): Promise<MarkCount> {
    const query = `select hour, due from ${this.#queue} where slot = ?`;
    let [marks, hour, due] = [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let slot = 0; slot < SLOTS; slot += 1) {
      for await (const row of this.#session.scanMajority(query, [slot], PAGE_ROWS)) {
        marks += 1;
        hour = Math.min(hour, toNumber(row.hour));
        due = Math.min(due, toNumber(row.due));
      }
    }
    return marks === 0 ? { marks, hour: null, due: null } : { marks, hour, due };
  }

  /** The finer rows first, so that a crash never leaves the coarser ones alone. */
  async putRows(rows: readonly RollupRow[]): Promise<void> {
    const query = `
      insert into ${this.#rows} (device, metric, period, span, start, figures) values (?, ?, ?, ?, ?, ?)`;
    for (const [, some] of Map.groupBy(rows, ({ period }) => period)) {
      await forEach(some, WIDTH, ({ device, metric, period, start, periods }) =>
        this.#session.writeMajority(query, [
          device,
          metric,
          period,
          spanOf(period, start),
          start,
          encodeFigures(periods, start, PERIOD_US[period]),
        ]),
      );
    }
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const query = `
      select start, figures from ${this.#rows}
      where device = ? and metric = ? and period = ? and span = ? and start >= ? and start < ?`;
    const [first, last] = [spanOf(period, Math.max(from, 0)), spanOf(period, Math.min(to, MAX_TIME))];
    for (let span = first; span <= last; span += SPAN_YEARS[period]) {
      const values = [device, metric, period, span, from, to];
      for await (const row of this.#session.scanMajority(query, values, PAGE_ROWS)) {
        const start = toNumber(row.start);
        const periods = decodeFigures(row.figures as Buffer, start, PERIOD_US[period]);
        yield { device, metric, period, start, periods };
      }
    }
  }

  async *series(): AsyncGenerator<SeriesName> {
    const partitions = `select distinct device, metric, period, span from ${this.#rows}`;
    for await (const row of this.#session.scanMajority(partitions, [], PAGE_ROWS)) {
      if (row.period === 'day') yield { device: row.device as string, metric: row.metric as string };
    }
  }

  /** Removes the rows of one partition at a time, which one tombstone does. */
  async removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    const partitions = `select distinct device, metric, period, span from ${this.#rows}`;
    const where = 'where device = ? and metric = ? and period = ? and span = ? and start < ?';
    let removed = 0;
    for await (const row of this.#session.scanMajority(partitions, [], PAGE_ROWS)) {
      const series = { device: row.device as string, metric: row.metric as string };
      const span = row.span as number;
      if (row.period !== period || span > spanOf(period, before) || !isInScope(series, scope)) continue;
      const values = [series.device, series.metric, period, span, before];
      const [counted] = await this.#session.readMajority(
        `select count(*) as rows from ${this.#rows} ${where}`,
        values,
      );
      const count = toNumber(counted!.rows);
      if (count === 0) continue;
      await this.#session.writeMajority(`delete from ${this.#rows} ${where}`, values);
      removed += count;
    }
    return removed === 0 ? null : removed;
  }

  async getState(name: string): Promise<string | null> {
    const query = `select value from ${this.#state} where name = ?`;
    const [row] = await this.#session.readMajority(query, [name]);
    return (row?.value ?? null) as string | null;
  }

  async setState(name: string, value: string): Promise<void> {
    await this.#session.writeMajority(`insert into ${this.#state} (name, value) values (?, ?)`, [
      name,
      value,
    ]);
  }

  async ensureState(name: string, value: string): Promise<void> {
    const query = `insert into ${this.#state} (name, value) values (?, ?) if not exists`;
    await this.#session.writeIf({ query, params: [name, value] });
  }
}

/** Spreads series over the partitions of the queue. It is part of the layout and must never change. */
function slotOf({ device, metric }: SeriesName): number {
  return createHash('md5').update(`${device} ${metric}`).digest()[0]! % SLOTS;
}

/** The first year of the partition of a row. */
function spanOf(period: RollupPeriod, time: number): number {
  const year = new Date(time / 1000).getUTCFullYear();
  return year - (year % SPAN_YEARS[period]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function toMark(row: Row): Mark {
  return {
    device: row.device as string,
    metric: row.metric as string,
    hour: toNumber(row.hour),
    due: toNumber(row.due),
    erased: row.erased === true,
  };
}
