const FIRST_BITS = 65_536;

/** A set of small whole numbers: one bit for each number up to the largest one. */
export class NumberSet {
  #bits = new Uint8Array(FIRST_BITS / 8);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(number: number): void {
    if (number >= this.#bits.length * 8) {
      const larger = new Uint8Array(2 ** Math.ceil(Math.log2(number + 1)) / 4);
      larger.set(this.#bits);
      this.#bits = larger;
    }
    if (this.has(number)) return;
    this.#bits[number >> 3]! |= 1 << (number & 7);
    this.#size++;
  }

  has(number: number): boolean {
    return ((this.#bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;
  }
}
