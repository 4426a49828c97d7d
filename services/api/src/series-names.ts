import { demandWithin } from '@tidegauge/service';
import type { SeriesName } from '@tidegauge/storage';
import type { Call } from './dispatch.ts';
import { device, invalid, metric } from './parameters.ts';

/** Query parameters that name several series. */
export interface SeriesNames {
  readonly device: readonly string[];
  readonly metric: readonly string[];
}

/**
 * The series of a request: the n-th metric is that of the n-th device, and a single name is that of all.
 *
 * @throws {Problem} 400 when the names do not match, 403 when the sender may not read a device
 */
export function seriesOf(
  call: Call,
  { device: devices = [], metric: metrics = [] }: Partial<SeriesNames>,
): readonly SeriesName[] {
  const isPaired = devices.length === metrics.length || devices.length === 1 || metrics.length === 1;
  if (!isPaired) {
    const message = `has ${metrics.length} names for ${devices.length} devices: give one for each device, or one for all`;
    throw invalid('/query/metric', message);
  }
  const named = devices.map((name, index) => demandWithin(call, device(name, `/query/device/${index}`)));
  const measured = metrics.map((name, index) => metric(name, `/query/metric/${index}`)!);
  return Array.from({ length: Math.max(named.length, measured.length) }, (_, index) => ({
    device: named[named.length === 1 ? 0 : index]!,
    metric: measured[measured.length === 1 ? 0 : index]!,
  }));
}
