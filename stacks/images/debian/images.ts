import { CASSANDRA_VERSION } from '@tidegauge/lab/cassandra';
import { fillCassandra, fillHbase, fillNode, fillPython } from './host.ts';

/** An image that is built on a Debian root file system made here. */
export interface Image {
  /** Folder of its Dockerfile, from stacks/images. */
  readonly folder: string;
  /** What the build argument BASE_IMAGE is; default the bare Debian. */
  readonly base?: ImageName;
  /** What stack files call it; bases have no such name. */
  readonly variable?: string;
  /** Ours, by TIDEGAUGE_VERSION: an image tidegauge-<target> each. */
  readonly targets?: readonly string[];
  /** What of the project's root is its context, as far as .dockerignore leaves it in; default its folder alone. */
  readonly sources?: readonly string[];
  /** Puts files beside the Dockerfile, in a copy of the folder. */
  readonly fill?: (context: string) => Promise<void>;
  /** Version of what `fill` brings: another one makes another image. */
  readonly contents?: string;
}

export type ImageName =
  | 'node'
  | 'python'
  | 'java'
  | 'mosquitto'
  | 'postgres'
  | 'mariadb'
  | 'cassandra'
  | 'monitoring'
  | 'systemd'
  | 'tidegauge'
  | 'sensors-sim'
  | 'hbase';

/** To add one: a folder with a Dockerfile, and an entry here. */
export const IMAGES: Readonly<Record<ImageName, Image>> = {
  node: { folder: 'debian/node', fill: fillNode, contents: process.version },
  python: { folder: 'debian/python', fill: fillPython },
  java: { folder: 'debian/java' },
  mosquitto: { folder: 'debian/mosquitto', variable: 'MOSQUITTO_IMAGE' },
  postgres: { folder: 'debian/postgres', variable: 'POSTGRES_IMAGE' },
  mariadb: { folder: 'debian/mariadb', variable: 'MARIADB_IMAGE' },
  cassandra: {
    folder: 'debian/cassandra',
    base: 'python',
    variable: 'CASSANDRA_IMAGE',
    fill: fillCassandra,
    contents: CASSANDRA_VERSION,
  },
  // Prometheus, Alertmanager and node exporter: whoever takes it names the latter two himself.
  monitoring: { folder: 'debian/monitoring', variable: 'PROMETHEUS_IMAGE' },
  // A board without Docker.
  systemd: { folder: 'debian/systemd' },
  tidegauge: {
    folder: 'tidegauge',
    base: 'node',
    targets: ['ingest', 'api', 'broker-metrics', 'citus-membership', 'doctor'],
    sources: ['package.json', 'package-lock.json', 'packages', 'services', 'stacks'],
  },
  'sensors-sim': {
    folder: 'sensors-sim',
    base: 'python',
    targets: ['sensors-sim'],
    sources: ['sensors-sim'],
  },
  hbase: { folder: 'hbase', base: 'java', targets: ['hbase'], fill: fillHbase },
};
