import { existsSync } from 'node:fs';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { runInstaller } from './installer.ts';

/** A file that is written when debootstrap has succeeded. A root without it is unpacked again. */
const COMPLETE = 'var/lib/tidegauge-unpacked';
/** The whole environment inside the root. A TMPDIR of the host, for example, does not exist there. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LC_ALL: 'C',
  DEBIAN_FRONTEND: 'noninteractive',
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(https?|no)_proxy$/i.test(name))),
};
const APT = [
  ...['-o', 'Acquire::Retries=3', '--yes', '--no-install-recommends'],
  // Mirrors can be out of date. Signatures are still checked.
  ...['-o', 'Acquire::Check-Valid-Until=false'],
  // A root that is not complete is unpacked again, so it needs no sync of each file.
  ...['-o', 'DPkg::Options::=--force-unsafe-io'],
];
/** What apt-get prints when its lists are older than the mirror. */
const OUTDATED = /Failed to fetch|Unable to (locate|fetch)|404 /;

/** A Debian system in a directory. */
export interface DebianRoot {
  /** Names of the available packages that start with `prefix`. */
  packageNames(prefix: string): Promise<readonly string[]>;
  /** Installs packages. Continues an earlier attempt that was interrupted. */
  install(...packages: readonly string[]): Promise<void>;
}

/**
 * Arguments of `unshare` for a command inside a root. Its mounts end with the command, and no other process sees them.
 * Its temporary files are inside the root.
 *
 * @param options.user the user that runs the command; default: root
 * @param options.bind a directory of the host that is mounted as /mnt
 */
export function inRoot(
  root: string,
  command: readonly string[],
  { user, bind = '' }: { readonly user?: string; readonly bind?: string } = {},
): string[] {
  const script = `
    unset TMPDIR TMP TEMP
    root=$1 bind=$2; shift 2
    if [ -n "$bind" ]; then mount --bind "$bind" "$root/mnt"; else mount -t proc proc "$root/proc"; fi
    exec chroot ${user === undefined ? '' : `--userspec=${user}:${user}`} "$root" "$@"`;
  return ['--mount', '--propagation', 'private', 'sh', '-ec', script, 'sh', root, bind, ...command];
}

/**
 * Unpacks a release of Debian into a directory, unless that has been done. Packages that an earlier attempt has
 * downloaded are not downloaded again.
 *
 * @throws {Error} when the file system has less free space than `neededBytes`
 */
export async function unpackDebian(
  release: string,
  directory: string,
  neededBytes: number,
): Promise<DebianRoot> {
  const parent = dirname(directory);
  const gigabytes = (neededBytes / 2 ** 30).toFixed(1);
  const { bavail, bsize } = await statfs(parent);
  if (bavail * bsize < neededBytes) {
    throw new Error(`Debian ${release} takes ${gigabytes} GB while it is unpacked, and ${parent} has less`);
  }
  if (!existsSync(join(directory, COMPLETE))) await debootstrap(release, directory);
  // Scripts of packages (ssl-cert) resolve the host's name, which may not be in DNS.
  await writeFile(join(directory, 'etc/hosts'), `127.0.0.1 localhost ${hostname()}\n`);
  return {
    async packageNames(prefix) {
      const command = ['apt-cache', 'pkgnames', prefix];
      const options = { env: ENVIRONMENT, extendEnv: false };
      return (await runProgram('unshare', inRoot(directory, command), options)).stdout.split('\n');
    },
    async install(...packages) {
      const apt = (what: string, ...command: readonly string[]) =>
        build(what, ['unshare', ...inRoot(directory, command)]);
      process.stderr.write(`Installing ${packages.join(', ')} in Debian ${release}...\n`);
      // Needed only after an interrupted attempt. If this fails, the installation below reports an error.
      await apt('configure packages', 'dpkg', '--configure', '-a').catch(() => {});
      const install = () =>
        apt(`install ${packages.join(' ')}`, 'apt-get', ...APT, '--fix-broken', 'install', ...packages);
      await install().catch(async (error: Error) => {
        if (!OUTDATED.test(error.message)) throw error;
        await apt('read package lists', 'apt-get', ...APT, 'update');
        await install();
      });
      await apt('remove downloaded packages', 'apt-get', 'clean');
    },
  };
}

async function debootstrap(release: string, directory: string): Promise<void> {
  const program = await findProgram('debootstrap', 'debootstrap');
  const downloaded = `${directory}.packages`;
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  await mkdir(downloaded, { recursive: true });
  process.stderr.write(`Unpacking Debian ${release} (once, 400 MB)...\n`);
  const command = [program, '--variant=minbase', `--cache-dir=${downloaded}`, release, directory];
  await build(`unpack Debian ${release}`, command);
  // Prevents services of packages from starting.
  await writeFile(join(directory, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  await writeFile(join(directory, COMPLETE), '');
  await rm(downloaded, { recursive: true });
}

/** Runs an installer that ends with this process, even if that is killed, so it cannot disturb the next attempt. */
function build(what: string, command: readonly string[]): Promise<void> {
  const tied = ['--pdeathsig=KILL', 'unshare', '--pid', '--fork', '--kill-child', '--', ...command];
  return runInstaller(what, 'setpriv', tied, { env: ENVIRONMENT });
}
