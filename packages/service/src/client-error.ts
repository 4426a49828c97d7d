import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { responseOf } from './connections.ts';

// Requests that Node's parser refuses never reach a handler. They are answered here as everything else is.

interface Refusal {
  readonly status: string;
  readonly title: string;
  readonly detail: string;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: '400 Bad Request',
    title: 'Request too long',
    detail: 'The URL and the headers are longer than 16 KiB: ask for less in one request.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    title: 'Request too slow',
    detail: 'The request did not arrive in time.',
  },
};

const MALFORMED: Refusal = {
  status: '400 Bad Request',
  title: 'Bad request',
  detail: 'This is not an HTTP request that can be read.',
};

/** Answers what the parser refuses with a problem document, and ends its connection. */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Behind a part of an answer, another one would be taken for the rest of it.
    if (error.code === 'ECONNRESET' || !socket.writable || responseOf(socket)?.headersSent) {
      socket.destroy();
      return;
    }
    const { status, title, detail } = REFUSALS[error.code ?? ''] ?? MALFORMED;
    const body = JSON.stringify({
      type: 'about:blank',
      status: Number(status.slice(0, 3)),
      title,
      detail,
      instance: '',
    });
    const headers = [
      `HTTP/1.1 ${status}`,
      'Content-Type: application/problem+json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ];
    socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`);
    // A client that goes on sending and never reads is not waited for.
    setTimeout(() => socket.destroy(), 1000).unref();
  });
}
