import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { StoreError } from './errors.ts';

/**
 * Reads the certificate of the authority (PEM) from the file that an option of a URL names.
 * @throws {StoreError} MISCONFIGURED with the name of the option, if the file cannot be read.
 */
export async function readAuthority(path: string, option: string): Promise<string> {
  try {
    const pem = await readFile(path, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (cause) {
    throw new StoreError('MISCONFIGURED', `${option}: ${(cause as Error).message}`, {
      hint: `set ${option} to a PEM file that this user can read`,
      cause,
    });
  }
}

/** Codes of Node's errors for certificates that were not accepted. */
const REFUSED = /^(?:ERR_TLS_CERT|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/;

/** Whether a connection failed because this side does not trust the server's certificate. */
export function isUntrusted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && REFUSED.test(String(error.code));
}
