import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import type { Figures } from './figures.ts';

/** The readings of a series in one UTC hour have changed since its rollups were computed. */
export interface Mark extends SeriesName {
  /** The start of the hour, microseconds. */
  readonly hour: number;
  /**
   * The time from which the rollups can be computed, microseconds. All writes that rely on this mark have ended before
   * it.
   */
  readonly due: number;
  /** Readings of the hour were deleted on request, so its rollups must not stay as they are. */
  readonly erased: boolean;
}

/** A row of rollups: the periods of one series within `ROW_US` of a start. */
export interface RollupRow extends SeriesName {
  readonly period: RollupPeriod;
  /** A multiple of `ROW_US`, microseconds. */
  readonly start: number;
  /** By time. Periods without numeric readings are left out. */
  readonly periods: readonly Figures[];
}

/** Rows of one series and period whose start is in [from, to), microseconds. */
export interface RollupRowsQuery extends SeriesName {
  readonly period: RollupPeriod;
  readonly from: number;
  readonly to: number;
}

/**
 * What an engine keeps for rollups. `Rollups` decides what it means. Every call that changes data resolves when the
 * change is durable, and the next call of any process sees it.
 */
export interface BackendRollups {
  /** The engine deletes readings this long after they were written, microseconds. 0 or undefined: never. */
  readonly rawTtl?: number;
  /**
   * Stores 1 to 1000 marks. Of marks with the same series and hour, one stays, with the latest `due`. It is `erased` if any
   * of them is. No two of the given ones have the same series and hour.
   */
  putMarks(marks: readonly Mark[]): Promise<void>;
  /** The first `limit` marks with `due` up to the given time, the earliest first. */
  dueMarks(due: number, limit: number): Promise<Mark[]>;
  /** The marks of a series with `hour` in [from, to), by hour. */
  marksOf(series: SeriesName, from: number, to: number): Promise<Mark[]>;
  /** Removes marks that still have the given `due`. */
  removeMarks(marks: readonly Mark[]): Promise<void>;
  /** The number of marks, and the earliest `hour` and `due` of any of them. */
  countMarks(): Promise<MarkCount>;
  /** Replaces rows: about a hundred. They are stored together if the engine has transactions. */
  putRows(rows: readonly RollupRow[]): Promise<void>;
  /** By start. */
  rows(query: RollupRowsQuery): AsyncIterable<RollupRow>;
  /**
   * All series that have rows of days, in any order. Series can occur twice. Only for engines whose readings no longer name
   * the series of which all readings were deleted.
   */
  series?(): AsyncIterable<SeriesName>;
  /** Removes some rows with `start` before the given time: a bounded part. Resolves to null if none are left. */
  removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null>;
  /** A short text by name. Null if it was never set. */
  getState(name: string): Promise<string | null>;
  setState(name: string, value: string): Promise<void>;
  /** Stores a state unless it exists. Of several processes that do it at the same time, the first one succeeds. */
  ensureState(name: string, value: string): Promise<void>;
}

export interface MarkCount {
  readonly marks: number;
  readonly hour: number | null;
  readonly due: number | null;
}
