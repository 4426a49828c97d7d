import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CompleteReadings } from '../backend.ts';
import type { RollupPeriod, RollupWork, SeriesName } from '../contract.ts';
import { isDamaged } from '../errors.ts';
import type { BackendRollups, Mark, RollupRow } from './backend-rollups.ts';
import { Backfill } from './backfill.ts';
import { type Figures, PeriodFold, PeriodFolds } from './figures.ts';
import { type Limits, RollupState } from './limits.ts';
import { eachNumber } from './numbers.ts';
import { DAY_US, floorTo, HOUR_US, MINUTE_US } from './periods.ts';

/** One piece of work ends when it has taken this many marks, read this many readings, or taken this time. */
const PIECE_MARKS = 200;
const PIECE_READINGS = 50_000;
const PIECE_US = 20_000_000;
/** Jobs whose rows are stored together: at most this many, and few more readings. */
const GROUP_JOBS = 32;
const GROUP_READINGS = 10_000;
/**
 * The longest time from the first read of readings to the write of their rollups, microseconds. After a longer time,
 * another process can have computed rollups of that day, which this write replaced. So its hours get new marks.
 */
const STALE_US = 30_000_000;
/** After this time, the hours of a series that could not be read because of damage are tried again, microseconds. */
const DAMAGED_US = HOUR_US;

/** The changed hours of one series on one day. They are computed together. */
interface Job extends SeriesName {
  readonly day: number;
  readonly marks: readonly Mark[];
}

/** The figures of an hour. */
interface Hour {
  readonly minutes: readonly Figures[];
  readonly total: Figures | null;
}

/** The figures of the marked hours of a job, computed from the readings. */
interface Draft {
  readonly job: Job;
  /** The stored row of hours. */
  readonly stored: RollupRow | null;
  /** The row of hours did not expire. */
  readonly hasHours: boolean;
  /** The day was never rolled up, so `computed` has all of its hours. */
  readonly isFirst: boolean;
  readonly computed: ReadonlyMap<number, Hour>;
  /** The figures of the day, without rows of hours. */
  readonly total: Figures | null;
}

type Raw = Pick<CompleteReadings, 'range' | 'numbers' | 'devices' | 'metrics'>;

type MarkAgain = (series: SeriesName, hours: readonly number[]) => Promise<void>;

type Work = { -readonly [K in keyof RollupWork]: RollupWork[K] };

/**
 * Computes the rollups of marked hours from the readings, and replaces the rows. Nothing is ever added to a row, so a
 * repeated piece changes nothing. After a crash the marks are still there, and the next piece computes the same again.
 *
 * Rollups of readings that can be deleted are not computed again, because they would get smaller: late readings do not
 * change them. There are two exceptions: an hour without rollups, because its readings were never counted, and an hour of
 * which readings were deleted on request. Its rollups are those of the readings that are left.
 */
export class RollupWorker {
  readonly #rollups: BackendRollups;
  readonly #raw: Raw;
  readonly #clock: () => number;
  readonly #markAgain: MarkAgain;
  readonly #backfill: Backfill;

  /**
   * @param clock microseconds
   * @param markAgain marks hours of a series as changed now
   */
  constructor(rollups: BackendRollups, raw: Raw, clock: () => number, markAgain: MarkAgain) {
    this.#rollups = rollups;
    this.#raw = raw;
    this.#clock = clock;
    this.#markAgain = markAgain;
    this.#backfill = new Backfill(rollups, raw, clock);
  }

