import type { StoreUrl } from '@tidegauge/storage';
import pg from 'pg';

/**
 * A client of the first server of a store, which is not connected yet.
 *
 * @param name the connection's name on the server
 */
export function postgresClient({ hosts, user, password, path }: StoreUrl, name = 'tidegauge'): pg.Client {
  const { host, port } = hosts[0]!;
  return new pg.Client({
    host,
    port: port ?? 5432,
    user: user!,
    password: password ?? '',
    database: path,
    application_name: name,
  });
}
