import { BatchWriter, type DayDigest, DeviceDigest, isBare, type SumDigest, some } from '@tidegauge/copy';
import { forEach } from '@tidegauge/parallel';
import type { Device, Reading } from '@tidegauge/readings';
import { compareText, MAX_PAGE, type SeriesUnit, type Store, StoreError } from '@tidegauge/storage';
import { OTHER_UNIT, type SeriesChunk } from './chunk.ts';
import type { Tally } from './tally.ts';

const SERIES_AT_ONCE = 4;
/** Series of one call for units. */
const UNITS_AT_ONCE = 1000;

/** What became of the readings of a chunk. */
export interface StoredCounts {
  /** Readings that the store did not have. */
  readonly written: number;
  /** Readings that the store had with this value. */
  readonly equal: number;
  /** Of `written`: the store had another value, received earlier or at the same time. */
  readonly replaced: number;
  /** The store has another value, which was received later and stays. */
  readonly kept: number;
}

/** What is verified: both sides are equal. */
export interface Sums {
  readonly source: SumDigest;
  readonly store: SumDigest;
}

interface Part {
  readonly series: SeriesChunk;
  /** What the store must have afterwards, by time. */
  readonly expected: Map<number, Reading>;
}

/**
 * Writes what the store lacks of a chunk, reads it again, and compares number and digest. It can be repeated after any
 * error. Sums and tally are changed at the end only.
 *
 * @throws {Error} when the store does not return what was written
 */
export async function storeChunk(
  store: Store,
  chunk: readonly SeriesChunk[],
  sums: Sums,
  tally: Tally,
): Promise<StoredCounts> {
  const { usable, units, others } = await withUnits(store, chunk);
  const writer = new BatchWriter(store);
  const parts: Part[] = [];
  const counts = { written: 0, equal: 0, replaced: 0, kept: 0 };
  await forEach(usable, SERIES_AT_ONCE, async (series) => {
    const expected = await readTimes(store, series);
    for (const [time, reading] of series.byTime) {
      const known = expected.get(time);
      if (known?.value === reading.value) {
        counts.equal += 1;
        continue;
      }
      if (known !== undefined && known.received > reading.received) {
        counts.kept += 1;
        continue;
      }
      if (known !== undefined) counts.replaced += 1;
      expected.set(time, reading);
      const waits = writer.add(reading);
      if (waits !== null) await waits;
    }
    parts.push({ series, expected });
  });
  await writer.flush();
  for (let start = 0; start < units.length; start += UNITS_AT_ONCE)
    await store.readings.setUnits(units.slice(start, start + UNITS_AT_ONCE));
  await verify(store, parts, writer, sums, tally);
  for (const { example, count } of others) tally.add('refused', OTHER_UNIT, example, count);
  counts.written = writer.written;
  return counts;
}

/** The series that can be stored with their unit, and the units that the store lacks. */
async function withUnits(
  store: Store,
  chunk: readonly SeriesChunk[],
): Promise<{
  readonly usable: readonly SeriesChunk[];
  readonly units: readonly SeriesUnit[];
  readonly others: readonly { readonly example: string; readonly count: number }[];
}> {
  const stated = chunk.filter(({ unit }) => unit !== null);
  const known: (string | null)[] = [];
  for (let start = 0; start < stated.length; start += UNITS_AT_ONCE) {
    const names = stated
      .slice(start, start + UNITS_AT_ONCE)
      .map(({ device, metric }) => ({ device, metric }));
    known.push(...(await store.readings.units(names)));
  }
  const other = new Map<SeriesChunk, { readonly example: string; readonly count: number }>();
  const units: SeriesUnit[] = [];
  for (const [index, series] of stated.entries()) {
    const { device, metric, unit, byTime } = series;
    const has = known[index] ?? null;
    if (has === null) units.push({ device, metric, unit: unit! });
    else if (has !== unit) {
      other.set(series, {
        example: `${device} ${metric}: ${unit}, and ${has} in the store`,
        count: byTime.size,
      });
    }
  }
  return { usable: chunk.filter((series) => !other.has(series)), units, others: [...other.values()] };
}

/** The readings that the store has at the times of a series. */
async function readTimes(
  store: Store,
  { device, metric, byTime, first, last }: SeriesChunk,
): Promise<Map<number, Reading>> {
  const found = new Map<number, Reading>();
  const bounds = { from: first, to: last + 1, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const page of store.readings.pages({ device, metric, ...bounds })) {
    for (const reading of page) if (byTime.has(reading.time)) found.set(reading.time, reading);
  }
  return found;
}

/** Reads all series of a chunk again, and adds the digests of both sides. */
async function verify(
  store: Store,
  parts: Part[],
  { refused, reasons }: BatchWriter,
  sums: Sums,
  tally: Tally,
): Promise<void> {
  const stored = new Map<Part, Map<number, Reading>>();
  let missing = 0;
  await forEach(parts, SERIES_AT_ONCE, async (part) => {
    const found = await readTimes(store, part.series);
    for (const time of part.expected.keys()) {
      if (found.has(time)) continue;
      missing += 1;
      if (refused > 0) part.expected.delete(time);
    }
    stored.set(part, found);
  });
  if (missing !== refused)
    throw changed(`not in the store after they were written: ${some(missing - refused, 'reading')}`);
  const days: { device: string; day: number; expected: DayDigest; other: DayDigest }[] = [];
  for (const [device, group] of Map.groupBy(parts, ({ series }) => series.device)) {
    const [left, right] = [new DeviceDigest(), new DeviceDigest()];
    for (const part of group.toSorted((a, b) => compareText(a.series.metric, b.series.metric))) {
      for (const time of [...part.expected.keys()].sort((a, b) => a - b)) {
        left.add(part.expected.get(time)!);
        right.add(stored.get(part)!.get(time)!);
      }
    }
    const found = right.days();
    for (const [day, expected] of left.days()) {
      const other = found.get(day)!;
      if (!expected.digest.equals(other.digest))
        throw changed(`${device}: the store returns other values than were written`);
      days.push({ device, day, expected, other });
    }
  }
  for (const { device, day, expected, other } of days) {
    sums.source.addDay(device, day, expected);
    sums.store.addDay(device, day, other);
  }
  tally.add('refused', 'the store refuses it', reasons[0] ?? null, refused);
}

/** It is tried again, because another program can change the same readings meanwhile. */
function changed(message: string): StoreError {
  return new StoreError('UNEXPECTED', message);
}

/** Registers devices. Descriptions replace those without any. */
export async function describeDevices(store: Store, devices: Iterable<Device>): Promise<number> {
  let described = 0;
  for (const device of devices) {
    if (isBare(device) || (await store.readings.metrics(device.name, 1)).length === 0) continue;
    const known = await store.devices.get(device.name);
    if (known !== null && !isBare(known)) continue;
    await store.devices.put(device);
    described += 1;
  }
  return described;
}

/** Registers the devices of a chunk that were not registered before. */
export async function registerDevices(store: Store, names: readonly string[]): Promise<void> {
  for (let start = 0; start < names.length; start += MAX_PAGE)
    await store.devices.register(names.slice(start, start + MAX_PAGE));
}
