import { compareText } from '../merge.ts';

const MAX_BLOCK = 1024;

/** Keys in order (by code point), in blocks, so that an insert moves at most a thousand keys. */
export class SortedKeys {
  #blocks: string[][] = [];

  add(key: string): void {
    if (this.#blocks.length === 0) {
      this.#blocks.push([key]);
      return;
    }
    const at = this.#blockOf(key);
    const block = this.#blocks[at]!;
    const index = lowerBound(block, key);
    if (block[index] === key) return;
    block.splice(index, 0, key);
    if (block.length > MAX_BLOCK) this.#blocks.splice(at + 1, 0, block.splice(MAX_BLOCK / 2));
  }

  delete(key: string): void {
    const at = this.#blockOf(key);
    const block = this.#blocks[at];
    const index = block === undefined ? -1 : lowerBound(block, key);
    if (block?.[index] !== key) return;
    block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
  }

  clear(): void {
    this.#blocks = [];
  }

  /** The first `count` keys from `start` on, inclusive. */
  take(start: string, count: number): string[] {
    const keys: string[] = [];
    for (const key of this.from(start)) {
      if (keys.length === count) break;
      keys.push(key);
    }
    return keys;
  }

  /** Keys from `start` on, inclusive. */
  *from(start: string): Generator<string> {
    const first = this.#blockOf(start);
    for (let at = first; at < this.#blocks.length; at += 1) {
      const block = this.#blocks[at]!;
      for (let index = at === first ? lowerBound(block, start) : 0; index < block.length; index += 1) {
        yield block[index]!;
      }
    }
  }

  /** The last block that starts at or before the key, or the first block. */
  #blockOf(key: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareText(this.#blocks[middle]![0]!, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function lowerBound(block: readonly string[], key: string): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareText(block[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
