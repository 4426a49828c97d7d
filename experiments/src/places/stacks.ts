import { compilerOptions } from '@tidegauge/lab/jvm';
import type { ImageName } from '@tidegauge/stacks/stack-deployment';

/** How a store is deployed by the stacks of this project. */
export interface StackEntry {
  /** A file of stacks/, which `stacks/bin/deploy` takes. */
  readonly stack: string;
  /** The most boards that run the store. */
  readonly maxNodes: number;
  /** The argument of `stacks/bin/board` for the board with this number, from 0. */
  readonly role: (index: number) => string;
  readonly image: ImageName;
  /** The service that runs on the board with this number, from 0. */
  readonly service: (index: number) => string;
  /** The command that prints the version in the container of the store. */
  readonly version: readonly string[];
  /** Whether the stack has copies of the data on several boards. */
  readonly isReplicated: boolean;
  /** Whether a board must have its part of the data before the next one joins. */
  readonly joinsInTurn?: boolean;
  /** The part of the store that all its boards need. Where it is not on one of them, it is on the board of the API. */
  readonly control?: { readonly role: string; readonly services: readonly string[] };
  /** The TCP ports on which the container of `service` serves clients. */
  readonly ports: readonly number[];
  /** The variable for `stacks/bin/deploy` with the number of copies. Default: `stacks/bin/secrets --copies` sets it. */
  readonly copiesVariable?: string;
  /**
   * The secret with the administrator's password, where the copies are a property of a keyspace. A study on a swarm
   * makes its own keyspace with it, so that one cluster serves all numbers of copies.
   */
  readonly adminSecret?: string;
  /** Variables for `stacks/bin/deploy`. */
  readonly env?: Readonly<Record<string, string>>;
}

const HBASE_VERSION = ['sh', '-c', 'ls /opt/hbase/lib | grep hbase-server'];

/** The stacks that a study can deploy, by store. */
export const STACKS: Readonly<Record<string, StackEntry>> = {
  postgres: {
    stack: 'postgres',
    maxNodes: 1,
    role: () => 'postgres',
    image: 'postgres',
    service: () => 'postgres',
    version: ['postgres', '--version'],
    isReplicated: false,
    ports: [5432],
  },
  mariadb: {
    stack: 'mariadb',
    maxNodes: 1,
    role: () => 'mariadb',
    image: 'mariadb',
    service: () => 'mariadb',
    version: ['mariadbd', '--version'],
    isReplicated: false,
    ports: [3306],
  },
  cassandra: {
    stack: 'cassandra',
    maxNodes: 15,
    role: (index) => (index === 0 ? 'cassandra=seed' : 'cassandra=node'),
    image: 'cassandra',
    service: (index) => (index === 0 ? 'cassandra-seed' : 'cassandra'),
    version: ['nodetool', 'version'],
    isReplicated: true,
    joinsInTurn: true,
    ports: [9042],
    adminSecret: 'tidegauge_cassandra_password',
    env: {
      // Three boards agree on a new member faster than fifteen.
      CASSANDRA_JVM_OPTIONS: [
        '-Dcassandra.ring_delay_ms=5000 -Dcassandra.skip_wait_for_gossip_to_settle=0',
        ...compilerOptions(),
      ].join(' '),
      CASSANDRA_JOIN_SPREAD: '0',
    },
  },
  hbase: {
    stack: 'hbase-standalone',
    maxNodes: 1,
    role: () => 'hbase',
    image: 'hbase',
    service: () => 'hbase',
    version: HBASE_VERSION,
    isReplicated: false,
    ports: [2181, 16000, 16020],
  },
};

/** Stacks for several boards, of stores that have another one for a single board. */
const CLUSTERS: Readonly<Record<string, StackEntry>> = {
  hbase: {
    stack: 'hbase',
    maxNodes: 14,
    role: () => 'hbase=node',
    image: 'hbase',
    service: () => 'hbase-node',
    version: HBASE_VERSION,
    isReplicated: true,
    control: { role: 'hbase=master', services: ['hbase-zookeeper', 'hbase-namenode', 'hbase-master'] },
    ports: [16020],
    copiesVariable: 'HBASE_REPLICATION',
  },
};

/**
 * Options of `docker service update` for a stack that only a study uses. It resolves when the new task is healthy. By
 * default it waits another 30 s.
 */
export const UPDATE_SOON: readonly string[] = [
  ...['--update-monitor', '1s', '--update-delay', '0s'],
  ...['--no-resolve-image', '--quiet', '--detach=false'],
];

/** The stack that deploys a store on so many boards. null: there is none. */
export function stackFor(store: string, nodes: number): StackEntry | null {
  const entries = nodes > 1 && Object.hasOwn(CLUSTERS, store) ? CLUSTERS : STACKS;
  return Object.hasOwn(entries, store) ? entries[store]! : null;
}

/** The first number with dots in what a program prints about its version. */
export function versionIn(text: string): string {
  return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? 'unknown';
}

/** Profiles of stacks/profiles, by the memory of their boards in GiB. */
export const PROFILES: readonly (readonly [gibibytes: number, profile: string])[] = [
  [8, '8gb'],
  [4, '4gb'],
  [2, '2gb'],
  [1, '1gb'],
];

/** The largest profile of stacks/profiles for boards of this memory, in bytes. null: the boards are too small. */
export function profileFor(memory: number): string | null {
  return PROFILES.find(([gibibytes]) => memory >= gibibytes * 2 ** 30)?.[1] ?? null;
}
