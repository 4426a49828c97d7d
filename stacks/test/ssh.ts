import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Board } from '@tidegauge/lab/docker/boards';

/** How root logs in to boards: with a key, by a real sshd on each of them. */
export class Ssh {
  /** The folder of `ssh` and `ssh-keygen` with the key and the list of known boards. It belongs first in PATH. */
  readonly programs: string;
  readonly #folder: string;

  /** @param folder where all boards find its files */
  constructor(folder: string) {
    this.#folder = folder;
    this.programs = this.#file('bin');
    mkdirSync(this.programs);
    const known = this.#file('known');
    // A board is known from its first login on. Its key must not change then.
    const strict = `-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=${known} -o LogLevel=ERROR`;
    this.#program('ssh', `-F none -i ${this.#makeKey('user')} ${strict}`);
    this.#program('ssh-keygen', `-f ${known}`);
  }

  /** Starts sshd on a board, with a new key. */
  async serve(board: Board): Promise<void> {
    const config = this.#file(`${board.name}.conf`);
    writeFileSync(
      config,
      [
        `ListenAddress ${board.address}`,
        `HostKey ${this.#makeKey(board.name)}`,
        `AuthorizedKeysFile ${this.#file('user.pub')}`,
        ...['PermitRootLogin prohibit-password', 'PasswordAuthentication no', 'StrictModes no'],
        ...['UsePAM no', 'PidFile none', ''],
      ].join('\n'),
    );
    await board.run(['sh', '-c', `mkdir -p /run/sshd && $(command -v /usr/sbin/sshd) -f ${config}`]);
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }

  #makeKey(name: string): string {
    const key = this.#file(name);
    for (const part of [key, `${key}.pub`]) rmSync(part, { force: true });
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    return key;
  }

  #program(name: string, options: string): void {
    const file = join(this.programs, name);
    writeFileSync(file, `#!/bin/sh\nexec /usr/bin/${name} ${options} "$@"\n`);
    chmodSync(file, 0o755);
  }
}
