import { StoreError } from '../errors.ts';
import { CONNECT, choice, integer, type Option, type OptionValues, readOptions, word } from '../options.ts';
import type { StoreUrl } from '../url.ts';

export const WRITE_LEVELS = [
  ...['ONE', 'TWO', 'THREE', 'QUORUM', 'ALL', 'LOCAL_ONE', 'LOCAL_QUORUM'],
  'EACH_QUORUM',
] as const;
export const READ_LEVELS = ['ONE', 'TWO', 'THREE', 'QUORUM', 'ALL', 'LOCAL_ONE', 'LOCAL_QUORUM'] as const;

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,47}$/;

const dc: Option<string> = {
  default: 'datacenter1',
  description: 'The data centre to use, by its name in `nodetool status`.',
  takes: 'a name',
  parse: (text) => (/^[^'"\s]{1,100}$/.test(text) ? text : undefined),
};

/** Options of `cassandra://host/keyspace?...`. */
export const CASSANDRA_OPTIONS = {
  dc,
  rf: integer(1, 9, 'copies', 1, 'Copies of each row in `dc`. Applies when the keyspace is created.'),
  strategy: choice(
    ['network', 'simple'],
    'network',
    'NetworkTopologyStrategy or SimpleStrategy. Applies when the keyspace is created.',
  ),
  write: choice(WRITE_LEVELS, 'QUORUM', 'Copies that must acknowledge a write of readings or records.'),
  read: choice(READ_LEVELS, 'QUORUM', 'Copies that must answer a read of readings or records.'),
  ttl: integer(
    0,
    630_720_000,
    's',
    0,
    'Readings expire this long after their write. 0: never. Applies when tables are created.',
  ),
  compression: choice(
    ['lz4', 'zstd', 'none'],
    'lz4',
    'Compression of tables. Applies when they are created.',
  ),
  tls: choice(['true', 'false'], 'false', 'Encrypt, and check the certificates of the nodes.'),
  tlsCAFile: word('a path', 'Certificate authority to trust (PEM file). Default: those of the system.'),
  connect: CONNECT,
  timeout: integer(
    100,
    120_000,
    'ms',
    12_000,
    'Longest wait for one answer of a server. Then the call fails with TIMEOUT.',
  ),
};

export interface CassandraConfig extends OptionValues<typeof CASSANDRA_OPTIONS> {
  /** `host:port`, at least one. */
  readonly hosts: readonly string[];
  readonly port: number;
  readonly user: string | null;
  readonly password: string;
  readonly keyspace: string;
  /** Hosts and keyspace, for messages. */
  readonly place: string;
}

const PORT = 9042;

/** @throws {StoreError} MISCONFIGURED */
export function readConfig(url: StoreUrl): CassandraConfig {
  const example = 'write cassandra://host1,host2/keyspace';
  if (url.hosts.length === 0) throw mistake(url, 'names no host', example);
  if (!NAME.test(url.path)) {
    throw mistake(url, 'names no keyspace of a letter, then up to 47 letters, digits and _', example);
  }
  const ports = new Set(url.hosts.map(({ port }) => port ?? PORT));
  if (ports.size > 1) {
    // Nodes announce addresses without ports.
    throw mistake(
      url,
      'gives its hosts different ports',
      'let every node of a cluster listen on the same port',
    );
  }
  const [port] = [...ports] as [number];
  const hosts = url.hosts.map(({ host }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`));
  const { user, path: keyspace } = url;
  const place = `${hosts.join(',')}/${keyspace}`;
  return {
    hosts,
    port,
    user,
    password: url.password ?? '',
    keyspace,
    place,
    ...readOptions(url, CASSANDRA_OPTIONS),
  };
}

function mistake(url: StoreUrl, problem: string, hint: string): StoreError {
  return new StoreError('MISCONFIGURED', `${url.masked} ${problem}`, { hint });
}
