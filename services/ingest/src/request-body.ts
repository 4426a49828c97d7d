import { jsonTooLarge } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import express, { type Request, type RequestHandler } from 'express';

/** What the JSON of a body may have: a mapping with all its tables fits. */
const JSON_LIMITS = { values: 10_000, depth: 32 };

/** Reads a body as bytes, whatever its type. */
export function rawBody(limit: number, inflate = false): RequestHandler {
  return express.raw({ type: () => true, limit, inflate });
}

export function bytesOf({ body }: Request): Uint8Array {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** @throws {Problem} 400, 413 */
export function jsonOf(request: Request): unknown {
  const body = bytesOf(request);
  const tooMuch = jsonTooLarge(body, JSON_LIMITS);
  if (tooMuch !== null) throw new Problem(413, 'Body too large', `The body has ${tooMuch}.`);
  try {
    return JSON.parse(String(body));
  } catch (error) {
    const detail = `The body is not JSON: ${(error as Error).message}.`;
    throw new Problem(400, 'Invalid request', detail);
  }
}
