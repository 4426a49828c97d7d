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
  /** Variables for `stacks/bin/deploy`. */
  readonly env?: Readonly<Record<string, string>>;
}

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
  },
  mariadb: {
    stack: 'mariadb',
    maxNodes: 1,
    role: () => 'mariadb',
    image: 'mariadb',
    service: () => 'mariadb',
    version: ['mariadbd', '--version'],
    isReplicated: false,
  },
  cassandra: {
    stack: 'cassandra',
    maxNodes: 3,
    role: (index) => (index === 0 ? 'cassandra=seed' : 'cassandra=node'),
    image: 'cassandra',
    service: (index) => (index === 0 ? 'cassandra-seed' : 'cassandra'),
    version: ['nodetool', 'version'],
    isReplicated: true,
    env: {
      // Three boards agree on a new member faster than fifteen.
      CASSANDRA_JVM_OPTIONS: '-Dcassandra.ring_delay_ms=5000 -Dcassandra.skip_wait_for_gossip_to_settle=0',
      CASSANDRA_JOIN_SPREAD: '0',
    },
  },
  hbase: {
    stack: 'hbase-standalone',
    maxNodes: 1,
    role: () => 'hbase',
    image: 'hbase',
    service: () => 'hbase',
    version: ['sh', '-c', 'ls /opt/hbase/lib'],
    isReplicated: false,
  },
};

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
