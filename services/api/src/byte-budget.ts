import { Problem } from '@tidegauge/service';
import type { RequestHandler } from 'express';

/**
 * Bounds the bytes of bodies held at once, whatever the number of connections: a request reserves what it
 * announces (the limit of one body, if it announces nothing) before its body is read, until it is answered.
 */
export function byteBudget(totalBytes: number, bodyLimit: number): RequestHandler {
  let reserved = 0;
  return (request, response, next) => {
    const announced = Number(request.headers['content-length'] ?? bodyLimit);
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
