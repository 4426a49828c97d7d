import { StoreError } from '../errors.ts';
import { choice, integer, type OptionValues, readOptions, word } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** Options of `mariadb://user:password@host:port/database?...`. */
export const MARIADB_OPTIONS = {
  connect: integer(100, 60_000, 'ms', 5000, 'Longest wait for a connection, new or from the pool.'),
  timeout: integer(100, 600_000, 'ms', 30_000, 'Longest time of a call. Then it fails with TIMEOUT.'),
  writers: integer(1, 16, 'connections', 2, 'Connections for transactions: batches, and changes of devices.'),
  readers: integer(1, 64, 'connections', 4, 'Connections for all other calls.'),
  tls: choice(['true', 'false'], 'false', 'Encrypt, and check the certificate of the server.'),
  tlsCAFile: word('a path', 'Certificate authority to trust (PEM file). Default: those of the system.'),
  partition: integer(
    1,
    366,
    'days',
    7,
    'Time per partition, for new partitions. expire drops whole partitions.',
  ),
};

export interface MariadbConfig extends OptionValues<typeof MARIADB_OPTIONS> {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** @throws {StoreError} MISCONFIGURED when host, user or database is missing or an option is wrong. */
export function readConfig(url: StoreUrl): MariadbConfig {
  const [host, ...others] = url.hosts;
  const { user, path: database } = url;
  if (host === undefined || others.length > 0 || user === null || user === '' || database === '') {
    throw new StoreError('MISCONFIGURED', `${url.masked} does not name one host, a user and a database`, {
      hint: 'write mariadb://user:password@host:3306/database',
    });
  }
  const place = { host: host.host, port: host.port ?? 3306 };
  return { ...place, user, password: url.password ?? '', database, ...readOptions(url, MARIADB_OPTIONS) };
}
