import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '@tidegauge/service/program';
import { STORE_DRIVERS } from '@tidegauge/storage';
import { PROGRAMS } from '../../apps/tidegauge/src/programs.ts';
import { commitOfClone } from '../../apps/tidegauge/src/version.ts';
import { projectFiles } from '../project-files.ts';
import { PROCESSORS_OF_32_BITS, ROOT } from '../setup.js';
import { copyPackage, foldersOf, readLock } from './installed-packages.ts';
import { modulesFrom, plainPath } from './plain-module.ts';

const MAIN = 'apps/tidegauge/src/main.ts';
const BIN = 'bin/tidegauge.js';
const DRIVERS: readonly string[] = [...new Set(Object.values(STORE_DRIVERS).flat())];

/** What a package has. */
export interface PackageSize {
  readonly files: number;
  /** Unpacked. */
  readonly bytes: number;
}

/**
 * Writes the npm package `tidegauge`. Node does not strip types below node_modules, so it has JavaScript. It contains
 * the npm packages that it imports, in the versions of package-lock.json, so that its installation needs no other
 * package; drivers of databases are not in it. It has the folders of the repository, because modules find files
 * beside them. The same files give the same package.
 *
 * @param out a folder. An earlier package there is replaced.
 * @throws {ConfigError} when the folder has something else
 */
export async function buildPackage(out: string): Promise<PackageSize> {
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, BIN)))
    throw new ConfigError([`--output ${out} is no package of an earlier run: name another folder`]);
  rmSync(out, { recursive: true, force: true });
  const chosen = Object.values(PROGRAMS).filter(({ cloneOnly }) => cloneOnly !== true);
  const modules = modulesFrom([MAIN, ...chosen.map(({ module }) => `${module}.ts`)]);
  for (const [file, { code }] of modules) write(join(out, plainPath(file)), code);
  const named = [...modules.values()].flatMap(({ files }) => files);
  for (const file of new Set([...named, ...assetsBeside(modules.keys())])) copy(file, join(out, file));

  const imported = new Set([...modules.values()].flatMap(({ packages }) => packages));
  const bundled = [...imported].filter((name) => !DRIVERS.includes(name)).toSorted();
  const lock = readLock();
  for (const folder of foldersOf(bundled, lock)) copyPackage(folder, out);
  const versionsOf = (names: readonly string[], range = '') =>
    Object.fromEntries(names.map((name) => [name, `${range}${lock[`node_modules/${name}`]!.version}`]));

  copy('scripts/package/bin.js', join(out, BIN));
  chmodSync(join(out, BIN), 0o755);
  copy('scripts/package/README.md', join(out, 'README.md'));
  copy('LICENSE', join(out, 'LICENSE'));
  const { name, version, description, license, dependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  const commit = await commitOfClone();
  const manifest = {
    name,
    version,
    description,
    license,
    ...(commit === null ? {} : { gitHead: commit }),
    type: 'module',
    bin: { tidegauge: BIN },
    // The Node with which the tests run.
    engines: { node: `>=${dependencies.node}` },
    cpu: PROCESSORS_OF_32_BITS.map((name) => `!${name}`),
    dependencies: versionsOf(bundled),
    bundleDependencies: bundled,
    peerDependencies: versionsOf(DRIVERS, '^'),
    peerDependenciesMeta: Object.fromEntries(DRIVERS.map((driver) => [driver, { optional: true }])),
  };
  write(join(out, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return sizeOf(out);
}

/** Files in the workspaces of modules that are no modules: the OpenAPI document, the page, the messages of HBase. */
function assetsBeside(modules: Iterable<string>): readonly string[] {
  const workspaces = new Set([...modules].map((file) => file.split('/', 2).join('/')));
  return projectFiles().filter((file) => {
    const [kind, name, folder] = file.split('/');
    if (!workspaces.has(`${kind}/${name}`)) return false;
    return folder === 'public' || (folder === 'src' && !/\.[jt]s$/.test(file));
  });
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function copy(file: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(join(ROOT, file), to);
}

function sizeOf(folder: string): PackageSize {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return { files: files.length, bytes };
}
