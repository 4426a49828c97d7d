import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { ROOT } from '../setup.js';

/** An entry of `packages` in package-lock.json, lockfileVersion 3. */
interface LockEntry {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

type Lock = Readonly<Record<string, LockEntry>>;

const NESTED = '/node_modules/';
/** It only reports installations to its maker. */
const LEFT_OUT = '@scarf/scarf';
/** Files of tools, documentation, source maps and types: no program reads them. Licences stay. */
const UNREAD = /^\.|\.(md|markdown|map|[cm]?ts|flow)$/;
const LICENCE = /^(licen[cs]e|notice|copying|copyright)/i;
/** Files of a package of which few are used: it has 11 MB of builds for other purposes. */
const USED: Readonly<Record<string, RegExp>> = {
  'node_modules/swagger-ui-dist': /^(package\.json|swagger-ui\.css|swagger-ui-bundle\.js(\.LICENSE\.txt)?)$/,
};

/** What package-lock.json installs. */
export function readLock(): Lock {
  return JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
}

/**
 * The folders of packages and of all that they need, from the root: `node_modules/express`.
 *
 * @throws {Error} when the lock file lacks one
 */
export function foldersOf(names: Iterable<string>, lock: Lock): readonly string[] {
  const found = new Set<string>();
  const add = (name: string, from: string): void => {
    if (name === LEFT_OUT) return;
    const folder = resolve(name, from, lock);
    if (found.has(folder)) return;
    found.add(folder);
    for (const needed of Object.keys(lock[folder]!.dependencies ?? {})) add(needed, folder);
  };
  for (const name of names) add(name, '');
  return [...found].toSorted();
}

/** The folder from which Node loads a package for a module in `from`: that in the nearest node_modules. */
function resolve(name: string, from: string, lock: Lock): string {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(NESTED)))) {
    const path = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`;
    if (lock[path] !== undefined) return path;
    if (folder === '')
      throw new Error(`package-lock.json has no ${name}, which ${from || 'Tidegauge'} needs`);
  }
}

/** Copies an installed package to the same place below `out`: what programs read, and its licence. */
export function copyPackage(folder: string, out: string): void {
  const from = join(ROOT, folder);
  cpSync(from, join(out, folder), {
    recursive: true,
    filter: (path) => path === from || isCopied(folder, relative(from, path)),
  });
  const file = join(out, folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { readonly dependencies?: object };
  // Nothing of it runs at the installation, and npm does not look for what is not here.
  const kept = without(manifest, ['scripts', 'devDependencies', 'optionalDependencies']);
  const dependencies = without(manifest.dependencies ?? {}, [LEFT_OUT]);
  writeFileSync(file, `${JSON.stringify({ ...kept, dependencies }, null, 2)}\n`);
}

function isCopied(folder: string, path: string): boolean {
  const name = basename(path);
  if (name === 'node_modules') return false;
  if (LICENCE.test(name)) return true;
  return USED[folder]?.test(path) ?? !UNREAD.test(name);
}

function without(values: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
}
