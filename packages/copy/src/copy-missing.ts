import type { LostReadings } from '@tidegauge/storage';
import type { BatchWriter } from './batch-writer.ts';
import type { Sides } from './compare-device.ts';
import { inLockstep } from './lockstep.ts';
import { byTime, metricsOf, seriesOf } from './series-of.ts';

/**
 * Passes the readings of a range that the target lacks to the writer. What the target has stays as it is.
 *
 * @returns the number of these readings
 */
export async function copyMissing(
  sides: Sides,
  range: Omit<LostReadings, 'count'>,
  writer: BatchWriter,
  signal: AbortSignal,
): Promise<number> {
  const { source, target } = sides;
  const bounds = { from: range.from, to: range.to };
  let missing = 0;
  for await (const device of range.device === null ? source.readings.devices() : [range.device]) {
    const metrics = range.metric === null ? await metricsOf(source, device) : [range.metric];
    for (const metric of metrics) {
      await inLockstep(
        seriesOf(source, device, metric, bounds),
        seriesOf(target, device, metric, bounds),
        byTime,
        (from, to) => {
          signal.throwIfAborted();
          if (from === null || to !== null) return null;
          missing += 1;
          return writer.add(from);
        },
      );
    }
  }
  await writer.flush();
  return missing;
}
