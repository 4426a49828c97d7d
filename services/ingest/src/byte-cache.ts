/** Place in the map and header of the name. */
const ENTRY_BYTES = 80;

/**
 * Remembers by name what was used lately, within a bound of bytes. Names go into the young half; when that is full
 * it becomes the old half, and what was the old half is forgotten. A name that is found in the old half moves to the
 * young one, so that names nobody uses again cannot drive out those that are in use.
 */
export class ByteCache<V> {
  readonly #halfBytes: number;
  readonly #valueBytes: (value: V) => number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #bytes = 0;

  /**
   * @param maxBytes of names and what is kept with them, at most
   * @param valueBytes what is kept with a name, besides the name itself
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
}
