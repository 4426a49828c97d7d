// The HTTP API, and the server's clock: ages must not depend on the clock of a phone.

const TIMEOUT_MS = 15_000;
let clockOffset = 0;

/** The server's time, milliseconds since the epoch. */
export function serverNow() {
  return Date.now() + clockOffset;
}

/** GET as JSON. Throws an Error whose message a person can read. */
export async function get(path, parameters = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) if (each !== undefined) search.append(name, each);
  }
  const query = search.size === 0 ? '' : `?${search}`;
  let response;
  try {
    response = await fetch(path + query, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new Error('The server does not answer.');
  }
  learnClock(response.headers.get('Date'));
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Error(body?.detail ?? `The server answered ${response.status}.`);
  return body;
}

/** `Date` has whole seconds: believe it only where the clocks differ by more than that can explain. */
function learnClock(header) {
  const difference = Date.parse(header ?? '') - Date.now();
  if (Number.isFinite(difference)) clockOffset = Math.abs(difference) > 2500 ? difference : 0;
}
