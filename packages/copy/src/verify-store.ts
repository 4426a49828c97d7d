import { forEach } from '@tidegauge/parallel';
import { type Sides, verifyDevice, type Watch } from './compare-device.ts';
import { Differences } from './differences.ts';
import { SumDigest } from './digest.ts';
import { patiently } from './patiently.ts';
import type { Progress } from './progress.ts';
import { compareDevices, compareUnits, type NameCounts } from './registered.ts';

const DEVICES_AT_ONCE = 4;

/** The number and digest of all readings of a store. */
export interface StoreDigest {
  readonly readings: number;
  readonly digest: string;
}

export interface VerifyResult {
  readonly differences: Differences;
  readonly source: StoreDigest;
  readonly target: StoreDigest;
  readonly devices: NameCounts;
  readonly units: NameCounts;
}

/** Compares two stores without a change: readings by device and day, registered devices, units of series. */
export async function verifyStore(
  sides: Sides,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: Progress },
): Promise<VerifyResult> {
  const differences = new Differences();
  const [source, target] = [new SumDigest(), new SumDigest()];
  const units: NameCounts = { total: 0, missing: 0, different: 0, extra: 0 };
  const watch: Watch = {
    signal,
    readings: (count, device, share) => progress.advance(count, device, share),
  };
  const report = (line: string) => progress.line(line);
  const devices = await patiently(() => compareDevices(sides, async () => {}), signal, report);
  let total = 0;
  for await (const _ of sides.source.readings.devices()) total += 1;
  progress.expect(total);

  const verify = async (device: string): Promise<void> => {
    const found = await patiently(() => verifyDevice(sides, device, watch), signal, report);
    for (const [day, digest] of found.source) source.addDay(device, day, digest);
    for (const [day, digest] of found.target) target.addDay(device, day, digest);
    differences.add(found.counts);
    for (const [day, counts] of found.days) differences.list(device, day, counts);
    const series = found.metrics.map((metric) => ({ device, metric }));
    const counts = await patiently(() => compareUnits(sides, series, null), signal, report);
    for (const kind of ['total', 'missing', 'different'] as const) units[kind] += counts[kind];
  };
  await forEach(sides.source.readings.devices(), DEVICES_AT_ONCE, async (device) => {
    await verify(device);
    progress.finish([device]);
  });
  // Devices of the target only. The others were compared above.
  await forEach(sides.target.readings.devices(), DEVICES_AT_ONCE, async (device) => {
    if ((await sides.source.readings.metrics(device, 1)).length === 0) await verify(device);
  });
  return {
    differences,
    source: { readings: source.count, digest: source.hex },
    target: { readings: target.count, digest: target.hex },
    devices,
    units,
  };
}
