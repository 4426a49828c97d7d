import { clientOf, Problem, sendProblem } from '@tidegauge/service';
import type { Request, RequestHandler, Response } from 'express';

/** An upload that brought nothing for so long gives way to others. */
const STALE_MS = 1000;

interface Upload {
  readonly client: string;
  readonly request: Request;
  readonly response: Response;
  bytes: number;
  /** When its last bytes came. */
  at: number;
}

/**
 * Bounds the bytes of bodies held at once, in total and for one client, whatever the number of connections: a body
 * counts with the bytes that have come, until its request is answered. At a bound, the upload that stands still
 * for longest is given up; when none stands still, the new bytes are refused.
 */
export function byteBudget(totalBytes: number, clientBytes: number): RequestHandler {
  const uploads = new Set<Upload>();
  const clients = new Map<string, number>();
  let held = 0;

  const leave = (upload: Upload): void => {
    if (!uploads.delete(upload)) return;
    held -= upload.bytes;
    const left = clients.get(upload.client)! - upload.bytes;
    if (left > 0) clients.set(upload.client, left);
    else clients.delete(upload.client);
  };
  /** Gives up stale uploads, of this client if its own bound is reached, until `bytes` more fit. */
  const makeRoom = (client: string, bytes: number): boolean => {
    for (;;) {
      const own = (clients.get(client) ?? 0) + bytes > clientBytes;
      if (!own && held + bytes <= totalBytes) return true;
      const now = performance.now();
      let stalest: Upload | null = null;
      for (const upload of uploads) {
        if (upload.request.complete || now - upload.at < STALE_MS || (own && upload.client !== client))
          continue;
        if (stalest === null || upload.at < stalest.at) stalest = upload;
      }
      if (stalest === null) return false;
      leave(stalest);
      giveUp(stalest, 408, 'Request timeout', 'The body stood still while others needed its memory.');
    }
  };

  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    // With neither there is no body (RFC 9112 section 6.3).
    if (request.complete || (length === undefined && encoding === undefined)) return next();
    const client = clientOf(request.socket.remoteAddress);
    if (!makeRoom(client, 1))
      throw new Problem(503, 'Too many deliveries at once', busy(held), { retryAfter: 1 });
    const upload: Upload = { client, request, response, bytes: 0, at: performance.now() };
    uploads.add(upload);
    clients.set(client, clients.get(client) ?? 0);
    response.once('close', () => leave(upload));
    // Before the body parser's own listener; bytes flow from the next turn of the event loop on.
    request.on('data', (part: Buffer) => {
      if (!uploads.has(upload)) return;
      upload.at = performance.now();
      if (!makeRoom(client, part.length)) {
        leave(upload);
        giveUp(upload, 503, 'Too many deliveries at once', busy(held));
        return;
      }
      upload.bytes += part.length;
      held += part.length;
      clients.set(client, (clients.get(client) ?? 0) + part.length);
    });
    next();
  };
}

function busy(held: number): string {
  return `Bodies of ${held} bytes are under way, and there is no room for more now. Send it again later.`;
}

/** Answers before the body is there, and ends the connection, since the rest of the body is not read. */
function giveUp({ request, response }: Upload, status: number, title: string, detail: string): void {
  request.pause();
  if (response.headersSent) {
    request.socket.destroy();
    return;
  }
  response.setHeader('Connection', 'close');
  response.once('finish', () => request.socket.destroySoon());
  sendProblem(response, request.originalUrl, { status, title, detail, retryAfter: 1 });
}
