import type { Table } from '@tidegauge/hbase-client';
import { forEach } from '@tidegauge/parallel';
import { addValue, type Fold, figuresOf, foldOf } from '../aggregate.ts';
import type { AddPart, Scope } from '../day-totals.ts';
import { compareText } from '../merge.ts';
import { DAY_US } from '../rollups/periods.ts';
import {
  behind,
  devicePrefix,
  readDevice,
  readKey,
  saltSplits,
  seriesPrefix,
  TIME_BYTES,
  timeKey,
  timeOf,
} from './keys.ts';
import { numberOf } from './mapping.ts';
import type { Session } from './session.ts';

/** The parts of the table, by salt, and how many of them are read at the same time. */
const PARTS = 16;
const PARTS_AT_ONCE = 4;
/** Concurrent scans of devices. */
const DEVICES_AT_ONCE = 16;
/** After this number of readings that are not wanted, a new scan starts at the next wanted one. */
const MAX_SKIPPED = 100;
/** Readings of a page where scans are often left early. */
const PAGE_ROWS = 1000;

interface Series {
  readonly prefix: Buffer;
  readonly device: string;
  readonly metric: string;
}

/** Adds up readings of many devices. HBase cannot add, so every wanted reading is read. */
export class HbaseGroups {
  readonly #session: Session;
  readonly #table: Table;

  constructor(session: Session) {
    this.#session = session;
    this.#table = session.table('readings');
  }

  /** Passes the totals of each series and day of all devices to `add`. */
  async ofAll(scope: Scope, add: AddPart): Promise<void> {
    const splits = [Buffer.alloc(0), ...saltSplits(PARTS)];
    const parts = splits.map((start, index) => [start, splits[index + 1] ?? Buffer.alloc(0)] as const);
    await forEach(parts, PARTS_AT_ONCE, ([start, stop]) => this.#walk(start, stop, scope, add));
  }

  /** As `ofAll`, for some devices. */
  async ofDevices(devices: AsyncIterable<string>, scope: Scope, add: AddPart): Promise<void> {
    await forEach(devices, DEVICES_AT_ONCE, (device) => {
      const prefix = devicePrefix(device);
      return this.#walk(prefix, behind(prefix), scope, add);
    });
  }

  #walk(start: Buffer, stop: Buffer, scope: Scope, add: AddPart): Promise<void> {
    return this.#session.run(async () => {
      for (let next: Buffer | null = start; next !== null; ) {
        if (stop.length > 0 && next.compare(stop) >= 0) return;
        next = await this.#scan(next, stop, scope, add);
      }
    });
  }

  /** Scans from a key on. Resolves to the key from which to continue, or to null at the end. */
  async #scan(start: Buffer, stop: Buffer, scope: Scope, add: AddPart): Promise<Buffer | null> {
    const page = hasAll(scope) ? {} : { pageRows: PAGE_ROWS };
    let series: Series | null = null;
    let day = 0;
    let fold: Fold | null = null;
    let skipped = 0;
    const flush = () => {
      if (series !== null && fold !== null) add(series.device, series.metric, day, figuresOf(fold));
      fold = null;
    };
    for await (const row of this.#table.scan({ start, stop, cacheBlocks: false, ...page })) {
      const { key } = row;
      if (series === null || !isIn(series, key)) {
        flush();
        series = seriesOf(key);
      }
      const time = timeOf(key);
      const wanted = nextWanted(series, time, scope);
      if (wanted !== null) {
        skipped += 1;
        if (skipped < MAX_SKIPPED) continue;
        flush();
        return wanted;
      }
      skipped = 0;
      const value = numberOf(row.cells[0]!.value);
      if (value === null) continue;
      const itsDay = Math.floor(time / DAY_US);
      if (itsDay !== day) flush();
      day = itsDay;
      fold = foldWith(fold, value);
    }
    flush();
    return null;
  }
}

function hasAll({ metric, from, to }: Scope): boolean {
  return metric === undefined && from === 0 && to >= Number.MAX_SAFE_INTEGER;
}

function foldWith(fold: Fold | null, value: number): Fold {
  if (fold === null) return foldOf(value);
  addValue(fold, value);
  return fold;
}

function seriesOf(key: Buffer): Series {
  const { series, metric } = readKey(key);
  return { prefix: Buffer.from(series), device: readDevice(key), metric };
}

function isIn({ prefix }: Series, key: Buffer): boolean {
  return (
    key.length === prefix.length + TIME_BYTES && key.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
  );
}

/** Null if a reading is in the scope, otherwise the next key that can be. */
function nextWanted({ prefix, device, metric }: Series, time: number, scope: Scope): Buffer | null {
  if (scope.metric !== undefined && scope.metric !== metric) {
    return compareText(metric, scope.metric) < 0
      ? seriesPrefix(device, scope.metric)
      : behind(devicePrefix(device));
  }
  if (time < scope.from) return timeKey(prefix, scope.from);
  return time >= scope.to ? behind(prefix) : null;
}
