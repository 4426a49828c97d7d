import type { BirthNames, SparkplugMetric } from './sparkplug-payload.ts';

/** Default memory for births. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Nodes whose last rebirth request is remembered. */
const MOST_REQUESTS = 2000;
/** Approximate bytes of a node, a device and a metric, besides their names. */
const NODE_BYTES = 400;
const DEVICE_BYTES = 300;
const METRIC_BYTES = 200;

/** The metrics of one device, or of the node itself, by alias and by name. */
interface Birth {
  readonly byAlias: Map<bigint, BirthNames>;
  readonly byName: Map<string, BirthNames>;
  readonly bytes: number;
}

interface Node {
  seq: number;
  readonly bdSeq: number | null;
  readonly births: Map<string, Birth>;
  bytes: number;
}

/** The current births of edge nodes, bounded in bytes. The least recently used node is removed first. */
export class SparkplugNodes {
  readonly #maxBytes: number;
  readonly #nodes = new Map<string, Node>();
  readonly #requests = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Starts the session of a node: NBIRTH. Everything known of an earlier session is removed. */
  begin(key: string, seq: number, bdSeq: number | null): void {
    this.#remove(key);
    const bytes = NODE_BYTES + 2 * key.length;
    this.#nodes.set(key, { seq, bdSeq, births: new Map(), bytes });
    this.#bytes += bytes;
    this.#shrink();
  }

  /** Ends a session: NDEATH. A death of an earlier session, which a broker can send late, has no effect. */
  end(key: string, bdSeq: number | null): void {
    const node = this.#nodes.get(key);
    if (node !== undefined && (bdSeq === null || node.bdSeq === null || bdSeq === node.bdSeq))
      this.#remove(key);
  }

  /**
   * Checks the sequence number of a message.
   *
   * @returns why a rebirth is needed; null when none is
   */
  follow(key: string, seq: number | null): string | null {
    const node = this.#nodes.get(key);
    if (node === undefined) return 'the node has no birth';
    // The most recently used node is the last one of the map.
    this.#nodes.delete(key);
    this.#nodes.set(key, node);
    // The same number again is a message that the broker sent twice.
    if (seq === null || seq === node.seq) return null;
    const expected = (node.seq + 1) % 256;
    node.seq = seq;
    return seq === expected ? null : `sequence number ${seq} follows, and ${expected} was expected`;
  }

  /** Keeps the metrics of a birth in place of those of an earlier one. Without a node, nothing is kept. */
  addBirth(key: string, device: string, metrics: readonly SparkplugMetric[]): void {
    const node = this.#nodes.get(key);
    if (node === undefined) return;
    this.endDevice(key, device);
    const byAlias = new Map<bigint, BirthNames>();
    const byName = new Map<string, BirthNames>();
    let bytes = DEVICE_BYTES + 2 * device.length;
    for (const { name, alias, type } of metrics) {
      if (name === null) continue;
      const names = { name, type };
      if (alias !== null) byAlias.set(alias, names);
      byName.set(name, names);
      bytes += METRIC_BYTES + 2 * name.length;
    }
    node.births.set(device, { byAlias, byName, bytes });
    node.bytes += bytes;
    this.#bytes += bytes;
    this.#shrink();
  }

  /** Removes the metrics of a device: DDEATH. */
  endDevice(key: string, device: string): void {
    const node = this.#nodes.get(key);
    const birth = node?.births.get(device);
    if (node === undefined || birth === undefined) return;
    node.births.delete(device);
    node.bytes -= birth.bytes;
    this.#bytes -= birth.bytes;
  }

  /** The name and data type of a metric, by its name or else by its alias; null when no birth has them. */
  find(key: string, device: string, { name, alias }: SparkplugMetric): BirthNames | null {
    const birth = this.#nodes.get(key)?.births.get(device);
    if (birth === undefined) return null;
    return (
      (name === null ? (alias === null ? null : birth.byAlias.get(alias)) : birth.byName.get(name)) ?? null
    );
  }

  /** Whether a rebirth of a node may be requested at `now`; the request then counts as made. */
  mayRequest(key: string, now: number, every: number): boolean {
    const last = this.#requests.get(key);
    if (last !== undefined && now - last < every) return false;
    this.#requests.delete(key);
    if (this.#requests.size >= MOST_REQUESTS) this.#requests.delete(this.#requests.keys().next().value!);
    this.#requests.set(key, now);
    return true;
  }

  #remove(key: string): void {
    const node = this.#nodes.get(key);
    if (node === undefined) return;
    this.#nodes.delete(key);
    this.#bytes -= node.bytes;
  }

  /** Removes the least recently used nodes until the bound holds. A node that alone is too large is removed too. */
  #shrink(): void {
    for (const key of this.#nodes.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(key);
    }
  }
}
