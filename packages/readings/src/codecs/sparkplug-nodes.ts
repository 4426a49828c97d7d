import type { BirthNames, SparkplugMetric } from './sparkplug-payload.ts';

/** Default memory for births. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The part of the memory that is free after some nodes were removed: 1/16. */
const ROOM = 16;
/** Nodes whose last rebirth request is remembered. */
const MOST_REQUESTS = 2000;
/** Approximate bytes of a node, a device and a metric, besides their names. */
const NODE_BYTES = 400;
const DEVICE_BYTES = 300;
const METRIC_BYTES = 200;

/** The metrics of one device, or of the node itself, by alias and by name. */
interface Birth {
  /** Null: several metrics have the alias, which is not allowed, so it names none of them. */
  readonly byAlias: Map<bigint, BirthNames | null>;
  readonly byName: Map<string, BirthNames>;
  readonly bytes: number;
}

interface Node {
  seq: number;
  readonly bdSeq: number | null;
  readonly births: Map<string, Birth>;
  bytes: number;
}

/** The nodes of a Sparkplug group, by their keys. The most recently used one is last. */
interface Group {
  readonly nodes: Map<string, Node>;
  bytes: number;
}

/**
 * The current births of edge nodes, bounded in bytes. At the bound, the groups with the most bytes lose their least
 * recently used nodes, so that a sender cannot remove the nodes of other groups. A key is group and node with a slash
 * between them, which neither can have.
 */
export class SparkplugNodes {
  readonly #maxBytes: number;
  readonly #groups = new Map<string, Group>();
  readonly #requests = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Starts the session of a node: NBIRTH. Everything known of an earlier session is removed. */
  begin(key: string, seq: number, bdSeq: number | null): void {
    this.#remove(key);
    const name = groupOf(key);
    const group = this.#groups.get(name) ?? { nodes: new Map<string, Node>(), bytes: 0 };
    this.#groups.set(name, group);
    const node = { seq, bdSeq, births: new Map(), bytes: 0 };
    group.nodes.set(key, node);
    this.#add(group, node, NODE_BYTES + 2 * key.length);
    this.#shrink();
  }

  /**
   * Ends a session: NDEATH. A death of an earlier session, which a broker can send late, has no effect.
   *
   * @returns whether the node is offline now
   */
  end(key: string, bdSeq: number | null): boolean {
    const node = this.#node(key);
    const isEarlier = node !== undefined && bdSeq !== null && node.bdSeq !== null && bdSeq !== node.bdSeq;
    if (!isEarlier) this.#remove(key);
    return !isEarlier;
  }

  /** Removes all births: messages may have been missed, and births with other aliases among them. */
  forget(): void {
    this.#groups.clear();
    this.#bytes = 0;
  }

  /**
   * Checks the sequence number of a message. A gap removes the births of the node, because a birth with other aliases can be in
   * it.
   *
   * @returns why a rebirth is needed; null when none is
   */
  follow(key: string, seq: number | null): string | null {
    const nodes = this.#groups.get(groupOf(key))?.nodes;
    const node = nodes?.get(key);
    if (node === undefined) return 'the node has no birth';
    nodes!.delete(key);
    nodes!.set(key, node);
    // The same number again is a message that the broker sent twice.
    if (seq === null || seq === node.seq) return null;
    const expected = (node.seq + 1) % 256;
    node.seq = seq;
    if (seq === expected) return null;
    this.#remove(key);
    return `sequence number ${seq} follows, and ${expected} was expected`;
  }

  /** Keeps the metrics of a birth in place of those of an earlier one. Without a node, nothing is kept. */
  addBirth(key: string, device: string, metrics: readonly SparkplugMetric[]): void {
    const group = this.#groups.get(groupOf(key));
    const node = group?.nodes.get(key);
    if (group === undefined || node === undefined) return;
    this.endDevice(key, device);
    const byAlias = new Map<bigint, BirthNames | null>();
    const byName = new Map<string, BirthNames>();
    let bytes = DEVICE_BYTES + 2 * device.length;
    for (const { name, alias, type } of metrics) {
      if (name === null) continue;
      const names = { name, type };
      if (alias !== null) byAlias.set(alias, byAlias.has(alias) ? null : names);
      byName.set(name, names);
      bytes += METRIC_BYTES + 2 * name.length;
    }
    node.births.set(device, { byAlias, byName, bytes });
    this.#add(group, node, bytes);
    this.#shrink();
  }

  /** Removes the metrics of a device: DDEATH. */
  endDevice(key: string, device: string): void {
    const node = this.#node(key);
    const birth = node?.births.get(device);
    if (node === undefined || birth === undefined) return;
    node.births.delete(device);
    this.#add(this.#groups.get(groupOf(key))!, node, -birth.bytes);
  }

  /** The name and data type of a metric, by its name or else by its alias; null when no birth has them. */
  find(key: string, device: string, { name, alias }: SparkplugMetric): BirthNames | null {
    const birth = this.#node(key)?.births.get(device);
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

  #node(key: string): Node | undefined {
    return this.#groups.get(groupOf(key))?.nodes.get(key);
  }

  #add(group: Group, node: Node, bytes: number): void {
    node.bytes += bytes;
    group.bytes += bytes;
    this.#bytes += bytes;
  }

  #remove(key: string): void {
    const name = groupOf(key);
    const group = this.#groups.get(name);
    const node = group?.nodes.get(key);
    if (group === undefined || node === undefined) return;
    group.nodes.delete(key);
    this.#add(group, node, -node.bytes);
    if (group.nodes.size === 0) this.#groups.delete(name);
  }

  /** Makes some room at the bound. A node that alone is too large is removed too. */
  #shrink(): void {
    if (this.#bytes <= this.#maxBytes) return;
    // More than one node needs, because the order of the groups is computed.
    const target = this.#maxBytes - this.#maxBytes / ROOM;
    while (this.#bytes > target) {
      const groups = [...this.#groups.values()].sort((a, b) => b.bytes - a.bytes);
      for (const [index, group] of groups.entries()) {
        this.#reduce(group, groups[index + 1]?.bytes ?? 0, target);
        if (this.#bytes <= target) return;
      }
    }
  }

  /** Removes nodes of a group until it has at most `next` bytes, or all groups have at most `target`. */
  #reduce(group: Group, next: number, target: number): void {
    for (const key of group.nodes.keys()) {
      this.#remove(key);
      if (this.#bytes <= target || group.bytes <= next) return;
    }
  }
}

function groupOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
