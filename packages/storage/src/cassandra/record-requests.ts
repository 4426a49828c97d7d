import type { YcsbRecord } from '../contract.ts';
import { pack } from './pack.ts';

/** From 11 partitions on, Cassandra logs a warning too (`unlogged_batch_across_partitions_warn_threshold`). */
const REQUEST_RECORDS = 10;
/** What the server adds to the size of each value: timestamp, ttl and time of deletion. */
const CELL_BYTES = 16;

/**
 * Packs records into requests, each for one node.
 * @param nodeOf The node of a key. An outdated answer costs only a hop.
 */
export function requests(
  records: readonly YcsbRecord[],
  nodeOf: (key: string) => string,
): Generator<readonly YcsbRecord[]> {
  return pack(records, { node: ({ key }) => nodeOf(key), bytes: bytesOf, mostRows: REQUEST_RECORDS });
}

function bytesOf({ key, fields }: YcsbRecord): number {
  let bytes = CELL_BYTES + Buffer.byteLength(key);
  for (const name in fields) bytes += CELL_BYTES + Buffer.byteLength(fields[name]!);
  return bytes;
}
