import { StoreError } from '../errors.ts';
import { CONNECT, choice, integer, type Option, type OptionValues, readOptions } from '../options.ts';
import type { StoreUrl } from '../url.ts';

const NAMESPACE = /^[A-Za-z0-9_]{1,100}$/;

const znode: Option<string> = {
  default: '/hbase',
  description: 'Path of the cluster in ZooKeeper: `zookeeper.znode.parent` of its servers.',
  takes: 'a path',
  parse: (text) => (/^(\/[^/\s]+)+$/.test(text) ? text : undefined),
};

/** Options of `hbase://zookeeper/namespace?...`. */
export const HBASE_OPTIONS = {
  znode,
  presplit: integer(
    1,
    1000,
    'regions',
    16,
    'Regions of `readings` and of each table of records. Applies when they are created.',
  ),
  ttl: integer(
    0,
    2_000_000_000,
    's',
    0,
    'Readings expire this long after their write. 0: never. Applies when tables are created.',
  ),
  compression: choice(
    ['gz', 'snappy', 'lz4', 'zstd', 'none'],
    'gz',
    'Compression of tables. Applies when they are created. snappy, lz4 and zstd need a library on the servers.',
  ),
  durability: choice(
    ['sync', 'fsync'],
    'sync',
    'sync: a write resolves when the data nodes of HDFS have it in memory. fsync: when it is on their disks.',
  ),
  connect: CONNECT,
  timeout: integer(
    1000,
    600_000,
    'ms',
    30_000,
    'Longest time of a call, with all retries. Then it fails with TIMEOUT or UNAVAILABLE.',
  ),
};

export interface HbaseConfig extends OptionValues<typeof HBASE_OPTIONS> {
  /** `host:port` of ZooKeeper, at least one. */
  readonly zookeeper: readonly string[];
  readonly user: string | null;
  readonly namespace: string;
  /** Hosts and namespace, for messages. */
  readonly place: string;
}

const PORT = 2181;
const EXAMPLE = 'write hbase://zookeeper1,zookeeper2/namespace';

/** @throws {StoreError} MISCONFIGURED */
export function readConfig(url: StoreUrl): HbaseConfig {
  const mistake = (problem: string, hint = EXAMPLE) =>
    new StoreError('MISCONFIGURED', `${url.masked} ${problem}`, { hint });
  if (url.hosts.length === 0) throw mistake('names no host of ZooKeeper');
  if (!NAMESPACE.test(url.path)) throw mistake('names no namespace of 1 to 100 letters, digits and _');
  if (url.path === 'hbase') throw mistake('names the namespace of HBase itself', 'choose another namespace');
  if (url.password !== null) {
    throw mistake(
      'has a password, which HBase does not use',
      'remove the password; Kerberos is not supported',
    );
  }
  const zookeeper = url.hosts.map(({ host, port }) => {
    return `${host.includes(':') ? `[${host}]` : host}:${port ?? PORT}`;
  });
  const { user, path: namespace } = url;
  const place = `${zookeeper.join(',')}/${namespace}`;
  return { zookeeper, user, namespace, place, ...readOptions(url, HBASE_OPTIONS) };
}
