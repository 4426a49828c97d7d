import { Problem } from '@tidegauge/service';
import type { RequestHandler } from 'express';

/**
 * Bounds the bytes of bodies held at once, whatever the number of connections: a request reserves what it
 * announces (the limit of one body, if its length is open) before its body is read, until it is answered.
 */
export function byteBudget(totalBytes: number, bodyLimit: number): RequestHandler {
  let reserved = 0;
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    // With neither there is no body (RFC 9112 section 6.3).
    const announced = length === undefined ? (encoding === undefined ? 0 : bodyLimit) : Number(length);
    const bytes = Math.min(announced, bodyLimit);
    if (reserved + bytes > totalBytes) {
      const detail = `Bodies of ${reserved} bytes are under way, and ${totalBytes} is the most at once.`;
      throw new Problem(503, 'Too many deliveries at once', detail, { retryAfter: 1 });
    }
    reserved += bytes;
    response.once('close', () => {
      reserved -= bytes;
    });
    next();
  };
}
