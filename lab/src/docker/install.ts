import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { findProgram } from '../debian.ts';
import { requireRoot } from '../root.ts';

const MEMORY_CONTROLLER = '/sys/fs/cgroup/memory/memory.limit_in_bytes';

/**
 * Makes sure that Docker engines can be started on this machine. On Debian, as root, it installs docker.io, iptables
 * and iproute2, without starting a service. Resolves to the path of the docker client to use.
 *
 * @throws {Error} with the name of the missing program
 */
export async function installDocker(): Promise<string> {
  requireRoot('the start of a Docker engine in its own namespaces');
  if (!existsSync(MEMORY_CONTROLLER)) {
    throw new Error(
      `boards are limited by the memory controller of cgroup v1, and ${MEMORY_CONTROLLER} is not there: boot with systemd.unified_cgroup_hierarchy=0`,
    );
  }
  await findProgram('dockerd', 'docker.io');
  await findProgram('iptables', 'iptables');
  await findProgram('ip', 'iproute2');
  return findClient();
}

/** The first client on the PATH with `docker stack config` (23 and later). If none has it, the first client. */
async function findClient(): Promise<string> {
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'docker'));
  const found = paths.filter((path) => existsSync(path));
  for (const path of found) {
    const hasConfig = await runProgram(path, ['stack', 'config', '--help']).then(
      ({ stdout }) => stdout.includes('stack config'),
      () => false,
    );
    if (hasConfig) return path;
  }
  return found[0] ?? findProgram('docker', 'docker.io');
}
