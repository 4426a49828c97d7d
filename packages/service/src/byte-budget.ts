import type { Request, RequestHandler, Response } from 'express';
import { senderOf } from './access/index.ts';
import { Problem, sendProblem } from './problem.ts';

/** An upload without new bytes for this long can be ended to free its memory for others, milliseconds. */
const STALE_MS = 1000;

interface Upload {
  readonly client: string;
  readonly request: Request;
  readonly response: Response;
  bytes: number;
  /** Time of its last bytes, from `performance.now()`. */
  at: number;
}

/**
 * Limits the bytes of request bodies in memory, for any number of connections. A client has as much as is free: alone half of
 * it, and each of n clients one part of n + 1. A body counts with the bytes received so far, until its response closes;
 * `HttpRequest` has joined its short parts, so that they take little more than their bytes. At a limit, the upload that has
 * stalled for longest is ended with 408, of this client or one that has as much; of all when all is taken. When none has
 * stalled, the upload that needs more memory is ended with 503. A body that announces more than `bodyBytes` is refused with
 * 413 before it is read.
 *
 * @param totalBytes at least three times `bodyBytes`, so that two clients can send one at the same time
 * @param inflates whether the next handler decompresses bodies: a compressed one then counts as `bodyBytes` from its start
 */
export function byteBudget(totalBytes: number, bodyBytes: number, inflates = false): RequestHandler {
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
  /** Ends stale uploads until `bytes` more fit. */
  const makeRoom = (client: string, bytes: number): boolean => {
    for (;;) {
      const own = (clients.get(client) ?? 0) + bytes;
      const free = totalBytes - held - bytes;
      if (own <= free) return true;
      const mayLose = (other: string) => free < 0 || other === client || clients.get(other)! >= own;
      const stalest = stalestOf(uploads, mayLose);
      if (stalest === null) return false;
      leave(stalest);
      giveUp(stalest, 408, 'Request timeout', 'The upload stalled while other uploads needed its memory.');
    }
  };

  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    // With neither there is no body (RFC 9112 section 6.3). A request that waited for its turn can have all of its body.
    if (length === undefined && encoding === undefined) return next();
    if (Number(length) > bodyBytes) {
      const detail = `The body of ${length} bytes is too large: at most ${bodyBytes} bytes are accepted.`;
      throw new Problem(413, 'Body too large', detail);
    }
    const client = senderOf(response);
    const isCompressed = inflates && (request.headers['content-encoding'] ?? 'identity') !== 'identity';
    const first = isCompressed ? bodyBytes : 0;
    if (!makeRoom(client, Math.max(1, first)))
      throw new Problem(503, 'Too many deliveries at once', busy(held), { retryAfter: 1 });
    const upload: Upload = { client, request, response, bytes: first, at: performance.now() };
    uploads.add(upload);
    held += first;
    clients.set(client, (clients.get(client) ?? 0) + first);
    response.once('close', () => leave(upload));
    // Added before the body parser's own listener: data arrive from the next turn of the event loop on.
    request.on('data', (part: Buffer) => {
      if (!uploads.has(upload)) return;
      upload.at = performance.now();
      if (isCompressed) return;
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

/** The upload that has stalled for longest, of some clients. Null when none has. */
function stalestOf(uploads: Iterable<Upload>, mayLose: (client: string) => boolean): Upload | null {
  const now = performance.now();
  let stalest: Upload | null = null;
  for (const upload of uploads) {
    if (upload.request.complete || now - upload.at < STALE_MS) continue;
    if (!mayLose(upload.client)) continue;
    if (stalest === null || upload.at < stalest.at) stalest = upload;
  }
  return stalest;
}

function busy(held: number): string {
  return `Request bodies of ${held} bytes are in memory, and more do not fit now. Send the request again later.`;
}

/** Answers before the body is complete, and closes the connection, because the rest of the body is not read. */
function giveUp({ request, response }: Upload, status: number, title: string, detail: string): void {
  request.pause();
  // Node reads the rest of a body after the answer. Without its end, no parser passes it to a handler.
  request.removeAllListeners('end');
  if (response.headersSent) {
    request.socket.destroy();
    return;
  }
  response.setHeader('Connection', 'close');
  response.once('finish', () => request.socket.destroySoon());
  sendProblem(response, request.originalUrl, { status, title, detail, retryAfter: 1 });
}
