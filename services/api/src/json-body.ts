import type { IncomingMessage } from 'node:http';
import { type JsonBounds, jsonTooLarge } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import express, { type RequestHandler } from 'express';

/** What JSON may have. A parsed value takes far more memory than its bytes. */
const BOUNDS = { values: 10_000, depth: 32 };
/** A thousand records of ten fields fit, and one record with as many fields as a table can have. */
export const RECORD_BOUNDS: JsonBounds = { ...BOUNDS, values: 20_000, fields: 1000 };

/**
 * Reads a body as JSON. Its bounds are checked before it is parsed. It is not decompressed, because budgets count the bytes
 * received.
 *
 * @param limit bytes
 */
export function jsonBody(limit: number, bounds: JsonBounds = BOUNDS): RequestHandler {
  const verify = (_request: IncomingMessage, _response: unknown, body: Buffer, charset: string): void => {
    // The check reads bytes, and JSON is UTF-8 (RFC 8259 section 8.1).
    if (charset !== 'utf-8')
      throw new Problem(415, 'Unsupported media type', `The charset ${charset} is not accepted: send utf-8.`);
    const tooMuch = jsonTooLarge(body, bounds);
    if (tooMuch !== null) throw new Problem(413, 'Body too large', `The body has ${tooMuch}.`);
  };
  return express.json({ type: () => true, limit, inflate: false, verify });
}
