import type { YcsbRecord } from '../contract.ts';

/**
 * Cassandra logs a warning for a request on several partitions from 5 KiB on, and refuses it from 50 KiB on
 * (`batch_size_warn_threshold`, `batch_size_fail_threshold`).
 */
const REQUEST_BYTES = 5000;
/** From 11 partitions on, it logs a warning too (`unlogged_batch_across_partitions_warn_threshold`). */
const REQUEST_RECORDS = 10;
/** What the server adds to the size of each value: timestamp, ttl and time of deletion. */
const CELL_BYTES = 16;

/**
 * Packs records into requests, each for one node. A request costs a server as much as several small records. A large
 * record has its own request.
 * @param nodeOf The node of a key. An outdated answer costs only a hop.
 */
export function* requests(
  records: readonly YcsbRecord[],
  nodeOf: (key: string) => string,
): Generator<readonly YcsbRecord[]> {
  const open = new Map<string, { records: YcsbRecord[]; bytes: number }>();
  for (const record of records) {
    const bytes = bytesOf(record);
    if (bytes > REQUEST_BYTES / 2) {
      yield [record];
      continue;
    }
    const node = nodeOf(record.key);
    const request = open.get(node);
    if (request === undefined) {
      open.set(node, { records: [record], bytes });
    } else if (request.records.length === REQUEST_RECORDS || request.bytes + bytes > REQUEST_BYTES) {
      yield request.records;
      open.set(node, { records: [record], bytes });
    } else {
      request.records.push(record);
      request.bytes += bytes;
    }
  }
  for (const { records } of open.values()) yield records;
}

function bytesOf({ key, fields }: YcsbRecord): number {
  let bytes = CELL_BYTES + Buffer.byteLength(key);
  for (const name in fields) bytes += CELL_BYTES + Buffer.byteLength(fields[name]!);
  return bytes;
}
