import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { ConfigError, changeFile, whyFailed } from '@tidegauge/service';

const WRITERS = 0o022;

/** A private key of Ed25519 with its public key, 64 hexadecimal digits. */
export interface SigningKey {
  readonly secret: KeyObject;
  readonly text: string;
}

/**
 * Opens the key that signs the next document of a chain. A new chain gets a new key, if there is none.
 *
 * @param expected the public key; null for a new chain
 * @throws {ConfigError} when there is another key, or none
 */
export function openKey(file: string, expected: string | null): SigningKey {
  if (existsSync(file)) {
    const key = readKey(file);
    if (expected === null || key.text === expected) return key;
    // A rotation was interrupted after its document.
    if (existsSync(nextOf(file)) && readKey(nextOf(file)).text === expected) return useNext(file);
    throw new ConfigError([
      `${file} has the key ${key.text}, and the last document expects ${expected}: restore that key, ` +
        'or move the documents to another directory and begin a new chain',
    ]);
  }
  if (expected !== null)
    throw new ConfigError([
      `there is no ${file}, which the last document expects: restore the key ${expected}`,
    ]);
  return makeKey(file);
}

/** Makes the key that follows another one. `useNext` replaces the other one, when a document names this key. */
export function makeNext(file: string): SigningKey {
  return makeKey(nextOf(file));
}

export function useNext(file: string): SigningKey {
  renameSync(nextOf(file), file);
  return readKey(file);
}

function nextOf(file: string): string {
  return `${file}.next`;
}

function makeKey(file: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  changeFile(file, () => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return { secret: privateKey, text: textOf(privateKey) };
}

function readKey(file: string): SigningKey {
  try {
    if ((statSync(file).mode & WRITERS) !== 0)
      throw new Error(`other users of this machine can change it: chmod 600 ${file}`);
    const secret = createPrivateKey(readFileSync(file));
    if (secret.asymmetricKeyType !== 'ed25519') throw new Error('it is not a private key of Ed25519');
    return { secret, text: textOf(secret) };
  } catch (error) {
    throw new ConfigError([`the key ${file} cannot be used: ${whyFailed(error)}`]);
  }
}

/** The public key, 64 hexadecimal digits. */
function textOf(secret: KeyObject): string {
  const { x } = createPublicKey(secret).export({ format: 'jwk' });
  return Buffer.from(x!, 'base64url').toString('hex');
}
