import { createReadStream } from 'node:fs';

/** The largest value that is read as a whole, bytes. */
const MOST_BYTES = 32 * 1024 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
const LIST = 0x5b;

/** A member of the object in a file, or an element of a member that is an array. */
export interface JsonElement {
  readonly key: string;
  readonly value: unknown;
}

/**
 * Reads a JSON object from a file, member by member. A member that is an array is read element by element, so that
 * memory does not grow with its length.
 *
 * @throws {Error} with the position, when the file is no JSON object or a value has more than 32 MiB
 */
export async function* jsonElements(file: string): AsyncGenerator<JsonElement> {
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let key: string | null = null;
  let isList = false;
  let taken: Buffer[] = [];
  let size = 0;
  let at = 0;
  let isEnded = false;
  const fail = (why: string): never => {
    throw new Error(`byte ${at}: ${why}`);
  };
  const parse = (): unknown => {
    const text = Buffer.concat(taken).toString('utf8').trim();
    taken = [];
    size = 0;
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      return fail((error as Error).message);
    }
  };
  /** The element that ends here. Null after a list, and in an empty list or object. */
  const next = (): JsonElement | null => {
    const value = parse();
    if (value !== undefined && key !== null) return { key, value };
    if (value !== undefined) return fail('a name has no value');
    return key === null || isList ? null : fail('a value is absent');
  };
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let start = 0;
    const take = (end: number) => {
      size += end - start;
      if (size > MOST_BYTES) fail(`a value is longer than ${MOST_BYTES} bytes`);
      taken.push(chunk.subarray(start, end));
    };
    for (let index = 0; index < chunk.length; index++, at++) {
      const byte = chunk[index]!;
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = false;
        continue;
      }
      if (byte === QUOTE) {
        if (depth === 0) fail('it is not a JSON object');
        isText = true;
        continue;
      }
      // The elements of a list in the object are one level deeper than other values.
      const level = isList ? 2 : 1;
      if (depth === 0 && byte > 0x20 && (byte !== 0x7b || isEnded)) fail('it is not a JSON object');
      if (depth === 1 && key === null && byte === COLON) {
        take(index);
        key = String(parse());
        start = index + 1;
      } else if (
        depth === 1 &&
        key !== null &&
        byte === LIST &&
        taken.every(isBlank) &&
        isBlank(chunk.subarray(start, index))
      ) {
        taken = [];
        isList = true;
        start = index + 1;
        depth++;
      } else if (OPEN.has(byte)) {
        depth++;
        if (depth === 1) start = index + 1;
      } else if (byte === COMMA && depth === level) {
        take(index);
        const element = next();
        if (element !== null) yield element;
        if (!isList) key = null;
        start = index + 1;
      } else if (CLOSE.has(byte)) {
        if (depth === level) {
          take(index);
          const element = next();
          if (element !== null) yield element;
          start = index + 1;
          isList = false;
          key = null;
        }
        depth--;
        if (depth === 0) isEnded = true;
        if (depth < 0) fail('a bracket closes nothing');
      }
    }
    if (depth > 0) take(chunk.length);
  }
  if (!isEnded || depth > 0) fail('the file ends within the object');
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte <= 0x20);
}
