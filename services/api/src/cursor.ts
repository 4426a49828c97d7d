import { createHash } from 'node:crypto';
import { Problem } from '@tidegauge/service';

const DIGEST_BYTES = 9;

/**
 * A place in a list, opaque to clients. It carries a digest over itself and the query it belongs to, so that
 * a damaged cursor, or one used with another query, is found out. The digest is no secret: whoever forges a
 * cursor gets what a range query would give anyway. Nothing is kept between pages, so any replica can go on.
 */
export function writeCursor(query: readonly unknown[], position: readonly unknown[]): string {
  const body = Buffer.from(JSON.stringify(position));
  return Buffer.concat([digest(query, body), body]).toString('base64url');
}

/** @throws {Problem} 400 when the cursor is not one that `writeCursor` made for this query. */
export function readCursor(query: readonly unknown[], cursor: string): readonly unknown[] {
  const bytes = Buffer.from(cursor, 'base64url');
  const body = bytes.subarray(DIGEST_BYTES);
  // Comparing the text too refuses what base64 would forgive.
  if (
    bytes.toString('base64url') !== cursor ||
    !digest(query, body).equals(bytes.subarray(0, DIGEST_BYTES))
  ) {
    const message = 'is not a cursor of this query: pass `next` on as it came, with the same parameters';
    throw new Problem(400, 'Invalid request', `/query/cursor: ${message}`, {
      errors: [{ path: '/query/cursor', message }],
    });
  }
  return JSON.parse(body.toString('utf8')) as readonly unknown[];
}

function digest(query: readonly unknown[], body: Buffer): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(query))
    .update('\0')
    .update(body)
    .digest()
    .subarray(0, DIGEST_BYTES);
}
