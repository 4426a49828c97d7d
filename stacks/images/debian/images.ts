import { CASSANDRA_VERSION } from '@tidegauge/lab/cassandra';
import { fillCassandra, fillHbase, fillNode, fillPython, fillStart } from './host.ts';

/** An image that is built on the Debian root file system of rootfs.ts. */
export interface Image {
  /** Folder of its Dockerfile, from stacks/images. */
  readonly folder: string;
  /** The image for the build argument BASE_IMAGE. Default: the root file system. */
  readonly base?: ImageName;
  /** The variable of stack files for this image. Bases have none. */
  readonly variable?: string;
  /** Targets of an image of the project: one image tidegauge-<target> for each, with the tag TIDEGAUGE_VERSION. */
  readonly targets?: readonly string[];
  /** Paths in the project's root for its context, without those that .dockerignore excludes. Default: its folder. */
  readonly sources?: readonly string[];
  /** Puts files beside the Dockerfile, in a copy of the folder. */
  readonly fill?: (context: string) => Promise<void>;
  /** Version of the files that `fill` adds. It is a part of the image's key. */
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
  | 'start'
  | 'sensors-sim'
  | 'hbase';

/** To add an image, add a folder with a Dockerfile, and an entry here. */
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
  // Prometheus, Alertmanager and node exporter. The caller sets the variables of the last two.
  monitoring: { folder: 'debian/monitoring', variable: 'PROMETHEUS_IMAGE' },
  // A board without Docker.
  systemd: { folder: 'debian/systemd' },
  tidegauge: {
    folder: 'tidegauge',
    base: 'node',
    targets: ['ingest', 'api', 'broker-metrics', 'citus-membership', 'doctor', 'backup'],
    sources: ['package.json', 'package-lock.json', 'packages', 'services', 'stacks'],
  },
  // The files from which the npm package is made are a part of its key.
  start: {
    folder: 'start',
    base: 'node',
    targets: ['start'],
    sources: [
      'package.json',
      'package-lock.json',
      'apps',
      'packages',
      'services',
      'stacks/images/tidegauge/healthy.sh',
    ],
    fill: fillStart,
  },
  'sensors-sim': {
    folder: 'sensors-sim',
    base: 'python',
    targets: ['sensors-sim'],
    sources: ['sensors-sim'],
  },
  hbase: { folder: 'hbase', base: 'java', targets: ['hbase'], fill: fillHbase },
};
