// How the first reading is published, shown while no sensor has reported: for the address of this page, and for the
// port and the login of MQTT as ingest reports them.

import { session } from './api.js';
import { element } from './dom.js';
import { addButton } from './explain.js';
import { waysTo } from './ways.js';

const box = element('div', { class: 'first-steps' });
/** The addresses that the box shows, as a text. */
let shown = '';

/** The explanation. It is one element, which is filled as soon as the addresses are known. */
export function firstSteps() {
  return box;
}

/** Sets where sensors publish: `addresses` of `mqtt` in the ledger. @throws {RequestError} */
export async function offerAddresses(addresses = []) {
  const key = JSON.stringify(addresses);
  if (key === shown) return;
  const { scopes, csrf } = await session();
  shown = key;
  // With a session, this visitor has signed in with a key.
  const isKeyNeeded = csrf !== null || !scopes.includes('write');
  const { hostname: host, origin } = location;
  const { ways, notes } = waysTo({ addresses, host, origin, isKeyNeeded });
  box.replaceChildren(
    element('p', {}, 'Publish the first reading in one of these ways. Its chart appears here.'),
    ...ways.map(rowOf),
    ...notes.map((note) => element('p', {}, note)),
  );
}

function rowOf({ name, text, route }) {
  const row = element('details', {}, element('summary', {}, name), element('pre', {}, text));
  if (route !== null) {
    const said = element('p', { class: 'said', role: 'status' });
    row.append(element('p', {}, 'Its topics need a route.'), addButton(route, said), said);
  }
  return row;
}
