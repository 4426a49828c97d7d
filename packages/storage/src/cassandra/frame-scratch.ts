const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept. */
const KEPT_BYTES = 1024 * 1024;
/** UTF-8 bytes of one UTF-16 code unit. */
const MOST_UTF8 = 3;

/** Builds one message after the other in a buffer that it uses again. Numbers are big endian. */
export class FrameScratch {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  /** Begins a message. What was not finished is removed. */
  start(): void {
    this.#at = 0;
  }

  /** A copy of the message. */
  finish(): Buffer {
    const message = Buffer.from(this.#bytes.subarray(0, this.#at));
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
    return message;
  }

  uint8(value: number): void {
    this.#room(1);
    this.#at = this.#bytes.writeUInt8(value, this.#at);
  }

  int8(value: number): void {
    this.#room(1);
    this.#at = this.#bytes.writeInt8(value, this.#at);
  }

  /** -32,768 to 65,535. */
  int16(value: number): void {
    this.#room(2);
    this.#at = this.#bytes.writeUInt16BE(value & 0xffff, this.#at);
  }

  int32(value: number): void {
    this.#room(4);
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }

  /** A safe integer. */
  int64(value: number): void {
    this.#room(8);
    const high = Math.floor(value / 2 ** 32);
    this.#at = this.#bytes.writeInt32BE(high, this.#at);
    this.#at = this.#bytes.writeUInt32BE(value - high * 2 ** 32, this.#at);
  }

  double(value: number): void {
    this.#room(8);
    this.#at = this.#bytes.writeDoubleBE(value, this.#at);
  }

  raw(value: Uint8Array): void {
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** UTF-8 with its length in four bytes before it. */
  text(value: string): void {
    this.#room(4 + value.length * MOST_UTF8);
    const length = this.#bytes.write(value, this.#at + 4);
    this.#bytes.writeInt32BE(length, this.#at);
    this.#at += 4 + length;
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
