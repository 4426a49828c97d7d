import { createHmac, scryptSync, timingSafeEqual } from 'node:crypto';
import { invalid } from './parameters.ts';

const SIGNATURE_BYTES = 16;

/**
 * Writes and reads cursors: positions in lists, opaque to clients. A cursor is signed together with its query, so that
 * a damaged cursor, a forged one, or one of another query is refused. The key is derived from the API token, which is
 * the same on all replicas and after a restart. Nothing is stored between pages. Without a token only this machine
 * reaches the API, and the key is public, so the signature detects damage only. For this reason each position is also
 * checked like any other input.
 */
export class Cursors {
  readonly #key: Buffer;

  /** @param token the API token; a cursor that was signed with another token is refused */
  constructor(token: string | null) {
    // Slow on purpose: anyone who may read receives cursors, and could otherwise find a weak token by trial.
    this.#key = token === null ? Buffer.from('tidegauge') : scryptSync(token, 'tidegauge cursors', 32);
  }

  /** The cursor for a position in the list of a query. */
  write(query: readonly unknown[], position: readonly unknown[]): string {
    const body = Buffer.from(JSON.stringify(position));
    return Buffer.concat([this.#signature(query, body), body]).toString('base64url');
  }

  /**
   * The position that a cursor contains.
   *
   * @param isPosition whether a value is a position of this list
   * @throws {Problem} 400 when the cursor is not one that `write` made for this query
   */
  read<T>(query: readonly unknown[], cursor: string, isPosition: (value: unknown) => value is T): T {
    const bytes = Buffer.from(cursor, 'base64url');
    const body = bytes.subarray(SIGNATURE_BYTES);
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    const isSigned =
      signature.length === SIGNATURE_BYTES && timingSafeEqual(signature, this.#signature(query, body));
    // The base64 decoder ignores invalid characters, so the text is compared too.
    if (isSigned && bytes.toString('base64url') === cursor) {
      const position = parse(body);
      if (isPosition(position)) return position;
    }
    throw invalid(
      '/query/cursor',
      'is not a cursor of this query: pass `next` on as it came, with the same parameters',
    );
  }

  #signature(query: readonly unknown[], body: Buffer): Buffer {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify(query))
      .update('\0')
      .update(body)
      .digest()
      .subarray(0, SIGNATURE_BYTES);
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
