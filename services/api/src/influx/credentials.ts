import type { RequestHandler } from 'express';
import { isInfluxPath } from './answers.ts';

/**
 * Converts the credentials of InfluxDB's clients to a bearer token, which the guard of the API checks: `Authorization:
 * Token <token>` of 2.x, and the password of Basic authentication or of the parameters `u` and `p` of 1.x. The user
 * name is not used. Only requests for InfluxDB's paths are changed.
 */
export const influxCredentials: RequestHandler = (request, _response, next) => {
  if (!isInfluxPath(request.path)) return next();
  const token = tokenOf(request.headers.authorization, request.query.p);
  if (token !== null) request.headers.authorization = `Bearer ${token}`;
  next();
};

function tokenOf(authorization: string | undefined, password: unknown): string | null {
  const [, scheme, value] = /^(Token|Basic) +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (scheme === undefined) {
    return authorization === undefined && typeof password === 'string' && isToken(password) ? password : null;
  }
  if (scheme.toLowerCase() === 'token') return value!;
  const text = Buffer.from(value!, 'base64').toString('utf8');
  const given = text.slice(text.indexOf(':') + 1);
  return isToken(given) ? given : null;
}

/** A token has no white space. Another value would be an invalid header. */
function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
