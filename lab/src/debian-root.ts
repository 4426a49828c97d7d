import { existsSync } from 'node:fs';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { findProgram } from './debian.ts';
import { runInstaller } from './installer.ts';

/** Written when debootstrap has succeeded; a root without it is unpacked again. */
const COMPLETE = 'var/lib/tidegauge-unpacked';
/** Packages find only these: a TMPDIR of the host does not exist inside. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LC_ALL: 'C',
  DEBIAN_FRONTEND: 'noninteractive',
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(https?|no)_proxy$/i.test(name))),
};
const APT = [
  ...['-o', 'Acquire::Retries=3', '--yes', '--no-install-recommends'],
  // Mirrors lag behind; signatures are checked all the same.
  ...['-o', 'Acquire::Check-Valid-Until=false'],
];
/** What apt-get prints when its lists are older than the mirror. */
const OUTDATED = /Failed to fetch|Unable to (locate|fetch)|404 /;

/** A Debian system in a directory. */
export interface DebianRoot {
  /** Names of the packages it could install that begin so. */
  packageNames(prefix: string): Promise<readonly string[]>;
  /** Installs packages; goes on where an attempt before has stopped. */
  install(...packages: readonly string[]): Promise<void>;
}

/**
 * Arguments of `unshare` for a command inside a root. Its mounts end with it, and nobody else sees them; temporary
 * files are the root's own.
 *
 * @param options.user who runs it; default: root
 * @param options.bind a directory of the host that it sees as /mnt
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
 * Unpacks a release of Debian into a directory, unless that has been done; packages that an attempt before has
 * downloaded are not downloaded again.
 *
 * @throws {Error} when there is less room than `neededBytes`
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
  // Scripts of packages ask for the host's name (ssl-cert), which DNS need not know.
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
      // Needed only after an attempt that was cut off; whether it succeeds, the installation shows.
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
  // Services of packages are not to start.
  await writeFile(join(directory, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  await writeFile(join(directory, COMPLETE), '');
  await rm(downloaded, { recursive: true });
}

/** Runs an installer that ends with this process, however it ends: the next attempt then has the root alone. */
function build(what: string, command: readonly string[]): Promise<void> {
  const tied = ['--pdeathsig=KILL', 'unshare', '--pid', '--fork', '--kill-child', '--', ...command];
  return runInstaller(what, 'setpriv', tied, { env: ENVIRONMENT });
}
