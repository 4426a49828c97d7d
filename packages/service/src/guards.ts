import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Hosts } from './access/hosts.ts';
import { isLoopback } from './http.ts';
import { isSafe } from './methods.ts';
import { Problem } from './problem.ts';
import { ConfigError } from './program/config-error.ts';

/** Headers of every response: the page loads nothing from other hosts, and no other site embeds it. */
export const SECURITY_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
} as const;

/** Sets `SECURITY_HEADERS`. */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  next();
};

/** Whether a request has at most one Host header. With two, a proxy could have used the other one. */
export function namesOneHost({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts < 2;
}

/** @throws {Problem} 400 or 421 for a Host header that is not one name of this server */
function servedHost(request: IncomingMessage, hosts: Hosts): string {
  if (!namesOneHost(request)) {
    throw new Problem(400, 'Bad request', 'The request has several Host headers: send one.');
  }
  const host = request.headers.host ?? '';
  if (!hosts.isServed(host)) {
    const detail = `This server does not serve the name ${JSON.stringify(host)}: use its address, or add the name to ALLOWED_HOSTS.`;
    throw new Problem(421, 'Misdirected request', detail);
  }
  return host;
}

/**
 * Protects against requests that foreign web pages make through a browser. A foreign name that resolves to this machine
 * (DNS rebinding) is visible in Host, and a form of another site in Origin. Pages of the given origins may use the API
 * with a key, but not with the cookie of a session (Fetch standard, section 3.3: CORS protocol).
 */
export function guardBrowsers(hosts: Hosts, origins: readonly string[] = []): RequestHandler {
  return (request, response, next) => {
    const host = servedHost(request, hosts);
    const { origin } = request.headers;
    if (origin === undefined || originHost(origin) === host) return next();
    if (!origins.includes(origin)) {
      if (isSafe(request.method)) return next();
      throw new Problem(403, 'Forbidden', `Pages of ${origin} may not send requests that change data.`);
    }
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate');
    response.vary('Origin');
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    if (!isPreflight) return next();
    response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE');
    response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, Last-Event-ID');
    response.setHeader('Access-Control-Max-Age', '600');
    response.status(204).end();
  };
}

/** The host of an Origin header; null when it has none. */
export function originHost(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

const MIN_TOKEN_LENGTH = 16;

/**
 * Requires a token for a service that can be changed and listens on other addresses than loopback.
 *
 * @param variable the variable of the token, for the message
 * @throws {ConfigError} when there is no token, or one that is too short
 */
export function checkToken(listen: string, token: string | null, variable: string): void {
  if (isLoopback(listen)) return;
  if (token === null) {
    throw new ConfigError([
      `HTTP_LISTEN is ${listen}, which others can reach, but there is no ${variable}: ` +
        `set ${variable}_FILE to a file with a long random text, or listen on 127.0.0.1`,
    ]);
  }
  if (token.length < MIN_TOKEN_LENGTH) {
    throw new ConfigError([
      `${variable} is shorter than ${MIN_TOKEN_LENGTH} characters: make it long and random`,
    ]);
  }
}
