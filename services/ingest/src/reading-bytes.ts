import type { Reading } from '@tidegauge/readings';

/** Approximate memory of a reading, bytes. */
export function readingBytes({ value, device, metric, boot }: Reading): number {
  const text = typeof value === 'string' ? value.length : 0;
  return 200 + 2 * (device.length + metric.length + text + (boot?.length ?? 0));
}
