/** Numbers in one array at most, two for each range. It bounds the cost of a change in the middle. */
const CHUNK = 512;

/**
 * A set of whole numbers, stored as inclusive ranges in ascending order. New ranges are added at either end only; any
 * number can be removed. Ranges are stored in chunks of bounded length, so that a change of a large set is cheap too.
 */
export class RangeSet {
  /** Each chunk holds `from, to, from, to, …`; no chunk is empty. */
  readonly #chunks: number[][] = [];
  #ranges = 0;
  #size = 0;

  /** The number of ranges. */
  get ranges(): number {
    return this.#ranges;
  }

  /** The number of numbers in the set. */
  get size(): number {
    return this.#size;
  }

  /** Adds a range above all others. At least one number must lie between them. */
  addLast(from: number, to: number): void {
    const last = this.#chunks.at(-1);
    if (last === undefined || last.length >= CHUNK) this.#chunks.push([from, to]);
    else last.push(from, to);
    this.#count(1, to - from + 1);
  }

  /** Adds a range below all others. At least one number must lie between them. */
  addFirst(from: number, to: number): void {
    const first = this.#chunks[0];
    if (first === undefined || first.length >= CHUNK) this.#chunks.unshift([from, to]);
    else first.unshift(from, to);
    this.#count(1, to - from + 1);
  }

  /** Whether a number is in the set. */
  has(value: number): boolean {
    const chunk = this.#chunks[this.#chunkOf(value)];
    if (chunk === undefined) return false;
    return value <= chunk[2 * lastAtMost(chunk.length / 2, (range) => chunk[2 * range]!, value) + 1]!;
  }

  /** All ranges as `from, to, from, to, …`. */
  flat(): number[] {
    return this.#chunks.flat();
  }

  /**
   * Removes a number.
   *
   * @returns false when it is not in the set
   */
  remove(value: number): boolean {
    const at = this.#chunkOf(value);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return false;
    const index = 2 * lastAtMost(chunk.length / 2, (range) => chunk[2 * range]!, value);
    const from = chunk[index]!;
    const to = chunk[index + 1]!;
    if (value > to) return false;
    this.#count(0, -1);
    if (from === to) this.#removeRange(at, index);
    else if (value === from) chunk[index] = value + 1;
    else if (value === to) chunk[index + 1] = value - 1;
    else this.#split(at, index, value);
    return true;
  }

  /**
   * Removes the lowest ranges.
   *
   * @returns the highest number that was removed
   */
  removeLowest(ranges: number): number {
    let highest = Number.NEGATIVE_INFINITY;
    for (let left = ranges; left > 0; ) {
      const chunk = this.#chunks[0];
      if (chunk === undefined) break;
      const removed = chunk.splice(0, 2 * left);
      if (chunk.length === 0) this.#chunks.shift();
      left -= removed.length / 2;
      highest = removed.at(-1)!;
      for (let index = 0; index < removed.length; index += 2) {
        this.#count(-1, removed[index]! - removed[index + 1]! - 1);
      }
    }
    return highest;
  }

  /** The highest ranges, in ascending order. */
  highest(most: number): readonly (readonly [from: number, to: number])[] {
    const found: [number, number][] = [];
    for (const chunk of this.#chunks.toReversed()) {
      for (let index = chunk.length - 2; index >= 0 && found.length < most; index -= 2) {
        found.push([chunk[index]!, chunk[index + 1]!]);
      }
      if (found.length >= most) break;
    }
    return found.reverse();
  }

  /**
   * The highest ranges of the numbers from `least` to `most`, in ascending order: at most `ranges`, with at most `numbers`
   * numbers together. The lowest one is shortened to that.
   */
  between(
    least: number,
    most: number,
    ranges: number,
    numbers: number,
  ): readonly (readonly [from: number, to: number])[] {
    const found: [number, number][] = [];
    let left = numbers;
    for (let at = this.#chunkOf(most); at >= 0; at--) {
      const chunk = this.#chunks[at]!;
      for (let index = chunk.length - 2; index >= 0; index -= 2) {
        const to = Math.min(chunk[index + 1]!, most);
        if (found.length === ranges || left === 0 || to < least) return found.reverse();
        const from = Math.max(chunk[index]!, least, to - left + 1);
        if (from > to) continue;
        found.push([from, to]);
        left -= to - from + 1;
      }
    }
    return found.reverse();
  }

  /** How many numbers from `least` to `most` are in the set. It costs as much as the ranges between them. */
  sizeBetween(least: number, most: number): number {
    let size = 0;
    for (let at = Math.max(0, this.#chunkOf(least)); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]!;
      for (let index = 0; index < chunk.length; index += 2) {
        if (chunk[index]! > most) return size;
        const numbers = Math.min(chunk[index + 1]!, most) - Math.max(chunk[index]!, least) + 1;
        size += Math.max(0, numbers);
      }
    }
    return size;
  }

  /** The index of the chunk with the last range that begins at or below `value`; -1 when all begin above it. */
  #chunkOf(value: number): number {
    return lastAtMost(this.#chunks.length, (index) => this.#chunks[index]![0]!, value);
  }

  #count(ranges: number, numbers: number): void {
    this.#ranges += ranges;
    this.#size += numbers;
  }

  #removeRange(at: number, index: number): void {
    const chunk = this.#chunks[at]!;
    chunk.splice(index, 2);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#count(-1, 0);
  }

  /** Splits a range into two, without `value`. */
  #split(at: number, index: number, value: number): void {
    const chunk = this.#chunks[at]!;
    chunk.splice(index + 1, 0, value - 1, value + 1);
    this.#count(1, 0);
    if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
  }
}

/** The index of the last of `length` ascending values that is not above `value`; -1 when all of them are. */
function lastAtMost(length: number, valueAt: (index: number) => number, value: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (valueAt(middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
