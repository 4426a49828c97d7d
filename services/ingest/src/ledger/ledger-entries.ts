import { FRAME_HEADER, sealFrame } from '../frames.ts';

/**
 * The kinds of entries of a ledger file. The first byte of a frame's body is the kind, and JSON follows, except in
 * `numbers`. A file is `header`, then `process` and `time`, then one `device` for each device and `totals`. Entries of
 * numbers can be between the devices too: a device's state replaces what they made of the device. After `totals`
 * follow the numbers that were recorded since.
 */
export const KIND = {
  /** `{format}` */
  header: 0x48,
  /**
   * `{boot, uncheckedFrom}`: the boot of the kernel under which the following entries were written. Null, or the time from
   * which on the store has yet to be compared, microseconds. An earlier version skips it.
   */
  process: 0x50,
  /**
   * `{at, floor, late}`, microseconds: readings with a time below `floor` are not recorded in the following entries, except
   * those of `late` devices: `[device, from]` for each. Without `late`, they are those of before.
   */
  time: 0x54,
  /**
   * `[device, from]`: another late device, whose readings have times from `from` on; `client/` for all devices of a client. An
   * earlier version skips it.
   */
  late: 0x4c,
  /** A `DeviceState` of the ledger. */
  device: 0x44,
  /** `LedgerTotals`. */
  totals: 0x45,
  /** Pairs of device id and sequence number, as varints. */
  numbers: 0x4e,
  /** `[id, device, boot, seq]`, and 1 when the number may have been stored before. */
  named: 0x42,
  /** `[device, boot, from]`: the sensor cannot send its numbers below `from` again. An earlier version skips it. */
  gone: 0x47,
  /** `{}`: the process has stopped in order. */
  closed: 0x43,
} as const;

export function jsonEntry(kind: number, value: unknown): Buffer {
  const text = JSON.stringify(value);
  const frame = Buffer.allocUnsafe(FRAME_HEADER + 1 + Buffer.byteLength(text));
  frame[FRAME_HEADER] = kind;
  frame.write(text, FRAME_HEADER + 1);
  return sealFrame(frame);
}

/** The longest varint of a number up to 2^53 - 1, bytes. */
const VARINT_BYTES = 8;
const PAIR_BYTES = 2 * VARINT_BYTES;

/** Collects pairs of numbers, and makes entries of them. Its memory is bounded. */
export class NumbersEntry {
  readonly #frame: Buffer;
  #end = FRAME_HEADER + 1;

  constructor(bytes: number) {
    this.#frame = Buffer.alloc(bytes);
    this.#frame[FRAME_HEADER] = KIND.numbers;
  }

  get isFull(): boolean {
    return this.#end + PAIR_BYTES > this.#frame.length;
  }

  /** Adds two whole numbers from 0 to 2^53 - 1. The entry must not be full. */
  add(id: number, seq: number): void {
    this.#end = writeVarint(this.#frame, writeVarint(this.#frame, this.#end, id), seq);
  }

  /** The entry of the numbers that were added since the last call; null when there are none. */
  take(): Buffer | null {
    if (this.#end === FRAME_HEADER + 1) return null;
    const entry = sealFrame(Buffer.from(this.#frame.subarray(0, this.#end)));
    this.#end = FRAME_HEADER + 1;
    return entry;
  }
}

/** Yields the pairs of a body of kind `numbers`. @throws {RangeError} when it ends within a pair */
export function* readNumbers(body: Buffer): Generator<readonly [id: number, seq: number]> {
  let at = 1;
  const next = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = body.readUInt8(at++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < body.length) yield [next(), next()];
}

/** Writes seven bits in each byte, the lowest first: https://protobuf.dev/programming-guides/encoding/#varints */
function writeVarint(buffer: Buffer, at: number, value: number): number {
  let end = at;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) buffer[end++] = (rest % 128) | 0x80;
  buffer[end++] = rest;
  return end;
}
