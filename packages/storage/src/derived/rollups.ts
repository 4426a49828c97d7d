import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { CoreReadings } from '../backend.ts';
import type { RollupPeriod, SeriesName, SeriesScope } from '../contract.ts';
import { StoreError } from '../errors.ts';
import type {
  BackendRollups,
  Mark,
  MarkCount,
  RollupRow,
  RollupRowsQuery,
} from '../rollups/backend-rollups.ts';
import { decodeFigures, encodeFigures } from '../rollups/encoding.ts';
import { isInScope } from '../rollups/limits.ts';
import { PERIOD_US, ROLLUP_PERIODS } from '../rollups/periods.ts';
import type { Cells } from './cells.ts';
import type { DerivedLeases } from './leases.ts';
import { DerivedMarks } from './marks.ts';
import { deviceOfRollups, rollupsOf, textAt, writeAll } from './reserved.ts';

const STATE = 'store state';
/** The most rows that one call removes. */
const REMOVE_ROWS = 1000;
/** A device has marks and rows of three periods for each metric. */
const MAX_NAMES = 4 * (MAX_METRICS_READ + 1);
/** The lease for a state that is stored once, and the longest wait for it, milliseconds. */
const ENSURE_LEASE_MS = 5000;
const ENSURE_MS = 30_000;
const ENSURE_PAUSE_MS = 50;

/** Rows of rollups as readings of a reserved device, at the start of the row. Their figures are base64. */
export class DerivedRollups implements BackendRollups {
  readonly #readings: CoreReadings;
  readonly #maxBatch: number;
  readonly #cells: Cells;
  readonly #leases: DerivedLeases;
  readonly #marks: DerivedMarks;

  constructor(readings: CoreReadings, maxBatch: number, cells: Cells, leases: DerivedLeases) {
    this.#readings = readings;
    this.#maxBatch = maxBatch;
    this.#cells = cells;
    this.#leases = leases;
    this.#marks = new DerivedMarks(readings, maxBatch);
  }

  putMarks(marks: readonly Mark[]): Promise<void> {
    return this.#marks.put(marks);
  }

  dueMarks(due: number, limit: number): Promise<Mark[]> {
    return this.#marks.due(due, limit);
  }

  marksOf(series: SeriesName, from: number, to: number): Promise<Mark[]> {
    return this.#marks.of(series, from, to);
  }

  removeMarks(marks: readonly Mark[]): Promise<void> {
    return this.#marks.remove(marks);
  }

  countMarks(): Promise<MarkCount> {
    return this.#marks.count();
  }

  /** The finest first, so that a crash leaves the finer rows without the coarser ones, and never the opposite. */
  async putRows(rows: readonly RollupRow[]): Promise<void> {
    for (const period of ROLLUP_PERIODS) {
      const batch = rows
        .filter((row) => row.period === period)
        .map(({ device, metric, start, periods }) => {
          const text = encodeFigures(periods, start, PERIOD_US[period]).toString('base64');
          return textAt(rollupsOf(device), metricOf(period, metric), start, text);
        });
      await writeAll(this.#readings, batch, this.#maxBatch);
    }
  }

  async *rows({ device, metric, period, from, to }: RollupRowsQuery): AsyncGenerator<RollupRow> {
    const series = { device: rollupsOf(device), metric: metricOf(period, metric) };
    const query = { ...series, from, to, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
    for await (const { time, value } of this.#readings.range(query)) {
      const periods = decodeFigures(Buffer.from(String(value), 'base64'), time, PERIOD_US[period]);
      yield { device, metric, period, start: time, periods };
    }
  }

  async *series(): AsyncGenerator<SeriesName> {
    yield* this.#seriesWith('day');
  }

  async removeRows(period: RollupPeriod, before: number, scope: SeriesScope): Promise<number | null> {
    let removed = 0;
    for await (const series of this.#seriesWith(period)) {
      if (!isInScope(series, scope)) continue;
      const device = rollupsOf(series.device);
      const metric = metricOf(period, series.metric);
      let last = -1;
      const query = { device, metric, to: before, order: 'asc', limit: REMOVE_ROWS } as const;
      for await (const { time } of this.#readings.range(query)) {
        last = time;
        removed += 1;
      }
      if (last >= 0) await this.#readings.delete({ device, metric, to: last + 1 });
      if (removed >= REMOVE_ROWS) break;
    }
    return removed === 0 ? null : removed;
  }

  getState(name: string): Promise<string | null> {
    return this.#cells.get(STATE, name);
  }

  setState(name: string, value: string): Promise<void> {
    return this.#cells.put([{ device: STATE, name, text: value }]);
  }

  /** One process at a time stores a state that does not exist. */
  async ensureState(name: string, value: string): Promise<void> {
    const holder = randomUUID();
    const deadline = performance.now() + ENSURE_MS;
    while ((await this.getState(name)) === null) {
      if (await this.#leases.take('state', holder, ENSURE_LEASE_MS)) {
        if ((await this.getState(name)) === null) await this.setState(name, value);
        await this.#leases.release('state', holder);
      } else if (performance.now() > deadline) {
        throw new StoreError('UNAVAILABLE', `other processes hold the lease for the state ${name}`, {
          hint: 'wait, then try again',
        });
      } else await sleep(Math.random() * ENSURE_PAUSE_MS);
    }
  }

  /** The series that have rows of a period. */
  async *#seriesWith(period: RollupPeriod): AsyncGenerator<SeriesName> {
    const start = metricOf(period, '');
    for await (const reserved of this.#readings.devices()) {
      const device = deviceOfRollups(reserved);
      if (device === null) continue;
      for (const name of await this.#readings.metrics(reserved, MAX_NAMES))
        if (name.startsWith(start)) yield { device, metric: name.slice(start.length) };
    }
  }
}

function metricOf(period: RollupPeriod, metric: string): string {
  return `${period} ${metric}`;
}
