import type { Reading } from '@tidegauge/readings';
import { bucketOf } from './mapping.ts';

/** The most rows of one request. */
const REQUEST_ROWS = 50;
/**
 * Cassandra logs a warning for a request on several partitions from 5 KiB on, and refuses it from 50 KiB on.
 */
const REQUEST_BYTES = 5000;
/** The size of a reading without its texts, as the server counts it. */
const ROW_BYTES = 80;

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
 * Packs partitions into requests. A request costs a server as much as dozens of rows, and a batch of many devices
 * has few rows of each. So rows for the same node are sent together. A large partition is split over several
 * requests.
 * @param nodeOf The node of a partition. An outdated answer costs only a hop.
 */
export function* requests(
  partitions: readonly Partition[],
  nodeOf: (partition: Partition) => string,
): Generator<Request> {
  const open = new Map<string, { parts: Partition[]; rows: number; bytes: number }>();
  for (const each of partitions) {
    const { rows } = each;
    if (rows.length >= REQUEST_ROWS) {
      for (let start = 0; start < rows.length; start += REQUEST_ROWS) {
        yield [{ ...each, rows: rows.slice(start, start + REQUEST_ROWS) }];
      }
      continue;
    }
    const bytes = bytesOf(rows);
    const node = nodeOf(each);
    const request = open.get(node);
    if (request === undefined) {
      open.set(node, { parts: [each], rows: rows.length, bytes });
    } else if (request.rows + rows.length > REQUEST_ROWS || request.bytes + bytes > REQUEST_BYTES) {
      yield request.parts;
      open.set(node, { parts: [each], rows: rows.length, bytes });
    } else {
      request.parts.push(each);
      request.rows += rows.length;
      request.bytes += bytes;
    }
  }
  for (const { parts } of open.values()) yield parts;
}

function bytesOf(rows: readonly Reading[]): number {
  let bytes = 0;
  for (const { value, boot } of rows) {
    bytes += ROW_BYTES + (typeof value === 'string' ? Buffer.byteLength(value) : 0) + (boot?.length ?? 0);
  }
  return bytes;
}
