import { join } from 'node:path';
import { compilerOptions } from './jvm.ts';

export interface NodeConf {
  readonly folder: string;
  readonly host: string;
  /** The address that clients use, where a proxy listens. null: `host`. */
  readonly announced: string | null;
  readonly port: number;
  readonly storagePort: number;
  /** Number of the node in the ring, from 0. */
  readonly index: number;
  /** The number of nodes in the ring. */
  readonly count: number;
  /** PEM file of a key and its certificate: clients may then encrypt, on the same port. */
  readonly identity: string | null;
}

/** The token of a node. The tokens of all nodes divide Murmur3's ring, -2^63 to 2^63 - 1, into equal parts. */
function tokenOf(index: number, count: number): bigint {
  return (2n ** 64n * BigInt(index)) / BigInt(count) - 2n ** 63n;
}

/** The complete cassandra.yaml, because the jar contains none. Caches and pools are sized for a board of 1 GB. */
export function yaml(conf: NodeConf): string {
  const { folder, host, announced, port, storagePort, index, count, identity } = conf;
  const lines = [
    'cluster_name: tidegauge-lab',
    'num_tokens: 1',
    `initial_token: ${tokenOf(index, count)}`,
    'auto_bootstrap: false',
    'partitioner: org.apache.cassandra.dht.Murmur3Partitioner',
    'endpoint_snitch: SimpleSnitch',
    'authenticator: PasswordAuthenticator',
    'authorizer: CassandraAuthorizer',
    'role_manager: CassandraRoleManager',
    `listen_address: ${host}`,
    `rpc_address: ${host}`,
    ...(announced === null ? [] : [`broadcast_rpc_address: ${announced}`]),
    `storage_port: ${storagePort}`,
    `native_transport_port: ${port}`,
    'seed_provider:',
    '  - class_name: org.apache.cassandra.locator.SimpleSeedProvider',
    '    parameters:',
    `      - seeds: "127.0.0.1:${storagePort}"`,
    'data_file_directories:',
    `  - ${join(folder, 'data')}`,
    ...['commitlog', 'saved_caches', 'hints', 'cdc_raw'].map(
      (name) => `${name}_directory: ${join(folder, name)}`,
    ),
    // Acknowledged writes are on the disk. With Cassandra's default, `periodic`, a killed server loses some.
    'commitlog_sync: batch',
    'commitlog_segment_size: 8MiB',
    'commitlog_total_space: 64MiB',
    ...(identity === null
      ? []
      : [
          'client_encryption_options:',
          '  enabled: true',
          '  optional: true',
          '  ssl_context_factory:',
          '    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory',
          `  keystore: ${identity}`,
        ]),
    'auto_snapshot: false',
    'memtable_heap_space: 64MiB',
    'memtable_offheap_space: 64MiB',
    'key_cache_size: 8MiB',
    'file_cache_size: 32MiB',
    'networking_cache_size: 32MiB',
    'concurrent_reads: 8',
    // A writer waits for the disk. More writers share one sync.
    'concurrent_writes: 32',
    'concurrent_compactors: 1',
    // On a busy machine a node answers late. Requests must not time out because of that.
    ...['read', 'range', 'write'].map((kind) => `${kind}_request_timeout: 10000ms`),
    'cas_contention_timeout: 10000ms',
  ];
  return `${lines.join('\n')}\n`;
}

const EXPORTS = [
  ...[
    'java.base/jdk.internal.misc',
    'java.base/java.lang.ref',
    'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  ],
  ...[
    'java.rmi/sun.rmi.registry',
    'java.rmi/sun.rmi.server',
    'java.sql/java.sql',
    'jdk.unsupported/sun.misc',
  ],
  ...['jdk.compiler/com.sun.tools.javac.file', 'jdk.attach/sun.tools.attach'],
];
const OPENS = [
  ...['lang.module', 'io', 'lang.reflect', 'lang', 'util'].map((name) => `java.base/java.${name}`),
  ...['loader', 'ref', 'reflect', 'math', 'module', 'util.jar'].map(
    (name) => `java.base/jdk.internal.${name}`,
  ),
  ...[
    'java.base/sun.nio.ch',
    'jdk.management/com.sun.management.internal',
    'jdk.compiler/com.sun.tools.javac',
  ],
];

/** Arguments of every JVM with Cassandra 5.0 on Java 17, from its files jvm17-server.options and jvm17-clients.options. */
export const JAVA_17: readonly string[] = [
  ...EXPORTS.flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
  ...OPENS.flatMap((name) => ['--add-opens', `${name}=ALL-UNNAMED`]),
];

/** The JVM arguments of a server. */
export function jvmOptions({
  folder,
  jars,
  count,
  heapMegabytes,
}: {
  readonly folder: string;
  readonly jars: string;
  readonly count: number;
  readonly heapMegabytes: number;
}): string[] {
  const young = Math.round(heapMegabytes * 0.33);
  const system = {
    'cassandra.config': `file://${join(folder, 'cassandra.yaml')}`,
    'logback.configurationFile': join(folder, 'logback.xml'),
    'cassandra.storagedir': folder,
    'cassandra-foreground': 'yes',
    'cassandra.superuser_setup_delay_ms': '0',
    // A login must not depend on one node, and must not use 100 ms for hashing.
    'cassandra.system_auth.default_rf': String(count),
    'cassandra.auth_bcrypt_gensalt_log2_rounds': '4',
    // On loopback no waiting time for other nodes is needed.
    'cassandra.ring_delay_ms': '1000',
    'cassandra.skip_wait_for_gossip_to_settle': '0',
    'cassandra.consistent.rangemovement': 'false',
    'jdk.attach.allowAttachSelf': 'true',
    'io.netty.tryReflectionSetAccessible': 'true',
  };
  return [
    ...[
      `-Xms${heapMegabytes}m`,
      `-Xmx${heapMegabytes}m`,
      `-Xmn${young}m`,
      '-Xss256k',
      '-XX:+UseSerialGC',
      '-XX:+ExitOnOutOfMemoryError',
      ...compilerOptions(),
    ],
    `-javaagent:${join(jars, 'jamm-0.4.0.jar')}`,
    ...JAVA_17,
    ...Object.entries(system).map(([name, value]) => `-D${name}=${value}`),
    ...['-cp', `${jars}/*`],
  ];
}
