// Requests to the HTTP API, and the server's clock: ages must not depend on the clock of the visitor's device.

const TIMEOUT_MS = 15_000;
let clockOffset = 0;
let token = null;

/** The server's time, milliseconds since the epoch. */
export function serverNow() {
  return Date.now() + clockOffset;
}

/** Why a request failed, for the visitor. `status` and `title` are the server's, or 0 and empty without an answer. */
export class RequestError extends Error {
  constructor(message, status = 0, title = '') {
    super(message);
    this.status = status;
    this.title = title;
  }
}

/** GET as JSON. @throws {RequestError} */
export function get(path, parameters = {}) {
  return request('GET', path, parameters);
}

/** A request that changes something, with the token if there is one. @throws {RequestError} */
export function send(method, path, parameters = {}) {
  return request(method, path, parameters);
}

/** The token for requests that change something. It stays in memory until the page is closed. */
export function useToken(text) {
  token = text;
}

async function request(method, path, parameters) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) if (each !== undefined) search.append(name, each);
  }
  const query = search.size === 0 ? '' : `?${search}`;
  const headers = method === 'GET' || token === null ? {} : { Authorization: `Bearer ${token}` };
  let response;
  try {
    response = await fetch(path + query, { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new RequestError('The server does not answer.');
  }
  learnClock(response.headers.get('Date'));
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const message = body?.detail ?? `The server answered ${response.status}.`;
  throw new RequestError(message, response.status, body?.title);
}

/** `Date` has whole seconds, so a difference of up to 2.5 s is ignored: rounding and the transfer can cause it. */
function learnClock(header) {
  const difference = Date.parse(header ?? '') - Date.now();
  if (Number.isFinite(difference)) clockOffset = Math.abs(difference) > 2500 ? difference : 0;
}
