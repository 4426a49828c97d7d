import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { assertMayInstall } from './install-policy.ts';
import { runInstaller } from './installer.ts';

const POLICY = '/usr/sbin/policy-rc.d';
const LOCK = '/run/lock/tidegauge-install';
const ENVIRONMENT = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
// Servers are in sbin or in separate folders, which are not on the PATH of ordinary users.
const FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'];

/**
 * The path of a program. When it is missing, its package is installed as root on Debian, with a message, unless this
 * process may not install anything.
 *
 * @param folders further folders to search
 * @throws {Error} with the command that installs it
 */
export async function findProgram(
  program: string,
  debianPackage: string,
  folders: readonly string[] = [],
): Promise<string> {
  const found = await lookUp(program, folders);
  if (found !== null) return found;
  assertMayInstall(program);
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) await installDebian([debianPackage]);
  const installed = await lookUp(program, folders);
  if (installed !== null) return installed;
  throw new Error(`${program} is not installed: on Debian, apt-get install ${debianPackage}`);
}

export async function lookUp(program: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of [...(process.env.PATH ?? '').split(':'), ...FOLDERS, ...folders]) {
    const path = join(folder, program);
    if (await access(path).then(yes, no)) return path;
  }
  return null;
}

const yes = (): boolean => true;
const no = (): boolean => false;

// 101: "not allowed"; without it a server's package starts the server on its well-known port.
const SCRIPT = `
  if ! test -e ${POLICY}; then
    trap 'rm -f ${POLICY}' EXIT
    printf '#!/bin/sh\\nexit 101\\n' > ${POLICY}
    chmod 755 ${POLICY}
  fi
  install() { apt-get -o DPkg::Lock::Timeout=600 install --yes --no-install-recommends "$@"; }
  install "$@" || { apt-get update && install "$@"; }`;

/**
 * Installs Debian packages without starting their services. A lock makes processes install one after the other, so that
 * none removes the policy file while another one needs it.
 */
export async function installDebian(packages: readonly string[]): Promise<void> {
  process.stderr.write(`Installing ${packages.join(', ')} (once)...\n`);
  const command = ['--timeout', '900', LOCK, 'sh', '-c', SCRIPT, 'sh', ...packages];
  await runInstaller(`install ${packages.join(' ')}`, 'flock', command, { env: ENVIRONMENT });
}
