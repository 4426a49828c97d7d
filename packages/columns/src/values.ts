import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ByteReader, ByteWriter } from './bytes.ts';
import { decodeIntegers, encodeIntegers } from './integers.ts';
import { decodeNumbers, encodeNumbers } from './numbers.ts';

/** A column of values begins with one of these. In a mixed one, 0 and 1 for each value show which are texts. */
const NUMBERS = 0;
const TEXTS = 1;
const MIXED = 2;
/** A column of numbers or nulls begins with one of these. In a mixed one, 0 and 1 for each show which are numbers. */
const NO_NULLS = 0;
const NULLS = 1;
const SOME_NULLS = 2;

export function encodeValues(out: ByteWriter, values: readonly (number | string)[]): void {
  const numbers = values.filter((value) => typeof value === 'number');
  if (numbers.length === values.length) {
    out.byte(NUMBERS);
    encodeNumbers(out, Float64Array.from(numbers));
    return;
  }
  out.byte(numbers.length === 0 ? TEXTS : MIXED);
  if (numbers.length > 0) {
    encodeFlags(
      out,
      values.map((value) => typeof value === 'string'),
    );
    encodeNumbers(out, Float64Array.from(numbers));
  }
  encodeTexts(
    out,
    values.filter((value) => typeof value === 'string'),
  );
}

/** @throws {RangeError} if the bytes are damaged */
export function decodeValues(bytes: ByteReader, count: number): ArrayLike<number | string> {
  const form = bytes.byte();
  if (form === NUMBERS) return decodeNumbers(bytes, count);
  if (form === TEXTS) return decodeTexts(bytes, count);
  if (form !== MIXED) throw new RangeError(`values have an unknown form ${form}`);
  const areTexts = decodeFlags(bytes, count);
  const length = countOf(areTexts);
  const numbers = decodeNumbers(bytes, count - length).values();
  const texts = decodeTexts(bytes, length).values();
  return areTexts.map((isText) => (isText ? texts.next().value! : numbers.next().value!));
}

/** Whole numbers, as `encodeIntegers` takes them, or null. */
export function encodeOptional(out: ByteWriter, values: readonly (number | null)[]): void {
  const numbers = values.filter((value) => value !== null);
  if (numbers.length === 0) out.byte(NULLS);
  else if (numbers.length === values.length) out.byte(NO_NULLS);
  else {
    out.byte(SOME_NULLS);
    encodeFlags(
      out,
      values.map((value) => value !== null),
    );
  }
  encodeIntegers(out, Float64Array.from(numbers));
}

/** @throws {RangeError} if the bytes are damaged */
export function decodeOptional(bytes: ByteReader, count: number): ArrayLike<number | null> {
  const form = bytes.byte();
  if (form === NULLS) return new Array<null>(count).fill(null);
  if (form === NO_NULLS) return decodeIntegers(bytes, count);
  if (form !== SOME_NULLS) throw new RangeError(`numbers have an unknown form ${form}`);
  const areNumbers = decodeFlags(bytes, count);
  const numbers = decodeIntegers(bytes, countOf(areNumbers)).values();
  return areNumbers.map((isNumber) => (isNumber ? numbers.next().value! : null));
}

/**
 * Each different text once, compressed with zstd as one: their number, their lengths in bytes, and UTF-8. Then the position
 * of each value's text in this list.
 */
function encodeTexts(out: ByteWriter, texts: readonly string[]): void {
  const positions = new Map<string, number>();
  for (const text of texts) if (!positions.has(text)) positions.set(text, positions.size);
  const list = new ByteWriter();
  list.varint(positions.size);
  for (const text of positions.keys()) {
    // UTF-8 has no half of a surrogate pair.
    const isWellFormed = text.isWellFormed();
    const bytes = Buffer.from(text, isWellFormed ? 'utf8' : 'utf16le');
    list.varint(2 * bytes.length + (isWellFormed ? 0 : 1));
    list.bytes(bytes);
  }
  const compressed = zstdCompressSync(list.written());
  out.varint(list.length);
  out.varint(compressed.length);
  out.bytes(compressed);
  encodeIntegers(
    out,
    Float64Array.from(texts, (text) => positions.get(text)!),
  );
}

function decodeTexts(bytes: ByteReader, count: number): string[] {
  const maxOutputLength = bytes.varint();
  const list = new ByteReader(zstdDecompressSync(bytes.bytes(bytes.varint()), { maxOutputLength }));
  const different = list.varint();
  if (different > count) throw new RangeError('there are more texts than values');
  const texts = Array.from({ length: different }, () => {
    const size = list.varint();
    return list.bytes(Math.floor(size / 2)).toString(size % 2 === 0 ? 'utf8' : 'utf16le');
  });
  return Array.from(decodeIntegers(bytes, count), (position) => {
    const text = texts[position];
    if (text === undefined) throw new RangeError(`there is no text ${position}`);
    return text;
  });
}

function encodeFlags(out: ByteWriter, flags: readonly boolean[]): void {
  encodeIntegers(out, Float64Array.from(flags, Number));
}

function decodeFlags(bytes: ByteReader, count: number): boolean[] {
  return Array.from(decodeIntegers(bytes, count), (flag) => flag === 1);
}

function countOf(flags: readonly boolean[]): number {
  return flags.reduce((sum, flag) => sum + (flag ? 1 : 0), 0);
}
