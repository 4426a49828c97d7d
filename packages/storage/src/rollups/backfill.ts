import { MAX_METRICS_READ } from '../arguments.ts';
import type { CompleteReadings } from '../backend.ts';
import type { SeriesName } from '../contract.ts';
import { compareText } from '../merge.ts';
import type { BackendRollups, Mark } from './backend-rollups.ts';
import { BACKFILL_STATE, type BackfillState, RollupState } from './limits.ts';
import { ceilTo, DAY_US, floorTo } from './periods.ts';

/** One piece ends when it has marked this many days, or looked for readings this often. */
const PIECE_DAYS = 200;
const PIECE_LOOKS = 500;

type Raw = Pick<CompleteReadings, 'devices' | 'metrics' | 'range'>;

/** What a piece has left to do. */
interface Budget {
  readonly marks: Mark[];
  looks: number;
}

/**
 * Marks the days of readings that a store had before its upgrade, series by series, so that the worker computes their
 * rollups. It begins when no process that does not mark its readings can run any more, and each piece when the worker has
 * computed the days of the last one. Marks are stored before the position, and days with rollups are left out. So a killed
 * process leaves nothing wrong, and the next piece continues.
 */
export class Backfill {
  readonly #rollups: BackendRollups;
  readonly #raw: Raw;
  readonly #clock: () => number;

  /** @param clock microseconds */
  constructor(rollups: BackendRollups, raw: Raw, clock: () => number) {
    this.#rollups = rollups;
    this.#raw = raw;
    this.#clock = clock;
  }

  /** Does one bounded piece. Called when no mark is due, by one process at a time. Resolves to whether there can be more. */
  async piece(): Promise<boolean> {
    const state = await RollupState.read(this.#rollups, this.#clock());
    const { since } = state;
    if (since === 0 || this.#clock() < since) return false;
    const text = await this.#rollups.getState(BACKFILL_STATE);
    const position: BackfillState = text === null ? {} : JSON.parse(text);
    if (position.since !== undefined) return false;
    if (position.all !== true) return this.#mark(state, position);
    // A mark of an earlier day can be one that stands for the whole day.
    const { hour } = await this.#rollups.countMarks();
    if (hour !== null && hour < since) return false;
    const deleted = Math.min(ceilTo(state.deletedBefore, DAY_US), since);
    await this.#rollups.setState(BACKFILL_STATE, JSON.stringify({ since: deleted }));
    return false;
  }

  async #mark(state: RollupState, position: BackfillState): Promise<boolean> {
    const budget: Budget = { marks: [], looks: 0 };
    const next = await this.#next(state, position, budget);
    if (budget.marks.length > 0) await this.#rollups.putMarks(budget.marks);
    await this.#rollups.setState(BACKFILL_STATE, JSON.stringify(next ?? { all: true }));
    return true;
  }

  /** Collects marks from a position on. Resolves to the position that follows, or to null at the end. */
  async #next(state: RollupState, position: BackfillState, budget: Budget): Promise<BackfillState | null> {
    const { device } = position;
    if (device !== undefined) {
      const rest = await this.#ofDevice(device, state, position, budget);
      if (rest !== null) return rest;
    }
    for await (const name of this.#raw.devices(device)) {
      const rest = await this.#ofDevice(name, state, {}, budget);
      if (rest !== null) return rest;
    }
    return null;
  }

  async #ofDevice(
    device: string,
    state: RollupState,
    position: BackfillState,
    budget: Budget,
  ): Promise<BackfillState | null> {
    const metrics = (await this.#raw.metrics(device, MAX_METRICS_READ + 1)).sort(compareText);
    for (const metric of metrics) {
      const order = position.metric === undefined ? 1 : compareText(metric, position.metric);
      if (order < 0) continue;
      const from = order === 0 ? (position.from ?? 0) : 0;
      const day = await this.#ofSeries({ device, metric }, from, state, budget);
      if (day !== null) return { device, metric, from: day };
    }
    return null;
  }

  /** Marks the days of a series that have readings and no rollups. Resolves to the day of which a next piece continues. */
  async #ofSeries(
    series: SeriesName,
    from: number,
    state: RollupState,
    budget: Budget,
  ): Promise<number | null> {
    const { since } = state;
    // Days whose readings are partly deleted stay as they are: their readings would make wrong rollups.
    const start = Math.max(from, ceilTo(state.of(series).raw, DAY_US));
    const known = new Set<number>();
    const rows = this.#rollups.rows({ ...series, period: 'day', from: start, to: since });
    for await (const row of rows) known.add(row.start);
    const due = this.#clock();
    for (let next = start; next < since; ) {
      if (budget.marks.length >= PIECE_DAYS || budget.looks >= PIECE_LOOKS) return next;
      budget.looks += 1;
      const time = await this.#firstTime(series, next, since);
      if (time === null) return null;
      const day = floorTo(time, DAY_US);
      // The worker computes all hours of a day that was never rolled up.
      if (!known.has(day)) budget.marks.push({ ...series, hour: day, due, erased: false });
      next = day + DAY_US;
    }
    return null;
  }

  async #firstTime({ device, metric }: SeriesName, from: number, to: number): Promise<number | null> {
    for await (const { time } of this.#raw.range({ device, metric, from, to, order: 'asc', limit: 1 }))
      return time;
    return null;
  }
}
