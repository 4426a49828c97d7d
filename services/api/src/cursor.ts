import { createHmac, scryptSync, timingSafeEqual } from 'node:crypto';
import { invalid } from './parameters.ts';

const SIGNATURE_BYTES = 16;

/**
 * Places in lists, opaque to clients. A cursor is signed together with the query that it belongs to, so that a damaged
 * one, a forged one, or one of another query is refused. The key comes from the API token, which all replicas have and
 * which a restart does not change; nothing is kept between pages. Without a token only this machine reaches the API,
 * and the signature only finds damage: so a position is checked as any other input is.
 */
export class Cursors {
  readonly #key: Buffer;

  /** @param token the API's; a cursor that was made with another one is refused */
  constructor(token: string | null) {
    // Slow on purpose: everybody who may read gets cursors, and nobody should find a weak token by trying.
    this.#key = token === null ? Buffer.from('tidegauge') : scryptSync(token, 'tidegauge cursors', 32);
  }

  write(query: readonly unknown[], position: readonly unknown[]): string {
    const body = Buffer.from(JSON.stringify(position));
    return Buffer.concat([this.#signature(query, body), body]).toString('base64url');
  }

  /**
   * @param isPosition tells a position of this list from any other value
   * @throws {Problem} 400 when the cursor is not one that `write` made for this query
   */
  read<T>(query: readonly unknown[], cursor: string, isPosition: (value: unknown) => value is T): T {
    const bytes = Buffer.from(cursor, 'base64url');
    const body = bytes.subarray(SIGNATURE_BYTES);
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    const isSigned =
      signature.length === SIGNATURE_BYTES && timingSafeEqual(signature, this.#signature(query, body));
    // Comparing the text too refuses what base64 would forgive.
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
