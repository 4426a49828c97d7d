import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from './logger.ts';
import { ConfigError } from './program/config-error.ts';
import { whyFailed } from './program/why-failed.ts';
import { poll } from './watch-file.ts';

/** PEM files of a server: its certificate chain and its private key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** What a server needs for HTTPS. */
export interface Tls {
  readonly files: TlsFiles;
  /** Logs each renewed certificate, and each one that cannot be used. */
  readonly logger: Logger;
  /** How often the files are read again. */
  readonly pollMs?: number;
}

/** The contents of certificate and key. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

interface Server {
  setSecureContext(options: SecureContextOptions): void;
}

export const TLS_OPTIONS = { minVersion: 'TLSv1.2' } as const;

const POLL_MS = 5000;

/**
 * The TLS files of two settings; null when neither is set.
 *
 * @throws {ConfigError} when only one is set
 */
export function tlsFiles(cert: string | null, key: string | null, prefix = 'HTTP_TLS'): TlsFiles | null {
  if (cert === null && key === null) return null;
  if (cert !== null && key !== null) return { cert, key };
  const [has, lacks] = cert === null ? ['KEY', 'CERT'] : ['CERT', 'KEY'];
  throw new ConfigError([
    `${prefix}_${has} is set and ${prefix}_${lacks} is not: HTTPS needs both, plain HTTP neither`,
  ]);
}

/**
 * Reads certificate and key, and checks that they match.
 *
 * @throws {ConfigError} with the file and the problem
 */
export async function readPair(files: TlsFiles): Promise<Pair> {
  const [cert, key] = await Promise.all([
    read(files.cert, 'the certificate'),
    read(files.key, 'the private key'),
  ]);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem =
      code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'
        ? 'they do not belong together'
        : `they are not a certificate and its private key in PEM format (${message})`;
    throw new ConfigError([`certificate ${files.cert} and key ${files.key}: ${problem}`]);
  }
  return { cert, key };
}

async function read(file: string, what: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError([`${what} ${file} cannot be read: ${whyFailed(error)}`]);
  });
  // Node ignores an empty text: the server would have no certificate.
  if (text === '') throw new ConfigError([`${what} ${file} is empty`]);
  return text;
}

/**
 * Reloads the certificate of a server when its files change, without a restart. New connections use it; open
 * connections continue. When the files cannot be used, for example because the new key is not there yet, the server
 * keeps its certificate. Returns a function that ends the watch.
 */
export function watchPair(server: Server, pair: Pair, { files, logger, pollMs = POLL_MS }: Tls): () => void {
  let current = pair;
  let complained = '';
  const look = async (): Promise<void> => {
    try {
      const next = await readPair(files);
      complained = '';
      if (next.cert === current.cert && next.key === current.key) return;
      server.setSecureContext({ ...next, ...TLS_OPTIONS });
      current = next;
      logger.info({ certificate: files.cert }, 'certificate renewed');
    } catch (error) {
      const { message } = error as Error;
      if (message !== complained) logger.error({ reason: message }, 'the renewed certificate cannot be used');
      complained = message;
    }
  };
  return poll(look, pollMs);
}
