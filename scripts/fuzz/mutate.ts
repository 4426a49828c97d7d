import { MAX_INPUT_BYTES } from './fuzz-target.ts';
import type { Random } from './random.ts';

/** Values at the limits of integers of 1, 2, 4 and 8 bytes. */
const LIMITS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const LIMIT_PIECES = [
  ...LIMITS.map((limit) => Buffer.of(limit & 0xff)),
  ...LIMITS.map((limit) => Buffer.of((limit >>> 8) & 0xff, limit & 0xff)),
  ...LIMITS.map((limit) =>
    Buffer.of(limit >>> 24, (limit >>> 16) & 0xff, (limit >>> 8) & 0xff, limit & 0xff),
  ),
  ...[0, 0x7f, 0x80, 0xff].map((first) => Buffer.of(first, ...Array(7).fill(first === 0x80 ? 0 : 0xff))),
];

/** An input of the corpus with one to eight random changes, at most `MAX_INPUT_BYTES` bytes. */
export function mutate(random: Random, corpus: readonly Uint8Array[], tokens: readonly Uint8Array[]): Buffer {
  let input = Buffer.from(random.of(corpus));
  for (let changes = 1 + random.below(random.below(3) === 0 ? 8 : 3); changes > 0; changes--) {
    input = change(random, input, corpus, tokens);
  }
  return input.subarray(0, MAX_INPUT_BYTES);
}

function change(
  random: Random,
  input: Buffer,
  corpus: readonly Uint8Array[],
  tokens: readonly Uint8Array[],
): Buffer<ArrayBuffer> {
  const at = random.below(input.length + 1);
  const few = random.below(random.below(4) === 0 ? input.length + 1 : 9);
  switch (random.below(11)) {
    case 0: // a bit is flipped
      return overwrite(input, at, Buffer.of((input[at] ?? 0) ^ (1 << random.below(8))));
    case 1: // a byte is replaced
      return overwrite(input, at, Buffer.of(random.below(256)));
    case 2:
      return overwrite(input, at, random.of(LIMIT_PIECES));
    case 3:
      return splice(input, at, 0, random.of(LIMIT_PIECES));
    case 4:
      return splice(input, at, few, Buffer.alloc(0));
    case 5: // a part is repeated in another place
      return splice(input, random.below(input.length + 1), 0, input.subarray(at, at + few));
    case 6: // a part is repeated many times
      return splice(
        input,
        at,
        0,
        repeat(input.subarray(at, at + few), 1 << random.below(random.below(8) + 4)),
      );
    case 7: // the rest is that of another input
      return splice(input, at, input.length, tail(random, random.of(corpus)));
    case 8:
      return splice(input, at, few, tail(random, random.of(corpus)).subarray(0, random.below(64)));
    case 9:
      return overwrite(input, at, tokens.length === 0 ? Buffer.of(0) : random.of(tokens));
    default:
      return splice(input, at, few, tokens.length === 0 ? Buffer.of(0xff) : random.of(tokens));
  }
}

function tail(random: Random, other: Uint8Array): Uint8Array {
  return other.subarray(random.below(other.length + 1));
}

function repeat(part: Uint8Array, times: number): Buffer {
  const fitting = part.length === 0 ? 0 : Math.min(times, Math.floor(MAX_INPUT_BYTES / part.length));
  return Buffer.concat(Array<Uint8Array>(fitting).fill(part));
}

function overwrite(input: Buffer, at: number, piece: Uint8Array): Buffer<ArrayBuffer> {
  return splice(input, at, piece.length, piece);
}

function splice(input: Buffer, at: number, removed: number, piece: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.concat([input.subarray(0, at), piece, input.subarray(at + removed)]);
}
