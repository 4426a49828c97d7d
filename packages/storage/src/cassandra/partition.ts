import type { Reading } from '@tidegauge/readings';
import { bucketOf } from './mapping.ts';
import { pack, REQUEST_ROWS } from './pack.ts';

/** The sizes of a partition and of a reading without its texts, as the server counts them. */
const PARTITION_BYTES = 30;
const ROW_BYTES = 156;

/** The rows of a batch for one partition, each time once. */
export interface Partition {
  readonly device: string;
  readonly metric: string;
  readonly bucket: number;
  readonly rows: readonly Reading[];
}

interface Growing extends Partition {
  readonly rows: Reading[];
  /** Whether times have been ascending so far, so that no time can occur twice. */
  ascending: boolean;
}

/**
 * Sorts a batch into partitions. Of equal identities, only the last stays. Otherwise they would have one
 * timestamp, and Cassandra would keep the larger value instead of the last.
 */
export function partition(batch: readonly Reading[]): Partition[] {
  const devices = new Map<string, Map<string, Growing>>();
  const all: Growing[] = [];
  // A series usually stays within a day, so its last partition is checked first.
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

/** One request: rows of one partition, or of a few small partitions on one node. */
export type Request = readonly Partition[];

/**
 * Packs partitions into requests: a batch of many devices has few rows of each. A large partition is split over several
 * requests, which have no limit of size.
 * @param nodeOf The node of a partition. An outdated answer costs only a hop.
 */
export function* requests(
  partitions: readonly Partition[],
  nodeOf: (partition: Partition) => string,
): Generator<Request> {
  const small: Partition[] = [];
  for (const each of partitions) {
    const { rows } = each;
    if (rows.length < REQUEST_ROWS) small.push(each);
    else {
      for (let start = 0; start < rows.length; start += REQUEST_ROWS) {
        yield [{ ...each, rows: rows.slice(start, start + REQUEST_ROWS) }];
      }
    }
  }
  yield* pack(small, { node: nodeOf, rows: ({ rows }) => rows.length, bytes: ({ rows }) => bytesOf(rows) });
}

function bytesOf(rows: readonly Reading[]): number {
  let bytes = PARTITION_BYTES;
  for (const { value, boot } of rows) {
    bytes += ROW_BYTES + (typeof value === 'string' ? Buffer.byteLength(value) : 0) + (boot?.length ?? 0);
  }
  return bytes;
}
