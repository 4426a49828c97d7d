import { existsSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { StoreError } from './errors.ts';

/** The npm packages that only one store needs, by its scheme. They are installed where the store is used. */
export const STORE_DRIVERS: Readonly<Record<string, readonly string[]>> = {
  mariadb: ['mariadb'],
  cassandra: ['cassandra-driver'],
  mongodb: ['mongodb'],
  postgres: ['pg', 'pg-copy-streams'],
  citus: ['pg', 'pg-copy-streams'],
};

/**
 * Loads the module of a store.
 *
 * @throws {StoreError} MISCONFIGURED when its driver is not installed. The hint has the command that installs the
 * version that the store is tested with, beside the Tidegauge that `directory` belongs to.
 */
export async function loadBackend<T>(
  scheme: string,
  load: () => Promise<T>,
  directory = import.meta.dirname,
): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const drivers = STORE_DRIVERS[scheme] ?? [];
    const { code, message } = error as NodeJS.ErrnoException;
    const isDriver = drivers.some((name) => message.includes(`'${name}'`));
    if (code !== 'ERR_MODULE_NOT_FOUND' || !isDriver) throw error;
    const packages = drivers.map((name) => `${name}@${versions()[name]}`).join(' ');
    throw new StoreError('MISCONFIGURED', `the driver of ${scheme} is not installed`, {
      hint: `install it where Tidegauge is installed: npm install ${placeOf(directory)} ${packages}`,
    });
  }
}

/** The option with which npm installs a package beside Tidegauge, because Node.js looks for drivers only there. */
function placeOf(directory: string): string {
  // Above an installation in a folder, also one of npx, npm keeps a package.json, and above a global one it keeps none.
  const [folder = '', inside] = directory.split(join(sep, 'node_modules', 'tidegauge', sep));
  if (inside === undefined || !existsSync(join(folder, 'package.json'))) return '--global';
  return `--prefix "${folder}"`;
}

/** The versions of the drivers, exact. */
function versions(): Readonly<Record<string, string>> {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return manifest.dependencies;
}
