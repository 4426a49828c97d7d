import type { Delete, Put, Row, Table } from '@tidegauge/hbase-client';
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
import {
  behind as behindSeries,
  readDevice,
  readKey,
  seriesPrefix,
  TIME_BYTES,
  timeKey,
  timeOf,
} from './keys.ts';
import { FAMILY } from './mapping.ts';
import type { Session } from './session.ts';

// Keys, where `series` is that of readings (see keys.ts) and times have 8 bytes:
//   m series hour due   a mark, for answers
//   q due series hour   the same mark in the queue of the worker
//   1, 2 or 3 series start   a row of minutes, hours or days
//   s name              a state
const MARK = Buffer.from('m');
const QUEUE = Buffer.from('q');
const STATE = Buffer.from('s');
const ROWS: Readonly<Record<RollupPeriod, Buffer>> = {
  minute: Buffer.from('1'),
  hour: Buffer.from('2'),
  day: Buffer.from('3'),
};
const COLUMN = 'v';
const ERASED = Buffer.of(1);
const KEPT = Buffer.of(0);
/** Rows that one call deletes. */
const DELETE_ROWS = 1000;

/** Marks, rows of rollups and the state in one table. */
export class HbaseRollups implements BackendRollups {
  readonly rawTtl: number;
  readonly #session: Session;
  readonly #table: Table;

  constructor(session: Session) {
    this.#session = session;
    this.rawTtl = session.config.ttl * 1_000_000;
    this.#table = session.table('tidegauge_rollups');
  }

