import { MAX_TIME, type Reading } from '@tidegauge/readings';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { CompleteBackend } from '../backend.ts';
import type {
  Aggregate,
  AggregateQuery,
  DeleteQuery,
  GroupQuery,
  Groups,
  RollupPeriod,
  RollupQuery,
  RollupStatus,
  Rollups as RollupsOfSeries,
  RollupWork,
  SeriesName,
  SeriesScope,
  WriteEffort,
  WriteResult,
} from '../contract.ts';
import { compareText } from '../merge.ts';
import type { BackendRollups, Mark } from './backend-rollups.ts';
import { withMean } from './figures.ts';
import { RollupGroups } from './groups.ts';
import { RollupState } from './limits.ts';
import { Marker, marksOf, SLACK_US } from './marker.ts';
import { ceilTo, floorTo, HOUR_US, MINUTE_US, ROW_US } from './periods.ts';
import { type RawReader, RollupReader } from './reader.ts';
import { RollupWorker } from './worker.ts';

/** Marks in one call of an engine. */
const MARKS_AT_ONCE = 1000;

type Engine = Pick<CompleteBackend, 'readings' | 'devices' | 'capabilities'>;

/**
 * The rollups of a store, for all engines. A change of an hour of a series is marked durably before its rows are
 * written. So a crash between the two leaves a mark too many, and never one too few.
 */
export class Rollups {
  readonly #backend: BackendRollups;
  readonly #raw: RawReader;
  readonly #clock: () => number;
  readonly #marker = new Marker();
  readonly #reader: RollupReader;
  readonly #worker: RollupWorker;
  readonly #groups: RollupGroups;
  #piece: Promise<unknown> = Promise.resolve();

  /** @param clock microseconds */
  constructor(rollups: BackendRollups, engine: Engine, clock: () => number) {
    const { readings, devices, capabilities } = engine;
    this.#backend = rollups;
    this.#raw = readings;
    this.#clock = clock;
    this.#reader = new RollupReader(rollups, readings, clock);
    this.#worker = new RollupWorker(rollups, readings, clock, (series, hours) =>
      this.#markAgain(series, hours),
    );
    const { groupTables } = capabilities;
    this.#groups = new RollupGroups(this.#reader, rollups, readings, devices, groupTables, clock);
  }

  /** Marks the hours of a batch, and writes it. */
  async write(
    batch: readonly Reading[],
    write: () => Promise<WriteResult>,
    effort?: WriteEffort,
  ): Promise<WriteResult> {
    const { marks, validUntil, unexpected } = this.#marker.needed(batch, this.#clock());
    if (effort !== undefined) effort.newHours = unexpected;
    if (marks.length > 0) await this.#put(marks);
    const result = await write();
    // The write took so long that the worker can have removed the marks before the rows were stored.
    if (this.#clock() > validUntil) await this.#put(marksOf(batch, this.#clock()));
    return result;
  }

  /**
   * Marks the hours of a deletion, and deletes the readings. The worker can compute an hour while the deletion runs, so the
   * hours are marked again afterwards. After an error the caller repeats the call.
   */
  async delete<T>(query: DeleteQuery, remove: () => Promise<T>): Promise<T> {
    await this.#markDeleted(query);
    const result = await remove();
    await this.#markDeleted(query);
    return result;
  }

  aggregate(query: AggregateQuery): Promise<Aggregate> {
    return this.#reader.aggregate(query);
  }

  groups(query: GroupQuery): Promise<Groups> {
    return this.#groups.groups(query);
  }

  async read(query: RollupQuery): Promise<RollupsOfSeries> {
    const { figures, ...origin } = await this.#reader.read(query);
    return { rollups: figures.map(withMean), ...origin };
  }

  /** One piece at a time in this process. */
  work(): Promise<RollupWork> {
    const piece = this.#piece.then(() => this.#worker.piece());
    this.#piece = piece.catch(() => {});
    return piece;
  }

  async status(): Promise<RollupStatus> {
    const { marks, hour, due } = await this.#backend.countMarks();
    const waiting = due === null ? 0 : Math.max(0, this.#clock() - due);
    return { marks, oldestHour: hour, overdue: waiting };
  }

  limitRaw(before: number, scope: SeriesScope): Promise<void> {
    return RollupState.limit(this.#backend, 'raw', before, scope);
  }

  async expire(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number> {
    // A row is deleted when all of its periods are old.
    const end = floorTo(before, ROW_US[period]);
    await RollupState.limit(this.#backend, period, end, scope);
    let expired = 0;
    for (;;) {
      const removed = await this.#backend.removeRows(period, end, scope);
      if (removed === null) return expired;
      expired += removed;
    }
  }

  /** Marks all hours of a range that have a mark or rollups. */
  async #markDeleted({ device, metric, from: start = 0, to = MAX_TIME + 1 }: DeleteQuery): Promise<void> {
    // No reading has a time below 0, and keys of engines cannot have one.
    const from = Math.max(start, 0);
    if (from >= to) return;
    const metrics = metric === undefined ? await this.#raw.metrics(device, MAX_METRICS_READ + 1) : [metric];
    for (const each of metrics) {
      const series = { device, metric: each };
      let hours = new Set<number>();
      const flush = async () => {
        const due = this.#dueNow();
        await this.#put([...hours].map((hour) => ({ ...series, hour, due, erased: true })));
        hours = new Set();
      };
      for await (const hour of this.#hoursOf(series, from, to)) {
        hours.add(hour);
        if (hours.size === MARKS_AT_ONCE) await flush();
      }
      await flush();
    }
  }

  /** The hours of [from, to) that have a mark or rollups: of a day without rows of hours, its first one in the range. */
  async *#hoursOf(series: SeriesName, from: number, to: number): AsyncGenerator<number> {
    const first = floorTo(from, HOUR_US);
    // Marks are read first. A mark is removed after its rows were stored.
    for (const { hour } of await this.#backend.marksOf(series, first, to)) yield hour;
    for (const period of ['minute', 'hour', 'day'] as const) {
      const start = floorTo(from, ROW_US[period]);
      for await (const row of this.#backend.rows({ ...series, period, from: start, to })) {
        const times = period === 'hour' ? row.periods.map(({ time }) => time) : [Math.max(row.start, first)];
        for (const time of times) if (time >= first && time < to) yield time;
      }
    }
  }

  async #markAgain({ device, metric }: SeriesName, hours: readonly number[]): Promise<void> {
    const due = this.#dueNow();
    await this.#put(hours.map((hour) => ({ device, metric, hour, due, erased: false })));
  }

  /** When the marks of a change that ends now are due. */
  #dueNow(): number {
    return ceilTo(this.#clock() + 1, MINUTE_US) + SLACK_US;
  }

  async #put(marks: readonly Mark[]): Promise<void> {
    // Sorted, so that processes that mark the same hours wait for each other and never deadlock.
    const sorted = marks.toSorted(
      (a, b) => compareText(a.device, b.device) || compareText(a.metric, b.metric) || a.hour - b.hour,
    );
    for (let start = 0; start < sorted.length; start += MARKS_AT_ONCE) {
      const some = sorted.slice(start, start + MARKS_AT_ONCE);
      await this.#backend.putMarks(some);
      this.#marker.stored(some);
    }
  }
}
