import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IMAGES, type ImageName } from './images.ts';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const FOLDERS = join(ROOT, 'stacks/images');

const KEY_CHARACTERS = 12;

/** What stands for everything that an image is made of: the same inputs, the same key. */
export function keyOf(name: ImageName): string {
  const { targets } = IMAGES[name];
  // Stack files have one version for all images of ours.
  return targets === undefined ? digest(inputsOf(name)) : version();
}

/** What TIDEGAUGE_VERSION is for images built here. */
export function version(): string {
  const ours = (Object.keys(IMAGES) as ImageName[]).filter((name) => IMAGES[name].targets !== undefined);
  return digest([...ours.flatMap(inputsOf), ...read(ROOT, contextFiles())]);
}

/** The root file system's key. */
export function rootKey(): string {
  return digest(filesOf(FOLDERS, ['debian/rootfs.ts']));
}

/** Files that images of ours are built from: what .dockerignore leaves in, later lines over earlier ones. */
export function contextFiles(): string[] {
  const text = readFileSync(join(ROOT, '.dockerignore'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const kept = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const isLeftIn = (path: string): boolean =>
    lines.findLast((line) => matches(path, line.replace(/^!/, '')))?.startsWith('!') === true;
  return globSync(kept.flatMap(withContents), { cwd: ROOT }).filter(isLeftIn);
}

function matches(path: string, pattern: string): boolean {
  return withContents(pattern).some((glob) => matchesGlob(path, glob));
}

/** What a line says of a folder, it says of everything in it. */
function withContents(pattern: string): string[] {
  return [pattern, `${pattern}/**`];
}

function inputsOf(name: ImageName): string[] {
  const { folder, base, contents = '' } = IMAGES[name];
  const below = base === undefined ? [rootKey()] : inputsOf(base);
  return [name, contents, ...below, ...filesOf(FOLDERS, [folder])];
}

/** The files of folders, and of all in them. */
function filesOf(directory: string, folders: readonly string[]): string[] {
  return read(directory, globSync(folders.flatMap(withContents), { cwd: directory }));
}

/** Path and contents of files, in an order of their own. */
function read(directory: string, paths: readonly string[]): string[] {
  const files = paths.filter((path) => statSync(join(directory, path)).isFile());
  return files.toSorted().flatMap((path) => [path, readFileSync(join(directory, path), 'latin1')]);
}

function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest('hex').slice(0, KEY_CHARACTERS);
}
