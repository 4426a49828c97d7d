import { forEach } from '@tidegauge/parallel';
import { Client, type ClientConfig } from 'pg';
import type { Sighting } from './decide.ts';
import { GROUP, WHO } from './sql.ts';

const CONNECT_MS = 3000;
const QUERY_MS = 3000;
const AT_ONCE = 8;
const END_MS = 1000;

/** The login for a node. */
export interface Login {
  readonly user: string;
  readonly password: string | null;
  readonly database: string;
}

export interface Probed {
  readonly sightings: readonly Sighting[];
  /** The reasons why addresses did not answer as workers. */
  readonly failures: ReadonlyMap<string, string>;
}

/** The configuration of `pg`. Every wait has a time limit. */
export function clientConfig({ user, password, database }: Login, host: string, port: number): ClientConfig {
  return {
    ...{ host, port, user, database, application_name: 'tidegauge-citus-membership' },
    ...(password === null ? {} : { password }),
    connectionTimeoutMillis: CONNECT_MS,
  };
}

/** Closes a connection, and does not wait for a server that does not answer. It may be called twice. */
export async function endClient(client: Client): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), END_MS);
  await client
    .end()
    .catch(() => {})
    .finally(() => clearTimeout(late));
}

/**
 * Reads the identity of the server at each address, at most 8 at a time and 6 s each. It uses new connections, so
 * that an old server cannot answer.
 */
export async function probe(
  addresses: readonly string[],
  port: number,
  login: Login,
  coordinatorVersion: string,
): Promise<Probed> {
  const found = new Map<string, Sighting>();
  const failures = new Map<string, string>();
  await forEach(addresses, AT_ONCE, async (address) => {
    try {
      found.set(address, await look(address, port, login, coordinatorVersion));
    } catch (error) {
      failures.set(address, (error as Error).message || String((error as NodeJS.ErrnoException).code));
    }
  });
  // In the order of the addresses, so that the same workers join in the same order.
  return { sightings: addresses.flatMap((address) => found.get(address) ?? []), failures };
}

async function look(address: string, port: number, login: Login, wanted: string): Promise<Sighting> {
  const client = new Client({ ...clientConfig(login, address, port), query_timeout: QUERY_MS });
  // A connection that breaks between two queries fails the second one.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ identity: string; citus: string | null }>(WHO);
    const { identity, citus } = rows[0]!;
    if (citus === null) {
      return { address, identity, group: 0, unfit: `has no citus extension in database ${login.database}` };
    }
    const groups = await client.query<{ group: number }>(GROUP);
    const unfit = citus === wanted ? null : `has Citus ${citus}, the coordinator ${wanted}`;
    return { address, identity, group: groups.rows[0]?.group ?? 0, unfit };
  } finally {
    await endClient(client);
  }
}
