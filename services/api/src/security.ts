import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { isLoopback, Problem } from '@tidegauge/service';
import type { RequestHandler } from 'express';

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
} as const;

/** On every answer: nothing from elsewhere runs in the page, and the page runs nowhere else. */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  next();
};

/** Methods that change nothing. */
function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** True for the names that a Host header (with its port) has on this machine only. */
function isLocalName(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  // 127.0.0.1.example.org is a name like any other.
  return name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));
}

/**
 * What a browser on this machine must not be talked into. On loopback, a foreign name that resolves to
 * 127.0.0.1 (DNS rebinding) shows in Host; anywhere, another site's form shows in Origin.
 */
export function guardBrowsers(listen: string): RequestHandler {
  const local = isLoopback(listen);
  return (request, _response, next) => {
    const host = request.headers.host ?? '';
    if (local && !isLocalName(host)) {
      throw new Problem(
        421,
        'Misdirected request',
        `This server is local; it is not ${JSON.stringify(host)}.`,
      );
    }
    const { origin } = request.headers;
    if (!isSafe(request.method) && origin !== undefined && originHost(origin) !== host) {
      throw new Problem(403, 'Forbidden', `Pages of ${origin} may not change anything here.`);
    }
    next();
  };
}

function originHost(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** Beyond loopback, methods that change something need the token (RFC 6750). */
export function requireToken(listen: string, token: string | null): RequestHandler {
  if (isLoopback(listen)) return (_request, _response, next) => next();
  if (token === null) throw new Error('listening beyond loopback needs a token: call checkConfig first');
  const expected = digest(token);
  return (request, response, next) => {
    if (isSafe(request.method)) return next();
    const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return next();
    response.setHeader('WWW-Authenticate', 'Bearer realm="tidegauge"');
    const detail =
      given === undefined ? 'This needs Authorization: Bearer <API_TOKEN>.' : 'The token is wrong.';
    throw new Problem(401, 'Unauthorized', detail);
  };
}

/** Equal lengths for the timing-safe comparison, whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
