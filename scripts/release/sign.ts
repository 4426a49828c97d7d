import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { ConfigError } from '@tidegauge/service/program';
import { ROOT } from '../setup.js';

/** The public keys of releasers, in the format of `ssh-keygen -Y verify`. docs/install.md has the command of users. */
const SIGNERS = join(ROOT, 'docs', 'allowed_signers');
const SIGNER = 'release';
const NAMESPACE = 'file';

/**
 * Checks before long work that users can verify what a key signs.
 *
 * @param key the file of a public key
 * @throws {ConfigError} with the line that has to be added, when `docs/allowed_signers` has not got the key
 */
export function requireSigner(key: string, signers = SIGNERS): void {
  const [type = '', encoded = ''] = readFileSync(key, 'utf8').trim().split(' ');
  if (!/^(sk-)?(ssh|ecdsa)-/.test(type))
    throw new ConfigError([`--key ${key} is no public key of ssh-keygen: name the file that ends with .pub`]);
  const line = `${SIGNER} namespaces="${NAMESPACE}" ${type} ${encoded}`;
  if (!readFileSync(signers, 'utf8').split('\n').includes(line))
    throw new ConfigError([
      `--key ${key}: users cannot verify its signatures. Commit this line in docs/allowed_signers first: ${line}`,
    ]);
}

/**
 * Signs a file with ssh-keygen, which writes the signature to FILE.sig, and verifies it as users do.
 *
 * @param key the file of a public key. The private one is beside it or in ssh-agent.
 * @throws {ProgramError} when the key is not available, or the signature is not valid
 */
export async function sign(file: string, key: string, signers = SIGNERS): Promise<void> {
  rmSync(`${file}.sig`, { force: true });
  await runProgram('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', NAMESPACE, file]);
  const who = ['-f', signers, '-I', SIGNER, '-n', NAMESPACE];
  const input = readFileSync(file);
  await runProgram('ssh-keygen', ['-Y', 'verify', ...who, '-s', `${file}.sig`], { input });
}
