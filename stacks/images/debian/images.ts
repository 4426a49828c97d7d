import { fillNode, fillPython } from './host.ts';

/** An image that is built on a Debian root file system made here. */
export interface Image {
  /** Folder of its Dockerfile, from stacks/images. */
  readonly folder: string;
  /** What the build argument BASE_IMAGE is; default the bare Debian. */
  readonly base?: ImageName;
  /** What stack files call it; bases have no such name. */
  readonly variable?: string;
  /** Ours, by TIDEGAUGE_VERSION: built with the project's root as context, an image tidegauge-<target> each. */
  readonly targets?: readonly string[];
  /** Puts files beside the Dockerfile, in a copy of the folder. */
  readonly fill?: (context: string) => Promise<void>;
  /** Version of what `fill` brings: another one makes another image. */
  readonly contents?: string;
}

export type ImageName = 'node' | 'python' | 'mosquitto' | 'postgres' | 'tidegauge' | 'sensors-sim';

/** To add one: a folder with a Dockerfile, and an entry here. */
export const IMAGES: Readonly<Record<ImageName, Image>> = {
  node: { folder: 'debian/node', fill: fillNode, contents: process.version },
  python: { folder: 'debian/python', fill: fillPython },
  mosquitto: { folder: 'debian/mosquitto', variable: 'MOSQUITTO_IMAGE' },
  postgres: { folder: 'debian/postgres', variable: 'POSTGRES_IMAGE' },
  tidegauge: {
    folder: 'tidegauge',
    base: 'node',
    targets: ['ingest', 'api', 'broker-metrics', 'citus-membership', 'doctor'],
  },
  'sensors-sim': { folder: 'sensors-sim', base: 'python', targets: ['sensors-sim'] },
};
