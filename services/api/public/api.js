// Requests to the HTTP API, and the server's clock: ages must not depend on the clock of the visitor's device.

const TIMEOUT_MS = 15_000;
let clockOffset = 0;
/** The text that shows the server that a change is from this page; null without a session. */
let csrf = null;
/** How often a visitor has signed in on this page. */
let signIns = 0;
/** Signs the visitor in; false when the visitor does not. */
let signIn = async () => false;

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

/** Whether the server refused a request, so that the same one is refused again. */
export function isRefused({ status }) {
  return status >= 400 && status < 500 && status !== 429;
}

/**
 * GET as JSON.
 *
 * @param signal aborts the request, if it is given
 * @throws {RequestError} also when it was aborted
 */
export function get(path, parameters = {}, signal = undefined) {
  return request('GET', path, parameters, undefined, signal);
}

/** A request that changes something, with a body of JSON unless it is undefined. @throws {RequestError} */
export function send(method, path, parameters = {}, body = undefined) {
  return request(method, path, parameters, body);
}

/** Exchanges a key for the cookie of a session; without a key, reads what the visitor may do. @throws {RequestError} */
export async function session(key = null) {
  const login = key === null ? {} : { Authorization: `Bearer ${key}` };
  const found = await once(key === null ? 'GET' : 'POST', 'v1/session', {}, login);
  csrf = found.csrf;
  if (key !== null) signIns++;
  return found;
}

/** Ends the session. @throws {RequestError} */
export async function endSession() {
  await once('DELETE', 'v1/session', {});
  csrf = null;
}

/** @param ask called with the reason when a request needs a login; the request is repeated when it resolves to true */
export function onSignIn(ask) {
  signIn = ask;
}

async function request(method, path, parameters, body, signal) {
  for (;;) {
    const before = signIns;
    try {
      return await once(method, path, parameters, {}, body, signal);
    } catch (error) {
      if (error.status !== 401) throw error;
      // The visitor can have signed in while the refusal was under way.
      if (signIns !== before) continue;
      const why = method === 'GET' ? 'Sign in to see and change this.' : 'Sign in to change this.';
      if (!(await signIn(why))) throw new RequestError(why, error.status, error.title);
    }
  }
}

async function once(method, path, parameters, login = {}, sent = undefined, aborted = undefined) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) if (each !== undefined) search.append(name, each);
  }
  const query = search.size === 0 ? '' : `?${search}`;
  const headers = { ...login };
  if (method !== 'GET' && csrf !== null) headers['X-CSRF-Token'] = csrf;
  const content = sent === undefined ? {} : { body: JSON.stringify(sent) };
  if (sent !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const signal = aborted === undefined ? timeout : AbortSignal.any([timeout, aborted]);
    response = await fetch(path + query, { method, headers, signal, ...content });
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
