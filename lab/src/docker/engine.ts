import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchServer, type ServerProcess } from '@tidegauge/process';
import { makeCgroup } from './cgroup.ts';

const SCRIPT = fileURLToPath(new URL('board.sh', import.meta.url));
// One engine needs about a second. Several may start at once on a busy machine.
const READY_MS = 60_000;
/** The folders with the disks of a board: of its engine, for data, and of the programs of containerd. */
export const DISKS = ['data', 'mnt', 'opt', 'opt.work'];

/** The properties of a board. */
export interface EngineOptions {
  /** Its host name. */
  readonly name: string;
  /** The folder of its files: its disks, which stay when the process ends, and `docker.sock`. */
  readonly folder: string;
  readonly bridge: string;
  /** An address in the /24 network of the bridge. null: the engine uses the network of this machine. */
  readonly address: string | null;
  readonly gateway: string;
  /** Control group of the engine and all its containers: a path that is valid in every controller. */
  readonly cgroup: string;
  /** Memory limit of that group, in bytes. null: no limit. */
  readonly memory: number | null;
}

/**
 * Starts a Docker engine as a board. It runs in separate namespaces, so that all processes on the board end when the
 * engine ends for any reason. The engine ends with this process, even if that is killed.
 */
export function startEngine(options: EngineOptions): Promise<ServerProcess> {
  const { name, folder, bridge, address, gateway, cgroup, memory } = options;
  // Made here and not by the script: a late script would make directories again after their removal.
  for (const disk of DISKS) mkdirSync(join(folder, disk), { recursive: true });
  makeCgroup(cgroup, memory);
  const namespaces = ['--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child', '--mount-proc'];
  return launchServer({
    name: `the Docker engine of ${name}`,
    command: 'setpriv',
    args: [
      ...['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'sh', SCRIPT],
      ...[
        name,
        folder,
        bridge,
        address === null ? 'machine' : `${address}/24`,
        gateway,
        cgroup,
        String(memory ?? 'max'),
      ],
    ],
    ready: () => answersPing(join(folder, 'docker.sock')),
    readyMs: READY_MS,
  });
}

function answersPing(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: 1000 });
    const finish = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('connect', () => socket.write('GET /_ping HTTP/1.0\r\n\r\n'));
    socket.on('data', (data) => finish(data.toString('latin1').includes(' 200 ')));
    socket.on('timeout', () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
  });
}
