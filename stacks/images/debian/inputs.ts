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
 * What stands for everything that an image is made of: the same inputs, the same key. It is looked at once, so that
 * sources that change meanwhile make no second image.
 */
export function keyOf(name: ImageName): string {
  const key = keys.get(name) ?? digest(inputsOf(name));
  keys.set(name, key);
  return key;
}

/** What TIDEGAUGE_VERSION is for images built here: stack files have one for all that is ours. */
export function version(): string {
  const ours = (Object.keys(IMAGES) as ImageName[]).filter((name) => IMAGES[name].targets !== undefined);
  return digest(ours.map(keyOf));
}

/** The root file system's key. */
export function rootKey(): string {
  return digest(filesOf(FOLDERS, ['debian/rootfs.ts']));
}

/** Files of some sources that .dockerignore leaves in; later lines of it over earlier ones. */
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

/** What a line says of a folder, it says of everything in it. */
function withContents(pattern: string): string[] {
  return [pattern, `${pattern}/**`];
}

function inputsOf(name: ImageName): string[] {
  const { folder, base, sources, contents = '' } = IMAGES[name];
  const below = base === undefined ? [rootKey()] : inputsOf(base);
  const context = sources === undefined ? [] : read(ROOT, contextFiles(sources));
  return [name, contents, ...below, ...filesOf(FOLDERS, [folder]), ...context];
}

/** The files of folders, and of all in them. */
function filesOf(directory: string, folders: readonly string[]): string[] {
  const paths = globSync(folders.flatMap(withContents), { cwd: directory });
  return read(
    directory,
    paths.filter((path) => isFile(directory, path)),
  );
}

/** Path and contents of files, in an order of their own. */
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
