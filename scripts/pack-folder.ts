import { basename, dirname } from 'node:path';
import { runProgram } from '@tidegauge/process';

const PACK_MS = 300_000;

/**
 * Writes a folder to a `.tar.gz`, with its name as the first part of each path. The same files give the same bytes.
 * `npm pack` does not: modes in its archive depend on the umask.
 *
 * @param time the time of all files, in seconds since 1970
 */
export async function packFolder(folder: string, file: string, time: number): Promise<void> {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  const order = ['--format=gnu', '--sort=name', `--mtime=@${time}`];
  const compress = '--use-compress-program=gzip -9n';
  const args = [...order, ...owner, compress, '-cf', file, '-C', dirname(folder), basename(folder)];
  await runProgram('tar', args, { timeoutMs: PACK_MS });
}
