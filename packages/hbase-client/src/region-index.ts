import type { Region } from './region.ts';

/** Regions of one table by key. A new region replaces all regions that it overlaps. */
export class RegionIndex {
  /** In ascending order of their start. */
  readonly #regions: Region[] = [];

  get size(): number {
    return this.#regions.length;
  }

  /** The region that contains `row`, or the one with the rows just before it (the last one if `row` is empty). */
  find(row: Buffer, side: 'at' | 'before'): Region | undefined {
    if (side === 'before' && row.length === 0) {
      const last = this.#regions.at(-1);
      return last?.end.length === 0 ? last : undefined;
    }
    // The index of the first region that starts after the requested one.
    const behind = this.#firstWhere((start) =>
      side === 'at' ? start.compare(row) > 0 : start.compare(row) >= 0,
    );
    const region = this.#regions[behind - 1];
    if (region === undefined || region.end.length === 0) return region;
    const reach = row.compare(region.end);
    return reach < 0 || (side === 'before' && reach === 0) ? region : undefined;
  }

  add(region: Region): void {
    const { start, end } = region;
    let from = this.#firstWhere((other) => other.compare(start) >= 0);
    const previous = this.#regions[from - 1];
    if (previous !== undefined && (previous.end.length === 0 || previous.end.compare(start) > 0)) from -= 1;
    const to = end.length === 0 ? this.#regions.length : this.#firstWhere((other) => other.compare(end) >= 0);
    this.#regions.splice(from, Math.max(to, from) - from, region);
  }

  /** Does nothing if another region has replaced this one. */
  delete(region: Region): void {
    const at = this.#regions.indexOf(region);
    if (at !== -1) this.#regions.splice(at, 1);
  }

  /** Binary search for the index of the first region for which `is` is true. It must be true for all later ones. */
  #firstWhere(is: (start: Buffer) => boolean): number {
    let [low, high] = [0, this.#regions.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (is(this.#regions[middle]!.start)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
