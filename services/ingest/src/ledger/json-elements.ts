import { createReadStream } from 'node:fs';

/** The largest value that is read as a whole, bytes. */
const MOST_BYTES = 32 * 1024 * 1024;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const EMPTY = Buffer.alloc(0);

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
  const scanner = new ElementScanner();
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) yield* scanner.scan(chunk);
  scanner.end();
}

/** Finds the elements of an object in chunks of its text. */
class ElementScanner {
  /** 0 outside of the object, 1 at its members. */
  #depth = 0;
  /** The name of the member that is read; null before the end of its name. */
  #key: string | null = null;
  /** Whether that member is a list. */
  #isList = false;
  #isText = false;
  #isEscaped = false;
  #isEnded = false;
  /** The bytes of the element in the chunks before. */
  #taken: Buffer[] = [];
  #size = 0;
  #chunk: Buffer = EMPTY;
  /** Where the element begins in the chunk. */
  #start = 0;
  /** The position in the file. */
  #at = 0;

  *scan(chunk: Buffer): Generator<JsonElement> {
    this.#chunk = chunk;
    this.#start = 0;
    for (let index = 0; index < chunk.length; index++, this.#at++) {
      const byte = chunk[index]!;
      let element: JsonElement | null = null;
      if (this.#isText) this.#inText(byte);
      else if (this.#depth === 0) this.#outside(byte, index);
      else element = this.#inside(byte, index);
      if (element !== null) yield element;
    }
    if (this.#depth > 0) this.#take(chunk.length);
  }

  end(): void {
    if (!this.#isEnded) this.#fail('the file ends within the object');
  }

  #inText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isText = false;
  }

  #outside(byte: number, index: number): void {
    if (byte <= SPACE) return;
    if (byte !== OPEN_OBJECT || this.#isEnded) this.#fail('it is not a JSON object');
    this.#depth = 1;
    this.#start = index + 1;
  }

  /** Returns the element that ends with this byte. */
  #inside(byte: number, index: number): JsonElement | null {
    switch (byte) {
      case QUOTE:
        this.#isText = true;
        return null;
      case COLON:
        if (this.#depth === 1 && this.#key === null) this.#key = String(this.#value(index));
        return null;
      case OPEN_LIST:
        if (this.#depth === 1 && this.#key !== null && this.#isBlank(index)) this.#beginList(index);
        this.#depth++;
        return null;
      case OPEN_OBJECT:
        this.#depth++;
        return null;
      case COMMA:
        return this.#isLevel ? this.#element(index, this.#isList) : null;
      case CLOSE_LIST:
      case CLOSE_OBJECT: {
        const element = this.#isLevel ? this.#element(index, false) : null;
        this.#depth--;
        this.#isEnded = this.#depth === 0;
        return element;
      }
      default:
        return null;
    }
  }

  /** Whether the position is between elements. Those of a list are one level deeper than other members. */
  get #isLevel(): boolean {
    return this.#depth === (this.#isList ? 2 : 1);
  }

  /** Whether the element has no bytes besides white space before this one. */
  #isBlank(index: number): boolean {
    return this.#taken.every(isBlank) && isBlank(this.#chunk.subarray(this.#start, index));
  }

  #beginList(index: number): void {
    this.#taken = [];
    this.#isList = true;
    this.#start = index + 1;
  }

  /**
   * The element that ends here. Null after a list, and in an empty list or object.
   *
   * @param goesOn whether another element of the same list can follow
   */
  #element(index: number, goesOn: boolean): JsonElement | null {
    const value = this.#value(index);
    const [key, isList] = [this.#key, this.#isList];
    if (!goesOn) {
      this.#key = null;
      this.#isList = false;
    }
    if (value !== undefined) return key === null ? this.#fail('a name has no value') : { key, value };
    return key === null || isList ? null : this.#fail('a value is absent');
  }

  /** The value that ends here; undefined without one. */
  #value(index: number): unknown {
    this.#take(index);
    this.#start = index + 1;
    const text = Buffer.concat(this.#taken).toString('utf8').trim();
    this.#taken = [];
    this.#size = 0;
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch (error) {
      return this.#fail((error as Error).message);
    }
  }

  #take(end: number): void {
    this.#size += end - this.#start;
    if (this.#size > MOST_BYTES) this.#fail(`a value is longer than ${MOST_BYTES} bytes`);
    this.#taken.push(this.#chunk.subarray(this.#start, end));
  }

  #fail(why: string): never {
    throw new Error(`byte ${this.#at}: ${why}`);
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte <= 0x20);
}
