import { statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Board, startBoards } from '@tidegauge/lab/docker/boards';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { runProgram } from '@tidegauge/process';
import { ROOT } from '../../../scripts/setup.js';
import { folderBytes } from './folder-bytes.ts';
import { loadImage, packImage } from './image.ts';
import { installPackage, packPackage } from './npm-package.ts';
import type { StartCommand } from './pipeline.ts';

/** Of a step that may download packages. */
export const INSTALL_MS = 900_000;

/** An installation of Tidegauge. */
export interface Installed {
  readonly start: StartCommand;
  /** The size of its files. Call it at the end. */
  installedBytes(): number;
  /** What it has read from a network, or would have; without Node where the user must have it before. Call it at the end. */
  downloadedBytes(): number;
  /** Removes what is not in its folder. */
  remove?(): Promise<void>;
}

export interface Preparation {
  /** For archives. */
  readonly folder: string;
  readonly quick: boolean;
  readonly closers: Closers;
}

/** Installs in an empty folder. */
type Install = (place: string) => Promise<Installed>;

/** By name, what makes a way ready. Archives are made here, which is no part of an installation. */
export const INSTALL_WAYS = {
  npm: async ({ folder }) => {
    const archive = await packPackage(folder);
    return (place: string) => installFromNpm(archive, place);
  },
  deb: async ({ folder, quick }) => {
    const { buildDebian } = await import('../../../scripts/debian/build-debian.ts');
    const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const { file } = await buildDebian({ architecture, out: folder, quick });
    return (place: string) => installFromDebian(file, place);
  },
  image: async ({ folder, quick, closers }) => {
    const { boards, stop } = await startBoards(1, { usesMachineNetwork: true });
    closers.add(stop);
    const archive = await packImage(folder, quick);
    return (place: string) => installFromImage(boards[0]!, archive, place);
  },
  clone: async () => (place: string) => installFromClone(place),
} satisfies Readonly<Record<string, (preparation: Preparation) => Promise<Install>>>;

export type InstallWay = keyof typeof INSTALL_WAYS;

async function installFromNpm(archive: string, place: string): Promise<Installed> {
  const folder = join(place, 'installed');
  const start = await installPackage(archive, folder);
  return { start, installedBytes: () => folderBytes(folder), downloadedBytes: () => statSync(archive).size };
}

/** Unpacks the package. An ordinary user may do that; dpkg also makes a system user and starts services. */
async function installFromDebian(file: string, place: string): Promise<Installed> {
  const folder = join(place, 'installed');
  await runProgram('dpkg-deb', ['--extract', file, folder], { timeoutMs: INSTALL_MS });
  const library = join(folder, 'usr/lib/tidegauge');
  const args = [join(library, 'bin/tidegauge.js'), 'start'];
  const start = { command: join(library, 'bin/node'), args, cwd: place };
  return { start, installedBytes: () => folderBytes(folder), downloadedBytes: () => statSync(file).size };
}

async function installFromImage(board: Board, archive: string, place: string): Promise<Installed> {
  const { start, bytes, remove } = await loadImage(board, archive, place);
  return { start, installedBytes: () => bytes, downloadedBytes: () => statSync(archive).size, remove };
}

/** Clones this clone from its disk. `npm start` downloads all npm packages at the first start, and Node is one of them. */
async function installFromClone(place: string): Promise<Installed> {
  const folder = join(place, 'installed');
  const clone = ['clone', '--quiet', '--depth', '1', pathToFileURL(ROOT).href, folder];
  await runProgram('git', clone, { timeoutMs: INSTALL_MS });
  const cache = join(place, 'cache');
  const env = { npm_config_cache: cache };
  return {
    start: { command: 'npm', args: ['start', '--'], cwd: folder, env },
    installedBytes: () => folderBytes(folder),
    downloadedBytes: () => folderBytes(join(folder, '.git')) + folderBytes(cache),
  };
}
