const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What a JSON text may have. */
export interface JsonBounds {
  /** Values, keys not counted. A parsed value takes about 50 bytes of memory, however short it is in the text. */
  readonly values: number;
  /** Arrays and objects inside each other. Default: any number. */
  readonly depth?: number;
  /** Fields of one object. Default: any number. */
  readonly fields?: number;
}

/**
 * Checks a JSON text before it is parsed, in linear time and with a number for each level: counts the characters outside of strings
 * that begin or separate values.
 *
 * @returns what is too much; null when the text may be parsed, valid or not
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one state machine over all bytes of a payload
export function jsonTooLarge(
  json: Uint8Array,
  { values: most, depth: deepest = Number.POSITIVE_INFINITY, fields = Number.POSITIVE_INFINITY }: JsonBounds,
): string | null {
  let values = 0;
  let depth = 0;
  /** For each level, the number of fields that it may still have. */
  const left: number[] = [];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    switch (byte) {
      case QUOTE:
        at = endOfText(json, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > deepest) return `arrays and objects nested deeper than ${deepest} levels`;
        if (++values > most) return `more than ${most} values`;
        left[depth] = byte === OPEN_OBJECT ? fields : Number.POSITIVE_INFINITY;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth > 0) depth--;
        break;
      case COMMA:
        if (++values > most) return `more than ${most} values`;
        if (depth > 0 && --left[depth]! <= 0) return `more than ${fields} fields in an object`;
        break;
    }
  }
  return null;
}

/** The offset of the quote that ends a text, or the end of the JSON. */
export function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
