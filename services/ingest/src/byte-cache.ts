/** Bytes of an entry in the map and of the header of its name. */
const ENTRY_BYTES = 80;

/**
 * A cache of recently used values by name, bounded in bytes. New names are added to the young half. When that is
 * full, it becomes the old half, and the previous old half is dropped. A name that is found in the old half moves to
 * the young half, so names that are no longer used cannot evict names that are in use.
 */
export class ByteCache<V> {
  readonly #halfBytes: number;
  readonly #valueBytes: (value: V) => number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #bytes = 0;

  /**
   * @param maxBytes bound on the names and their values
   * @param valueBytes bytes of a value, without its name
   */
  constructor(maxBytes: number, valueBytes: (value: V) => number) {
    this.#halfBytes = maxBytes / 2;
    this.#valueBytes = valueBytes;
  }

  get(name: string): V | undefined {
    const young = this.#young.get(name);
    if (young !== undefined) return young;
    const old = this.#old.get(name);
    if (old !== undefined) this.set(name, old);
    return old;
  }

  set(name: string, value: V): void {
    const bytes = ENTRY_BYTES + 2 * name.length + this.#valueBytes(value);
    if (this.#bytes + bytes > this.#halfBytes) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    this.#young.set(name, value);
    this.#bytes += bytes;
  }
  /** All values: the young half, then what is only in the old half. */
  *values(): Generator<V> {
    yield* this.#young.values();
    for (const [name, value] of this.#old) if (!this.#young.has(name)) yield value;
  }
}
