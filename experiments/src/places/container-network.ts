import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The command that runs a Node program in the network of a container on a board of the lab, as `Deployment.command`. */
export type NodeCommand = (
  program: string,
  args: readonly string[],
) => { readonly command: string; readonly args: readonly string[] };

/**
 * The process id on this machine of the first process of a container.
 *
 * @param cgroup control group of the board
 * @throws {Error} when the container has ended
 */
export function containerPid(cgroup: string, container: string): number {
  const file = join(cgroup, container, 'cgroup.procs');
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
  if (pid === 0) throw new Error(`the container ${container} has ended`);
  return pid;
}

/** Reads a file of a container, as text. */
export function readInContainer(pid: number, path: string): string {
  return readFileSync(`/proc/${pid}/root${path}`, 'utf8').trim();
}

/**
 * Programs keep the files of this machine and get the network and the name servers of a container, so they resolve the
 * names of services. They run outside of the board's control group, so its memory limit does not apply to them.
 *
 * @param folder for the file with the name servers
 * @param env variables of the programs
 */
export function inNetworkOf(
  pid: number,
  folder: string,
  env: Readonly<Record<string, string>>,
  node: readonly string[],
): NodeCommand {
  const resolver = join(folder, 'resolv.conf');
  writeFileSync(resolver, `${readInContainer(pid, '/etc/resolv.conf')}\n`);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const script = 'mount --bind "$0" "$(readlink -m /etc/resolv.conf)" && exec env "$@"';
  const enter = ['--target', String(pid), '--net', 'unshare', '--mount', '--propagation', 'private'];
  return (program, args) => ({
    command: 'nsenter',
    args: [...enter, 'sh', '-c', script, resolver, ...variables, ...node, program, ...args],
  });
}
