import type { DecodeError } from '../../codec.ts';

/** A payload that a form parsed: what JSON of the same content would be. */
export class Parsed {
  readonly root: unknown;

  constructor(root: unknown) {
    this.root = root;
  }
}

/** The first byte that is no white space; undefined without one. It is cheap, before a payload becomes a string. */
export function firstByte(payload: Uint8Array): number | undefined {
  let i = payload[0] === 0xef ? 3 : 0;
  while (payload[i] === 0x20 || payload[i] === 0x09 || payload[i] === 0x0a || payload[i] === 0x0d) i++;
  return payload[i];
}

/**
 * A form that wraps or writes readings in another way than the formats do. It is recognised by a sign that no valid payload
 * of another format has. Reading is linear in the payload, and bounded in values and bytes while it reads.
 */
export interface Form {
  /** For people, at the beginning of an error: `gzip`. */
  readonly name: string;
  /** What is assumed, when the sign leaves a doubt. Decoders note it. */
  readonly doubt?: string;
  /**
   * Whether a content that cannot be decoded shows that the payload has another form. Otherwise the error of the content is
   * reported.
   */
  readonly isGuess?: true;
  /** The content: bytes to decode, or a parsed value; an error when the form is broken; null for another form. */
  read(payload: Uint8Array): Uint8Array | Parsed | DecodeError | null;
}
