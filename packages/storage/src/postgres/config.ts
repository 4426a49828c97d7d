import { StoreError } from '../errors.ts';
import { choice, integer, type OptionValues, readOptions, word } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** How many writers gain: one sends a batch while the server stores another's. */
export const WRITERS = 2;

const DEFAULT_PORT = 5432;

/** Options of `postgres://user:password@host/database?...`. */
export const POSTGRES_OPTIONS = {
  connections: integer(
    1,
    200,
    'connections',
    6,
    'connections for everything but writing readings, which has two of its own',
  ),
  connect: integer(100, 60_000, 'ms', 5000, 'how long to wait for a connection'),
  timeout: integer(1000, 600_000, 'ms', 30_000, 'how long a statement may take, then TIMEOUT'),
  sslmode: choice(
    ['disable', 'require', 'verify-ca', 'verify-full'],
    'disable',
    'as libpq: encrypt, with any certificate, one of a known authority, or one that also names the host',
  ),
  sslrootcert: word('a path', 'certificate authority to trust (PEM), where the system does not know it'),
};

/** Options of `citus://`: those of `postgres`, and how its tables are distributed. */
export const CITUS_OPTIONS = {
  ...POSTGRES_OPTIONS,
  rf: integer(1, 8, 'copies', 1, 'copies of each shard, at most one per worker; applies to tables made anew'),
  shards: integer(
    1,
    1024,
    'shards',
    8,
    'parts of each table, the more the slower; applies to tables made anew',
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
