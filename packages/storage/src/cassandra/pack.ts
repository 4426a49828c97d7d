/**
 * Cassandra logs a warning for a request on several partitions from 5 KiB on, and refuses it from 50 KiB on
 * (`batch_size_warn_threshold`, `batch_size_fail_threshold`).
 */
const REQUEST_BYTES = 5000;
/** The most rows of one request. */
export const REQUEST_ROWS = 50;

export interface Packing<T> {
  /** The node of an item. An outdated answer costs only a hop. */
  node(item: T): string;
  /** The size of an item as the server counts it. */
  bytes(item: T): number;
  /** The rows of an item. Default: 1. */
  rows?(item: T): number;
  /** The most rows of a request. Default: 50. */
  readonly mostRows?: number;
}

/**
 * Packs items into requests, each for one node. A request costs a server as much as dozens of small rows. A large item
 * has its own request.
 */
export function* pack<T>(items: Iterable<T>, packing: Packing<T>): Generator<readonly T[]> {
  const { mostRows = REQUEST_ROWS } = packing;
  const open = new Map<string, { items: T[]; rows: number; bytes: number }>();
  for (const item of items) {
    const bytes = packing.bytes(item);
    if (bytes > REQUEST_BYTES / 2) {
      yield [item];
      continue;
    }
    const rows = packing.rows?.(item) ?? 1;
    const node = packing.node(item);
    const request = open.get(node);
    if (request === undefined) open.set(node, { items: [item], rows, bytes });
    else if (request.rows + rows > mostRows || request.bytes + bytes > REQUEST_BYTES) {
      yield request.items;
      open.set(node, { items: [item], rows, bytes });
    } else {
      request.items.push(item);
      request.rows += rows;
      request.bytes += bytes;
    }
  }
  for (const { items } of open.values()) yield items;
}
