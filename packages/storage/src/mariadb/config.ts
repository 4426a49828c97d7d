import { StoreError } from '../errors.ts';
import { choice, integer, type OptionValues, readOptions, word } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** Options of `mariadb://user:password@host:port/database?...`. */
export const MARIADB_OPTIONS = {
  connect: integer(100, 60_000, 'ms', 5000, 'how long to wait for a connection, new or from the pool'),
  timeout: integer(100, 600_000, 'ms', 30_000, 'how long a call may take, then TIMEOUT'),
  writers: integer(
    1,
    16,
    'connections',
    2,
    'connections that run transactions: batches, and changes of devices',
  ),
  readers: integer(1, 64, 'connections', 4, 'connections for everything else'),
  tls: choice(['true', 'false'], 'false', 'encrypt, and check the certificate of the server'),
  tlsCAFile: word('a path', 'certificate authority to trust (PEM), where the system does not know it'),
  partition: integer(1, 366, 'days', 7, 'time per partition made from now on: expire drops whole ones'),
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