  /** In the queue first: a mark that the worker cannot find would stay for ever. */
  async putMarks(marks: readonly Mark[]): Promise<void> {
    const put = (row: Buffer, { erased }: Mark) => putOf(row, erased ? ERASED : KEPT);
    await this.#session.run(async () => {
      await this.#table.mutateAll(marks.map((mark) => put(queueKey(mark), mark)));
      await this.#table.mutateAll(marks.map((mark) => put(markKey(mark), mark)));
    });
  }

  async dueMarks(due: number, limit: number): Promise<Mark[]> {
    const found: Mark[] = [];
    const range = { start: QUEUE, stop: timeKey(QUEUE, due + 1), limit };
    await this.#each(range, (row) => {
      const rest = row.key.subarray(QUEUE.length + TIME_BYTES);
      const queued = timeOf(row.key.subarray(0, QUEUE.length + TIME_BYTES));
      found.push(toMark(rest, queued, row));
    });
    return found;
  }

  /** An hour can have several marks here, until each is due. They count as one. */
  async marksOf({ device, metric }: SeriesName, from: number, to: number): Promise<Mark[]> {
    const prefix = Buffer.concat([MARK, seriesPrefix(device, metric)]);
    const byHour = new Map<number, Mark>();
    await this.#each({ start: timeKey(prefix, from), stop: timeKey(prefix, to) }, (row) => {
      const key = row.key.subarray(MARK.length, row.key.length - TIME_BYTES);
      const mark = toMark(key, timeOf(row.key), row);
      const known = byHour.get(mark.hour);
      const due = Math.max(mark.due, known?.due ?? 0);
      byHour.set(mark.hour, { ...mark, due, erased: mark.erased || known?.erased === true });
    });
    return [...byHour.values()];
  }

  async removeMarks(marks: readonly Mark[]): Promise<void> {
    const remove = (row: Buffer): Delete => ({ type: 'delete', row });
    await this.#session.run(async () => {
      await this.#table.mutateAll(marks.map((mark) => remove(markKey(mark))));
      await this.#table.mutateAll(marks.map((mark) => remove(queueKey(mark))));
    });
  }

  async countMarks(): Promise<MarkCount> {
    let [marks, hour, due] = [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    await this.#each({ start: QUEUE, stop: behind(QUEUE) }, ({ key }) => {
      marks += 1;
      hour = Math.min(hour, timeOf(key));
      due = Math.min(due, timeOf(key.subarray(0, QUEUE.length + TIME_BYTES)));
    });
    return marks === 0 ? { marks, hour: null, due: null } : { marks, hour, due };
  }

  /** The finer rows first, so that a crash never leaves the coarser ones alone. */
  async putRows(rows: readonly RollupRow[]): Promise<void> {
    await this.#session.run(async () => {
      for (const [, some] of Map.groupBy(rows, ({ period }) => period)) {
        await this.#table.mutateAll(
          some.map(({ device, metric, period, start, periods }) =>
            putOf(
              timeKey(rowPrefix(period, { device, metric }), start),
              encodeFigures(periods, start, PERIOD_US[period]),
            ),
          ),
        );
      }
    });
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const prefix = rowPrefix(period, { device, metric });
    // A time is never negative.
    const range = { start: timeKey(prefix, Math.max(from, 0)), stop: timeKey(prefix, Math.max(to, 0)) };
    for await (const row of this.#scan(range)) {
      const start = timeOf(row.key);
      const periods = decodeFigures(row.value(FAMILY, COLUMN)!, start, PERIOD_US[period]);
      yield { device, metric, period, start, periods };
    }
  }

  /** Reads the first row of each series. */
  async *series(): AsyncGenerator<SeriesName> {
    const stop = behind(ROWS.day);
    for (let start: Buffer | null = ROWS.day; start !== null; ) {
      let found: Buffer | null = null;
      await this.#each({ start, stop, limit: 1 }, ({ key }) => {
        found = key;
      });
      if (found === null) return;
      const series = seriesOf((found as Buffer).subarray(ROWS.day.length));
      yield series;
      start = behindSeries(rowPrefix('day', series));
    }
  }

  /** Reads all rows of the period, because their keys begin with the series. */
  async removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    const prefix = ROWS[period];
    let removed = 0;
    let old: Delete[] = [];
    const flush = async () => {
      await this.#session.run(() => this.#table.mutateAll(old));
      removed += old.length;
      old = [];
    };
    for await (const { key } of this.#scan({ start: prefix, stop: behind(prefix) })) {
      const rest = key.subarray(prefix.length);
      if (timeOf(rest) >= before || !isInScope(seriesOf(rest), scope)) continue;
      old.push({ type: 'delete', row: key });
      if (old.length === DELETE_ROWS) await flush();
    }
    if (old.length > 0) await flush();
    return removed === 0 ? null : removed;
  }

  getState(name: string): Promise<string | null> {
    return this.#session.run(async () => {
      const row = await this.#table.get(stateKey(name));
      return row?.value(FAMILY, COLUMN)?.toString() ?? null;
    });
  }

  async setState(name: string, value: string): Promise<void> {
    await this.#session.run(() => this.#table.mutateAll([putOf(stateKey(name), Buffer.from(value))]));
  }

  async ensureState(name: string, value: string): Promise<void> {
    const column = { family: FAMILY, qualifier: COLUMN };
    const put = { type: 'put', cells: [{ ...column, value }] } as const;
    await this.#session.run(() =>
      this.#table.checkAndMutate(stateKey(name), { ...column, value: null }, put),
    );
  }

  async #each(
    range: { start: Buffer; stop: Buffer; limit?: number },
    use: (row: Row) => void,
  ): Promise<void> {
    for await (const row of this.#scan(range)) use(row);
  }

  async *#scan(range: { start: Buffer; stop: Buffer; limit?: number }): AsyncGenerator<Row> {
    const rows = this.#table.scan(range)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await this.#session.run(() => rows.next());
        if (done === true) return;
        yield value as Row;
      }
    } finally {
      await rows.return?.();
    }
  }
}

function putOf(row: Buffer, value: Buffer): Put {
  return { type: 'put', row, cells: [{ family: FAMILY, qualifier: COLUMN, value }] };
}

function markKey({ device, metric, hour, due }: Mark): Buffer {
  return timeKey(timeKey(Buffer.concat([MARK, seriesPrefix(device, metric)]), hour), due);
}

function queueKey({ device, metric, hour, due }: Mark): Buffer {
  return timeKey(Buffer.concat([timeKey(QUEUE, due), seriesPrefix(device, metric)]), hour);
}

function rowPrefix(period: RollupPeriod, { device, metric }: SeriesName): Buffer {
  return Buffer.concat([ROWS[period], seriesPrefix(device, metric)]);
}

function stateKey(name: string): Buffer {
  return Buffer.concat([STATE, Buffer.from(name)]);
}

/** The series of a key of `keys.ts`. */
function seriesOf(key: Buffer): SeriesName {
  return { device: readDevice(key), metric: readKey(key).metric };
}

/** @param key series and hour */
function toMark(key: Buffer, due: number, row: Row): Mark {
  const erased = row.value(FAMILY, COLUMN)?.equals(ERASED) === true;
  return { ...seriesOf(key), hour: timeOf(key), due, erased };
}

/** The end of the range of keys that begin with one byte. */
function behind(prefix: Buffer): Buffer {
  return Buffer.of(prefix[0]! + 1);
}
