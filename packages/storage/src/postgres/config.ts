import { StoreError } from '../errors.ts';
import { choice, integer, type OptionValues, readOptions, word } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** With two writers, one sends a batch while the server stores the batch of the other. More writers gain nothing. */
export const WRITERS = 2;

const DEFAULT_PORT = 5432;

/** Options of `postgres://user:password@host/database?...`. */
export const POSTGRES_OPTIONS = {
  connections: integer(
    1,
    200,
    'connections',
    6,
    'Connections for all calls except writes of readings, which have two more.',
  ),
  connect: integer(
    100,
    60_000,
    'ms',
    5000,
    'Longest wait for a connection. Then the call fails with UNAVAILABLE or OVERLOADED.',
  ),
  timeout: integer(
    1000,
    600_000,
    'ms',
    30_000,
    'Longest time of a statement. Then the call fails with TIMEOUT.',
  ),
  sslmode: choice(
    ['disable', 'require', 'verify-ca', 'verify-full'],
    'disable',
    'As in libpq. require: encrypt, with any certificate. verify-ca: with a certificate of a trusted authority. verify-full: the certificate must also name the host.',
  ),
  sslrootcert: word('a path', 'Certificate authority to trust (PEM file). Default: those of the system.'),
};

/** Options of `citus://`: those of `postgres`, and the distribution of tables. */
export const CITUS_OPTIONS = {
  ...POSTGRES_OPTIONS,
  rf: integer(1, 8, 'copies', 1, 'Copies of each shard, at most one per worker. Applies to new tables.'),
  shards: integer(
    1,
    1024,
    'shards',
    8,
    'Shards of each table. More shards make writes slower. Applies to new tables.',
  ),
};

export interface PostgresConfig extends OptionValues<typeof POSTGRES_OPTIONS> {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | null;
  readonly database: string;
}

export type Distribution = Pick<OptionValues<typeof CITUS_OPTIONS>, 'rf' | 'shards'>;

export function readConfig(url: StoreUrl): PostgresConfig {
  const example = `${url.scheme}://user:password@host/database`;
  const [place, ...others] = url.hosts;
  if (place === undefined || others.length > 0 || url.user === null || url.path === '') {
    throw new StoreError('MISCONFIGURED', `${url.masked} does not name one host, a user and a database`, {
      hint: `write ${example}`,
    });
  }
  const options = readOptions(url, url.scheme === 'citus' ? CITUS_OPTIONS : POSTGRES_OPTIONS);
  const { connections, connect, timeout, sslmode, sslrootcert } = options;
  return {
    host: place.host,
    port: place.port ?? DEFAULT_PORT,
    user: url.user,
    password: url.password,
    database: url.path,
    ...{ connections, connect, timeout, sslmode, sslrootcert },
  };
}

export function readDistribution(url: StoreUrl): Distribution {
  const { rf, shards } = readOptions(url, CITUS_OPTIONS);
  return { rf, shards };
}
