import { globSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin, stripTypeScriptTypes } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { ROOT } from '../setup.js';
import { type Reference, referencesIn } from './references.ts';

/** A module of the package. All paths are from the root of the repository. */
export interface PlainModule {
  /** JavaScript, in which imports name the files of the package. */
  readonly code: string;
  /** The modules that it imports or starts. */
  readonly modules: readonly string[];
  /** Other files that it names, such as a package.json. */
  readonly files: readonly string[];
  /** The npm packages that it imports. */
  readonly packages: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly workspaces: readonly string[];
  readonly exports?: Readonly<Record<string, string>>;
}

const MODULE = /\.[jt]s$/;

/** The file of a module in the package: the same place, as JavaScript. */
export function plainPath(file: string): string {
  return file.replace(/\.ts$/, '.js');
}

/**
 * Makes JavaScript of a module. Types are replaced by spaces, so lines and columns stay and a source map is not needed.
 *
 * @param file its path from the root
 */
export function plainModule(file: string): PlainModule {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const code = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  const found = { modules: [] as string[], files: [] as string[], packages: [] as string[] };
  let plain = '';
  let end = 0;
  for (const reference of referencesIn(code)) {
    const { specifier, start } = reference;
    const target = targetOf(file, reference);
    let written = specifier;
    if (target === null) {
      if (reference.kind === 'import' && !isBuiltin(specifier)) found.packages.push(packageOf(specifier));
    } else if (MODULE.test(target)) {
      found.modules.push(target);
      written = relativePath(file, plainPath(target));
    } else {
      found.files.push(target);
    }
    plain += code.slice(end, start) + written;
    end = start + specifier.length;
  }
  return { code: plain + code.slice(end), ...found };
}

/** All modules that some modules need, with these. */
export function modulesFrom(entries: readonly string[]): ReadonlyMap<string, PlainModule> {
  const found = new Map<string, PlainModule>();
  const queue = [...entries];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue;
    const module = plainModule(file);
    found.set(file, module);
    queue.push(...module.modules);
  }
  return found;
}

/** The file that a reference names, from the root. Null for what is no file of this repository. */
function targetOf(file: string, { kind, specifier }: Reference): string | null {
  if (kind === 'import' && !specifier.startsWith('.')) return exportOf(specifier);
  const target = posix.join(dirname(file), specifier);
  // A URL can be a folder, which the module extends by names, or a file that only a clone has.
  if (kind === 'import' || statSync(join(ROOT, target), { throwIfNoEntry: false })?.isFile()) return target;
  return null;
}

/** The file that a workspace exports under a name such as `@tidegauge/service/program`. */
function exportOf(specifier: string): string | null {
  const name = packageOf(specifier);
  const workspace = WORKSPACES.get(name);
  if (workspace === undefined) return null;
  const exported = workspace.exports[`.${specifier.slice(name.length)}`];
  if (exported === undefined) throw new Error(`${name} does not export ${specifier}`);
  return posix.join(workspace.folder, exported);
}

/** The folder and the exports of each workspace, by its name. */
const WORKSPACES = new Map(
  globSync(
    readManifest('.').workspaces.map((pattern) => `${pattern}/package.json`),
    { cwd: ROOT },
  ).map((path) => {
    const folder = dirname(path);
    const { name, exports = {} } = readManifest(folder);
    return [name, { folder, exports }];
  }),
);

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function relativePath(from: string, to: string): string {
  const path = posix.relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}
