import { Problem } from '@tidegauge/service';
import type { RequestHandler } from 'express';

const DEVICES = '/v1/devices/';

/**
 * Brings a request into the one form that the OpenAPI document can describe. A device's slashes may stand as
 * they are; OpenAPI knows no parameter over several segments, so they become %2F here. HEAD is answered as
 * GET (Node leaves the body out), except for the stream that would never end.
 */
export const canonical: RequestHandler = (request, _response, next) => {
  // No name, key or text can have it, and databases take it for the end of a text or for an error.
  if (request.url.includes('%00')) {
    throw new Problem(
      400,
      'Invalid request',
      'The URL contains %00 (U+0000), which no name or value can have.',
    );
  }
  const [path, ...query] = request.url.split('?');
  if (path!.startsWith(DEVICES)) {
    const name = path!.slice(DEVICES.length).replaceAll('/', '%2F');
    request.url = [DEVICES + name, ...query].join('?');
  }
  if (request.method === 'HEAD' && path !== '/v1/live') request.method = 'GET';
  next();
};
