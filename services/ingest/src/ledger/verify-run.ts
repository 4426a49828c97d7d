import { forEach } from '@tidegauge/parallel';
import type { Store } from '@tidegauge/storage';
import { RangeSet } from './range-set.ts';
import type { PublishedBoot, PublishedDevice, Range } from './sim-report.ts';

/** Devices that are compared at the same time. */
const DEVICES_AT_ONCE = 4;

/** Readings that the broker acknowledged and the store does not have. */
export interface MissingReadings {
  readonly device: string;
  readonly boot: string;
  readonly first: number;
  readonly last: number;
  /** The metrics of these readings. */
  readonly metrics: readonly string[];
}

export interface Comparison {
  devices: number;
  /** Readings that the broker acknowledged; with QoS 0, all that were published. */
  acknowledged: number;
  /** Those of them that the store has. */
  stored: number;
  /** Those that the store lacks. */
  missing: number;
  /** Those that were replaced by a reading of the same device, metric and time. */
  replaced: number;
  /** Readings with the number of another one. */
  duplicate: number;
  /** Stored readings that the broker did not acknowledge to the simulator. It can have received them. */
  unacknowledged: number;
}

interface Expected {
  readonly published: PublishedBoot;
  readonly expected: readonly Range[];
  /** Expected numbers that were not found yet. */
  readonly left: RangeSet;
}

/**
 * Compares what the simulator published with what a store has. Memory is bounded by the devices that are compared at
 * the same time, and by the number of gaps between their readings.
 *
 * @param onMissing receives the missing readings, as ranges of consecutive numbers
 */
export async function verifyRun(
  devices: AsyncIterable<PublishedDevice>,
  store: Store,
  onMissing: (missing: MissingReadings) => void,
  signal: AbortSignal,
): Promise<Comparison> {
  const total: Comparison = {
    devices: 0,
    acknowledged: 0,
    stored: 0,
    missing: 0,
    replaced: 0,
    duplicate: 0,
    unacknowledged: 0,
  };
  await forEach(devices, DEVICES_AT_ONCE, async (device) => {
    signal.throwIfAborted();
    const boots = new Map(device.boots.map((boot) => [boot.boot, expect(boot)]));
    await readNumbers(device, boots, store, total, signal);
    total.devices++;
    for (const each of boots.values()) report(device, each, total, onMissing);
  });
  return total;
}

function expect(published: PublishedBoot): Expected {
  const { acknowledged, first, last } = published;
  const expected = acknowledged ?? [[first, last] as const];
  const left = new RangeSet();
  for (const [from, to] of expected) left.addLast(from, to);
  return { published, expected, left };
}

async function readNumbers(
  { device }: PublishedDevice,
  boots: ReadonlyMap<string, Expected>,
  store: Store,
  total: Comparison,
  signal: AbortSignal,
): Promise<void> {
  const query = { device, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const { boot, seq } of store.readings.range(query)) {
    signal.throwIfAborted();
    const known = boot === null || seq === null ? undefined : boots.get(boot);
    if (known === undefined) continue;
    if (known.left.remove(seq!)) total.stored++;
    else if (contains(known.expected, seq!)) total.duplicate++;
    else total.unacknowledged++;
  }
}

function report(
  { device, metrics }: PublishedDevice,
  { published: { boot, repeated }, expected, left }: Expected,
  total: Comparison,
  onMissing: (missing: MissingReadings) => void,
): void {
  for (const [from, to] of expected) total.acknowledged += to - from + 1;
  // A reading and the next one of its metric with the same time have one identity, so only one of them is stored.
  for (const [from, to] of repeated) {
    for (let seq = Math.max(0, from - metrics.length); seq <= to; seq++)
      if (left.remove(seq)) total.replaced++;
  }
  const flat = left.flat();
  for (let index = 0; index < flat.length; index += 2) {
    const [first, last] = [flat[index]!, flat[index + 1]!];
    total.missing += last - first + 1;
    const count = Math.min(metrics.length, last - first + 1);
    const named = Array.from({ length: count }, (_, place) => metrics[(first + place) % metrics.length]!);
    onMissing({ device, boot, first, last, metrics: named });
  }
}

function contains(ranges: readonly Range[], seq: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranges[middle]![1] < seq) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length && ranges[low]![0] <= seq;
}
