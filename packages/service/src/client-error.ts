import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { responseOf } from './connections.ts';

// Requests that Node's parser refuses do not reach a handler. They get a problem document, like every other error.

interface Refusal {
  readonly status: string;
  readonly title: string;
  readonly detail: string;
}

export const HEADER_OVERFLOW = 'HPE_HEADER_OVERFLOW';

const REFUSALS: Readonly<Record<string, Refusal>> = {
  [HEADER_OVERFLOW]: {
    status: '400 Bad Request',
    title: 'Request too long',
    detail:
      'The URL and the headers are longer than 16 KiB, or more than 100 headers: send a shorter request.',
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
  detail: 'The request is not valid HTTP.',
};

/** Answers requests that the parser refuses with a problem document, and closes their connections. */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // After the start of a response, a second response would be read as part of the first one.
    if (error.code === 'ECONNRESET' || !socket.writable || responseOf(socket)?.headersSent) {
      socket.destroy();
      return;
    }
    refuse(socket, error.code);
  });
}

/** Answers a request that no handler gets, by the code of the parser's error, and closes its connection. */
export function refuse(socket: Socket, code = ''): void {
  const { status, title, detail } = REFUSALS[code] ?? MALFORMED;
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
  // A client that continues to send and does not read is disconnected.
  setTimeout(() => socket.destroy(), 1000).unref();
}
