import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../setup.js';
import { type PythonMetadata, pythonLicense } from './python-license.ts';

/** A package that programs of this project use in production. */
export interface Component {
  readonly ecosystem: 'npm' | 'pypi';
  readonly name: string;
  readonly version: string;
  /** As its package states it, an SPDX expression where possible; null when it states none or is not installed. */
  readonly license: string | null;
}

/** An entry of `packages` in package-lock.json, lockfileVersion 3. */
interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

const MODULES = 'node_modules/';

/** Requirements of the Python programs that users run. */
export const PYTHON_REQUIREMENTS = ['sensors-sim/requirements.txt', 'experiments/analysis/requirements.txt'];

/** The npm packages of a lock file that are not for development only, and not part of this project. */
export function npmComponents(lock: { readonly packages: Readonly<Record<string, LockEntry>> }): Component[] {
  return Object.entries(lock.packages).flatMap(([path, entry]): Component[] => {
    const at = path.lastIndexOf(MODULES);
    if (at === -1 || entry.dev || entry.link || entry.version === undefined) return [];
    const name = entry.name ?? path.slice(at + MODULES.length);
    return [{ ecosystem: 'npm', name, version: entry.version, license: entry.license ?? null }];
  });
}

/** The packages that a requirements file pins. */
export function pinnedPackages(requirements: string): { readonly name: string; readonly version: string }[] {
  return [...requirements.matchAll(/^([A-Za-z0-9._-]+)==([^\s;\\]+)/gm)].map(([, name, version]) => ({
    name: name!,
    version: version!,
  }));
}

/** The npm and Python packages that this project uses in production. The Python licences are read from `.venv`. */
export function productionComponents(): Component[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const pinned = PYTHON_REQUIREMENTS.flatMap((file) =>
    pinnedPackages(readFileSync(join(ROOT, file), 'utf8')),
  );
  const licenses = installedLicenses();
  const python = pinned.map(({ name, version }): Component => {
    const license = licenses.get(`${normalized(name)} ${version}`) ?? null;
    return { ecosystem: 'pypi', name, version, license };
  });
  const unique = new Map([...npmComponents(lock), ...python].map((each) => [purlOf(each), each]));
  return [...unique.values()].sort((a, b) => (purlOf(a) < purlOf(b) ? -1 : 1));
}

/** The package URL (purl), which identifies a package in an SBOM. */
export function purlOf({ ecosystem, name, version }: Component): string {
  if (ecosystem === 'pypi') return `pkg:pypi/${normalized(name)}@${version}`;
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** A name of PyPI as its URLs have it (PEP 503). */
function normalized(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

function installedLicenses(): Map<string, string | null> {
  const files = globSync('.venv/lib/python3*/site-packages/*.dist-info/METADATA', { cwd: ROOT });
  return new Map(
    files.map((file) => {
      const metadata = parseMetadata(readFileSync(join(ROOT, file), 'utf8'));
      return [`${normalized(metadata.name)} ${metadata.version}`, pythonLicense(metadata)];
    }),
  );
}

/** The fields of core metadata (packaging.python.org, "Core metadata specifications") that state a licence. */
export function parseMetadata(
  text: string,
): PythonMetadata & { readonly name: string; readonly version: string } {
  const header = text.split(/\r?\n\r?\n/, 1)[0]!;
  const all = (field: string): string[] =>
    [...header.matchAll(new RegExp(`^${field}: (.*)$`, 'gm'))].map(([, value]) => value!.trim());
  return {
    name: all('Name')[0] ?? '',
    version: all('Version')[0] ?? '',
    expression: all('License-Expression')[0] ?? null,
    license: all('License')[0] ?? null,
    classifiers: all('Classifier').filter((each) => each.startsWith('License :: ')),
  };
}