  /** Does one bounded piece. One process calls it at a time. */
  async piece(): Promise<RollupWork> {
    const begin = this.#clock();
    const marks = await this.#rollups.dueMarks(begin, PIECE_MARKS);
    const work: Work = {
      ...{ hours: 0, late: 0, rows: 0, readings: 0, damage: null },
      more: marks.length === PIECE_MARKS,
    };
    if (marks.length === 0 && (await this.#backfill.piece())) return { ...work, more: true };
    const jobs = jobsOf(marks);
    while (jobs.length > 0) {
      if (work.readings >= PIECE_READINGS || this.#clock() - begin > PIECE_US) return { ...work, more: true };
      await this.#group(jobs, work);
    }
    return work;
  }

  /** Takes the next jobs and does them. Their rows are stored together, which costs one commit. */
  async #group(jobs: Job[], work: Work): Promise<void> {
    const started = this.#clock();
    const drafts: Draft[] = [];
    const end = work.readings + GROUP_READINGS;
    while (jobs.length > 0 && drafts.length < GROUP_JOBS && work.readings < end) {
      const job = jobs.shift()!;
      try {
        drafts.push(await this.#draft(job, work));
      } catch (error) {
        if (!isDamaged(error)) throw error;
        work.damage = error;
        await this.#postpone(job);
      }
      await nextTurn();
    }
    // An expiry stores its limit before it deletes. So all readings from this limit on were there above.
    const state = await RollupState.read(this.#rollups, this.#clock());
    const rows: RollupRow[] = [];
    for (const draft of drafts) rows.push(...(await this.#rows(draft, state.of(draft.job), work)));
    if (rows.length > 0) await this.#rollups.putRows(rows);
    work.rows += rows.length;
    if (this.#clock() - started > STALE_US) {
      for (const { job } of drafts) await this.#markAgain(job, hoursOf(job.day));
    }
    const done = drafts.flatMap(({ job }) => job.marks);
    await this.#rollups.removeMarks(done);
    work.hours += done.length;
  }

  /** Leaves a job for later, so that it does not keep the work of other series. */
  #postpone({ marks }: Job): Promise<void> {
    const due = this.#clock() + DAMAGED_US;
    return this.#rollups.putMarks(marks.map((mark) => ({ ...mark, due })));
  }

  async #draft(job: Job, work: Work): Promise<Draft> {
    const { day } = job;
    // This row is read before the limits, so it is complete if the limits allow its use.
    const stored = await this.#row(job, 'hour', day);
    const state = await RollupState.read(this.#rollups, this.#clock());
    const hasHours = state.of(job).hour <= day;
    // A day that was never rolled up can have readings without marks.
    const isFirst = day < state.since && (await this.#row(job, 'day', day)) === null;
    const computed = new Map<number, Hour>();
    for (const hour of isFirst ? hoursOf(day) : job.marks.map((mark) => mark.hour))
      computed.set(hour, await this.#hour(job, hour, work));
    const total = hasHours ? null : await this.#total(job, day, work);
    return { job, stored, hasHours, isFirst, computed, total };
  }

  /** The new rows of a job. */
  async #rows(draft: Draft, limits: Limits, work: Work): Promise<RollupRow[]> {
    const { job, stored, hasHours, isFirst, computed } = draft;
    const { device, metric, day } = job;
    if (isFirst && day < limits.raw) {
      work.late += computed.size;
      return [];
    }
    const erased = new Set(job.marks.filter((mark) => mark.erased).map(({ hour }) => hour));
    const known = new Map(hasHours ? stored?.periods.map((part) => [part.time, part]) : []);
    const rows: RollupRow[] = [];
    for (const [hour, fresh] of computed) {
      const isKept = hour < limits.raw && !erased.has(hour);
      const old = isKept ? await this.#kept(job, hour, known.get(hour), limits) : null;
      const { minutes, total } = old ?? fresh;
      if (total === null) known.delete(hour);
      else known.set(hour, total);
      if (old !== null) work.late += 1;
      // Minutes that were kept are stored already.
      else if (hour >= limits.minute)
        rows.push({ device, metric, period: 'minute', start: hour, periods: minutes });
    }
    const hours = [...known.values()].sort((a, b) => a.time - b.time);
    return [...rows, ...longerRows(draft, hours, limits, erased.size > 0)];
  }

  /**
   * The figures of an hour that stay as they are, because its readings can be deleted. Null if none of its readings was
   * ever counted.
   */
  async #kept(job: Job, hour: number, known: Figures | undefined, limits: Limits): Promise<Hour | null> {
    if (known !== undefined) return { minutes: [], total: known };
    // Without transactions, a crash can have stored the minutes alone.
    const row = await this.#row(job, 'minute', hour);
    if (row !== null) return { minutes: row.periods, total: foldOf(hour, row.periods) };
    // Rollups of this hour can have expired.
    const isExpired = limits.hour > job.day || limits.minute > hour;
    return isExpired ? { minutes: [], total: null } : null;
  }

  async #hour(series: SeriesName, hour: number, work: Work): Promise<Hour> {
    const [minutes, total] = [new PeriodFolds(MINUTE_US), new PeriodFold(hour)];
    await this.#read(series, hour, hour + HOUR_US, work, (time, value) => {
      minutes.of(time).addReading(time, value);
      total.addReading(time, value);
    });
    return { minutes: minutes.figures(), total: total.figures() };
  }

  async #total(series: SeriesName, day: number, work: Work): Promise<Figures | null> {
    const total = new PeriodFold(day);
    await this.#read(series, day, day + DAY_US, work, (time, value) => total.addReading(time, value));
    return total.figures();
  }

  async #read(
    { device, metric }: SeriesName,
    from: number,
    to: number,
    work: Work,
    add: (time: number, value: number) => void,
  ): Promise<void> {
    work.readings += await eachNumber(this.#raw, { device, metric, from, to }, add);
  }

  async #row({ device, metric }: SeriesName, period: RollupPeriod, start: number): Promise<RollupRow | null> {
    const query = { device, metric, period, from: start, to: start + 1 };
    for await (const row of this.#rollups.rows(query)) return row;
    return null;
  }
}

function jobsOf(marks: readonly Mark[]): Job[] {
  const byDay = Map.groupBy(
    marks,
    ({ device, metric, hour }) => `${device} ${metric} ${floorTo(hour, DAY_US)}`,
  );
  return [...byDay.values()].map((some) => {
    const { device, metric, hour } = some[0]!;
    return { device, metric, day: floorTo(hour, DAY_US), marks: some };
  });
}

function hoursOf(day: number): number[] {
  return Array.from({ length: 24 }, (_, index) => day + index * HOUR_US);
}

/** The rows of the hours and of the day. */
function longerRows(
  { job, hasHours, total }: Draft,
  hours: readonly Figures[],
  limits: Limits,
  isErased: boolean,
): RollupRow[] {
  const { device, metric, day } = job;
  const rows: RollupRow[] = [];
  if (hasHours && day >= limits.hour)
    rows.push({ device, metric, period: 'hour', start: day, periods: hours });
  if (day >= limits.day && (hasHours || day >= limits.raw || isErased)) {
    const figures = hasHours ? foldOf(day, hours) : total;
    rows.push({ device, metric, period: 'day', start: day, periods: figures === null ? [] : [figures] });
  }
  return rows;
}

function foldOf(time: number, parts: readonly Figures[]): Figures | null {
  const fold = new PeriodFold(time);
  for (const part of parts) fold.addPart(part);
  return fold.figures();
}
