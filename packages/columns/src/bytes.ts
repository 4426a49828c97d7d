/** Bytes that grow with what is written to them. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(4096);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = value;
  }

  /** LEB128. @param value a whole number from 0 to 2^53 - 1 */
  varint(value: number): void {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.byte(128 + (rest % 128));
    this.byte(rest);
  }

  /** @param value a whole number from -(2^53 - 1) to 2^53 - 1 */
  signed(value: number): void {
    const size = Math.abs(value);
    const low = size % 64;
    const high = (size - low) / 64;
    this.byte(low * 2 + (value < 0 ? 1 : 0) + (high > 0 ? 128 : 0));
    if (high > 0) this.varint(high);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** What was written. Valid until the next write. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count > this.#bytes.length) this.#grow(count);
  }

  #grow(count: number): void {
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + count));
    larger.set(this.written());
    this.#bytes = larger;
  }
}

/** Reads what `ByteWriter` wrote. Beyond the end, a method throws a RangeError. */
export class ByteReader {
  readonly #bytes: Buffer;
  position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.position++);
  }

  varint(): number {
    let [value, unit] = [0, 1];
    for (;;) {
      const byte = this.byte();
      value += (byte & 127) * unit;
      if (byte < 128) return value;
      unit *= 128;
    }
  }

  signed(): number {
    const first = this.byte();
    const size = ((first & 127) >> 1) + (first < 128 ? 0 : 64 * this.varint());
    return (first & 1) === 0 ? size : -size;
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.position);
    this.position += 8;
    return value;
  }

  bytes(length: number): Buffer {
    const end = this.position + length;
    if (end > this.#bytes.length) throw new RangeError('the bytes end too early');
    const part = this.#bytes.subarray(this.position, end);
    this.position = end;
    return part;
  }

  /** All that is left, without a change of the position. */
  rest(): Buffer {
    return this.#bytes.subarray(this.position);
  }
}
