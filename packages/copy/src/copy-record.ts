import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { isTable } from '@tidegauge/readings';
import { parseUrl, type Store } from '@tidegauge/storage';

/**
 * The table of records in the target in which a copy keeps how far it is: a record for each source. It is deleted with
 * the data of the target, so that a copy never continues in a store that is empty again.
 */
export const COPY_TABLE = 'copyprogress';
const FIELD = 'field0';

/** How far the copies from one source are. */
export interface CopyState {
  readonly version: 1;
  /** The source, without secrets. For people. */
  readonly from: string;
  /** The target had other data before the first copy, which stays. */
  readonly merge: boolean;
  /** The last device whose readings are copied and verified, in the order of the source. Null: none, or all. */
  readonly after: string | null;
  /** When the last copy of all devices ended, ISO 8601. Null: none did. */
  readonly finished: string | null;
}

/** Identifies the data of a store URL: its scheme, hosts and path, without user, password and options. */
export function placeOf(url: string): string {
  const { scheme, hosts, path } = parseUrl(url);
  if (hosts.length === 0) return `${scheme}:${path.startsWith(':') ? path : resolve(path)}`;
  const servers = hosts.map(({ host, port }) => (port === null ? host : `${host}:${port}`)).sort();
  return `${scheme}://${servers.join(',')}/${path}`;
}

function keyOf(place: string): string {
  return hash('sha256', place, 'hex').slice(0, 32);
}

/**
 * The state of earlier copies from that place, or null. An import has a state of another type, and places that no store has.
 */
export async function readState<T extends { readonly version: 1 } = CopyState>(
  target: Store,
  place: string,
): Promise<T | null> {
  await target.records.createTable(COPY_TABLE, 1);
  const fields = await target.records.read(COPY_TABLE, keyOf(place), [FIELD]);
  const state: unknown = fields === null ? null : JSON.parse(fields[FIELD] ?? 'null');
  return isTable(state) && state.version === 1 ? (state as unknown as T) : null;
}

export async function writeState<T extends { readonly version: 1 }>(
  target: Store,
  place: string,
  state: T,
): Promise<void> {
  const fields = { [FIELD]: JSON.stringify(state) };
  const key = keyOf(place);
  const { records } = target;
  if (!(await records.update(COPY_TABLE, key, fields))) await records.insert(COPY_TABLE, key, fields);
}

/** Whether a store has no reading and no registered device. */
export async function isEmptyStore(store: Store): Promise<boolean> {
  for await (const _ of store.readings.devices()) return false;
  return (await store.devices.list({ limit: 1 })).length === 0;
}
