import type { Reading } from '@tidegauge/readings';
import { bucketOf } from './mapping.ts';

/** What of a batch goes to one partition: each time once. */
export interface Partition {
  readonly device: string;
  readonly metric: string;
  readonly bucket: number;
  readonly rows: readonly Reading[];
}

interface Growing extends Partition {
  readonly rows: Reading[];
  /** Times came in ascending order so far, so none can have come twice. */
  ascending: boolean;
}

/**
 * Sorts a batch into partitions. Of equal identities only the last stays: they would be sent with one
 * timestamp, of which Cassandra keeps the larger value, not the later.
 */
export function partition(batch: readonly Reading[]): Partition[] {
  const devices = new Map<string, Map<string, Growing>>();
  const all: Growing[] = [];
  // A series mostly stays within a day, so its last partition is looked at first.
  const others = new Map<string, Growing>();
  for (const reading of batch) {
    const { device, metric, time } = reading;
    const bucket = bucketOf(time);
    let metrics = devices.get(device);
    if (metrics === undefined) {
      metrics = new Map();
      devices.set(device, metrics);
    }
    let current = metrics.get(metric);
    if (current === undefined || current.bucket !== bucket) {
      const key = `${bucket} ${metric} ${device}`;
      current = current === undefined ? undefined : others.get(key);
      if (current === undefined) {
        current = { device, metric, bucket, rows: [], ascending: true };
        others.set(key, current);
        all.push(current);
      }
      metrics.set(metric, current);
    }
    const last = current.rows.at(-1);
    if (last !== undefined && time <= last.time) current.ascending = false;
    current.rows.push(reading);
  }
  return all.map((each) => (each.ascending ? each : { ...each, rows: lastOfEach(each.rows) }));
}

function lastOfEach(rows: readonly Reading[]): Reading[] {
  return [...new Map(rows.map((row) => [row.time, row])).values()];
}
