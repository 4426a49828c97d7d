/** A map of bounded size that removes the entry that was set least recently. */
export class Recent<T> {
  readonly #most: number;
  readonly #map = new Map<string, T>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: string): T | undefined {
    return this.#map.get(key);
  }

  set(key: string, value: T): void {
    if (this.#map.size >= this.#most && !this.#map.has(key)) this.#map.delete(this.#map.keys().next().value!);
    this.#map.delete(key);
    this.#map.set(key, value);
  }

  delete(key: string): void {
    this.#map.delete(key);
  }

  values(): IterableIterator<T> {
    return this.#map.values();
  }
}
