import type { DecodeError } from '../../codec.ts';

/** A payload that a form parsed: what JSON of the same content would be. */
export class Parsed {
  readonly root: unknown;

  constructor(root: unknown) {
    this.root = root;
  }
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
