import { forEach } from '@tidegauge/parallel';
import type { Reading } from '@tidegauge/readings';
import { BucketFolds } from '../aggregate.ts';
import { MAX_METRICS_READ } from '../arguments.ts';
import type { BackendReadings, CompleteReadings, CoreReadings, NativeReadings } from '../backend.ts';
import type { DeviceStore, Pace } from '../contract.ts';
import { groupsOf, rollUpDays } from '../day-totals.ts';
import { foldGroups, namesOf, rangeByDevice } from '../groups.ts';
import { compareText, demandFewMetrics, latestOfSome } from '../merge.ts';
import { eachNumber } from '../rollups/numbers.ts';
import { isReserved } from './reserved.ts';
import type { DerivedUnits } from './units.ts';

const DEVICES_AT_ONCE = 8;

/** The newest reading of each metric: the first one of a range from the end. */
export function latestOf(readings: Pick<CoreReadings, 'metrics' | 'range'>): NativeReadings['latest'] {
  const ofDevice = async (device: string, limit: number): Promise<Reading[]> => {
    const metrics = await readings.metrics(device, MAX_METRICS_READ + 1);
    demandFewMetrics(device, metrics.length);
    const found: Reading[] = [];
    for (const metric of metrics.toSorted(compareText)) {
      if (found.length >= limit) break;
      for await (const reading of readings.range({ device, metric, limit: 1 })) found.push(reading);
    }
    return found;
  };
  return (devices, limit) =>
    latestOfSome(devices, limit, DEVICES_AT_ONCE, async (some) => {
      const found: Reading[][] = some.map(() => []);
      await forEach(some.entries(), DEVICES_AT_ONCE, async ([index, device]) => {
        found[index] = await ofDevice(device, limit);
      });
      return found.flat();
    });
}

/** What `completeReadings` needs besides the readings of an engine. */
interface Parts {
  readonly latest: NativeReadings['latest'];
  readonly devices: DeviceStore;
  readonly units: DerivedUnits;
  /** The engine has reserved devices, which callers must not get. */
  readonly hasReserved: boolean;
}

/** All calls on readings: native versions where an engine has them, otherwise derived ones. */
export function completeReadings(
  engine: BackendReadings,
  { latest, devices, units, hasReserved }: Parts,
): CompleteReadings {
  const names = hasReserved
    ? (after?: string) => withoutReserved(engine.devices(after))
    : (after?: string) => engine.devices(after);
  const { totals } = engine;
  return {
    write: (batch, effort) => engine.write(batch, effort),
    range: (query) => engine.range(query),
    metrics: (device, limit) => engine.metrics(device, limit),
    delete: (query, pace) => engine.delete(query, pace),
    devices: names,
    latest,
    ...(engine.pages === undefined ? {} : { pages: (query) => engine.pages!(query) }),
    ...(engine.numbers === undefined ? {} : { numbers: (query) => engine.numbers!(query) }),
    setUnits: (given) => engine.setUnits?.(given) ?? units.set(given),
    units: (series) => engine.units?.(series) ?? units.of(series),
    async aggregate(query) {
      const found = await engine.aggregate?.(query);
      if (found != null) return found;
      const { device, metric, from, to, bucket } = query;
      const folds = new BucketFolds(bucket);
      await eachNumber(engine, { device, metric, from, to }, (time, value) => folds.add(time, value));
      return folds.buckets();
    },
    async groups(query) {
      if (totals !== undefined) return groupsOf(query, totals, devices);
      const found = await engine.groups?.(query);
      if (found != null) return found;
      const selected = query.devices === undefined ? names() : namesOf(devices, query.devices);
      return foldGroups(query, selected, (part) => engine.range(part));
    },
    rangeOfDevices: (filter, query) =>
      engine.rangeOfDevices?.(filter, query) ??
      rangeByDevice(filter, query, devices, (part) => engine.range(part)),
    rollUp: async (from, to) => (totals === undefined ? 0 : rollUpDays(totals, from, to)),
    expire: (before, pace) => engine.expire?.(before, pace) ?? expireByDevice(engine, names(), before, pace),
  };
}

async function* withoutReserved(devices: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const device of devices) if (!isReserved(device)) yield device;
}

async function expireByDevice(
  readings: Pick<CoreReadings, 'delete'>,
  devices: AsyncIterable<string>,
  before: number,
  pace?: Pace,
): Promise<number | null> {
  let expired: number | null = 0;
  for await (const device of devices) {
    const deleted: number | null = await readings.delete({ device, to: before }, pace);
    expired = expired === null || deleted === null ? null : expired + deleted;
  }
  return expired;
}
