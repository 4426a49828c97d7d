import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Board } from '@tidegauge/lab/docker/boards';
import { Builder, tagsOf } from '@tidegauge/stacks/image-builder';
import type { StartCommand } from './pipeline.ts';

/** The user of the image. */
const USER = 1000;
const LOAD_MS = 300_000;

/** Builds the image `tidegauge-start` of this clone. Resolves to the path of its archive, which is compressed. */
export async function packImage(folder: string, quick: boolean): Promise<string> {
  const archive = join(folder, 'image.tar.gz');
  const builder = new Builder();
  try {
    const image = createReadStream(await builder.archive('start'));
    await pipeline(image, createGzip({ level: quick ? 1 : 6 }), createWriteStream(archive));
  } finally {
    await builder.stop();
  }
  return archive;
}

interface LoadedImage {
  readonly start: StartCommand;
  /** Unpacked. */
  readonly bytes: number;
  remove(): Promise<void>;
}

/**
 * Loads that archive. It is started as in docs/deploy.md, except that it listens on loopback.
 *
 * @param board with the network of this machine
 * @param place the folder of the data directory
 */
export async function loadImage(
  { docker, env }: Board,
  archive: string,
  place: string,
): Promise<LoadedImage> {
  const [tag] = tagsOf('start') as [string];
  await docker(['load', '--quiet', '--input', archive], { timeoutMs: LOAD_MS });
  const bytes = Number(await docker(['image', 'inspect', '--format', '{{.Size}}', tag]));
  const bounds = [
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
  ];
  const network = ['--network', 'host', '--env', 'LISTEN=127.0.0.1'];
  const args = ['run', '--rm', ...bounds, ...network, '--volume', `${place}:${place}`, tag, 'start'];
  return {
    start: { command: 'docker', args, cwd: place, env, user: USER },
    bytes,
    remove: async () => void (await docker(['image', 'rm', '--force', tag])),
  };
}
