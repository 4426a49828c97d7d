import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IMAGES, type ImageName } from './images.ts';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const FOLDERS = join(ROOT, 'stacks/images');

const KEY_CHARACTERS = 12;

const keys = new Map<ImageName, string>();

/**
 * A digest of all inputs of an image: equal inputs have equal keys. It is computed once per process, so that a change
 * of the sources during a run makes no second image.
 */
export function keyOf(name: ImageName): string {
  const key = keys.get(name) ?? digest(inputsOf(name));
  keys.set(name, key);
  return key;
}

/** TIDEGAUGE_VERSION for images built here. Stack files have one version for all images of the project. */
export function version(): string {
  const ours = (Object.keys(IMAGES) as ImageName[]).filter((name) => IMAGES[name].targets !== undefined);
  return digest(ours.map(keyOf));
}

/** The root file system's key. */
export function rootKey(): string {
  return digest(filesOf(FOLDERS, ['debian/rootfs.ts']));
}

/** Files below some sources that .dockerignore does not exclude. Its later lines override earlier ones. */
export function contextFiles(sources: readonly string[]): string[] {
  const text = readFileSync(join(ROOT, '.dockerignore'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const kept = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const isLeftIn = (path: string): boolean =>
    lines.findLast((line) => matches(path, line.replace(/^!/, '')))?.startsWith('!') === true;
  const isWanted = (path: string): boolean => sources.some((source) => matches(path, source));
  const paths = globSync(kept.flatMap(withContents), { cwd: ROOT });
  return paths.filter((path) => isWanted(path) && isLeftIn(path) && isFile(ROOT, path));
}

function matches(path: string, pattern: string): boolean {
  return withContents(pattern).some((glob) => matchesGlob(path, glob));
}

/** A line for a folder also applies to everything in the folder. */
function withContents(pattern: string): string[] {
  return [pattern, `${pattern}/**`];
}

function inputsOf(name: ImageName): string[] {
  const { folder, base, sources, contents = '' } = IMAGES[name];
  const below = base === undefined ? [rootKey()] : inputsOf(base);
  const context = sources === undefined ? [] : read(ROOT, contextFiles(sources));
  return [name, contents, ...below, ...filesOf(FOLDERS, [folder]), ...context];
}

/** The files in folders and their subfolders: path and contents of each. */
function filesOf(directory: string, folders: readonly string[]): string[] {
  const paths = globSync(folders.flatMap(withContents), { cwd: directory });
  return read(
    directory,
    paths.filter((path) => isFile(directory, path)),
  );
}

/** Path and contents of files, sorted by path. */
function read(directory: string, files: readonly string[]): string[] {
  return files.toSorted().flatMap((path) => [path, readFileSync(join(directory, path), 'latin1')]);
}

function isFile(directory: string, path: string): boolean {
  return statSync(join(directory, path)).isFile();
}

function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest('hex').slice(0, KEY_CHARACTERS);
}
