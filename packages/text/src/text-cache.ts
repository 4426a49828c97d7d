/** Longer texts are not kept. */
const MAX_LENGTH = 128;
const MAX_ASCII = 0x7f;

/**
 * Texts that arrive again and again as bytes, such as topics. Finding one takes less time than making a string, and leaves
 * nothing to collect. Only ASCII is kept, because its bytes are its characters. A text replaces the one in its slot, so
 * memory is bounded by the number of slots, at 128 characters each.
 */
export class TextCache {
  readonly #slots: string[];
  readonly #mask: number;

  /** @param slots a power of two */
  constructor(slots: number) {
    this.#slots = new Array<string>(slots).fill('');
    this.#mask = slots - 1;
  }

  /** The text with the bytes from `from` to `to`, if it was added and not replaced. */
  find(bytes: Uint8Array, from: number, to: number): string | undefined {
    const length = to - from;
    if (length === 0 || length > MAX_LENGTH) return undefined;
    let hash = length;
    for (let at = from; at < to; at++) hash = next(hash, bytes[at]!);
    const text = this.#slots[this.#slotOf(hash)]!;
    if (text.length !== length) return undefined;
    for (let index = 0; index < length; index++) {
      if (text.charCodeAt(index) !== bytes[from + index]) return undefined;
    }
    return text;
  }

  /** Keeps a text if it is short and ASCII. */
  add(text: string): void {
    if (text.length > MAX_LENGTH) return;
    let hash = text.length;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > MAX_ASCII) return;
      hash = next(hash, code);
    }
    this.#slots[this.#slotOf(hash)] = text;
  }

  #slotOf(hash: number): number {
    return (hash ^ (hash >>> 15)) & this.#mask;
  }
}

/** A step of FNV-1a. */
function next(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x0100_0193);
}
