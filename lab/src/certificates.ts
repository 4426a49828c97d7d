import { chmod, chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { findProgram } from './debian.ts';

/** Paths of PEM files. */
export interface Certificates {
  /** The authority that signed `certificate`. */
  readonly authority: string;
  /** Another authority, which did not sign `certificate`. */
  readonly stranger: string;
  /** The certificate of a server on 127.0.0.1. */
  readonly certificate: string;
  readonly key: string;
  /** Key and certificate in one file. */
  readonly identity: string;
  /** Makes another user the owner of the key, so that only a server that runs as this user can read it. */
  giveTo(uid: number, gid: number): Promise<void>;
  remove(): void;
}

/** Makes a temporary certificate authority and a certificate of a server. Both are valid for two days. */
export async function makeCertificates(): Promise<Certificates> {
  const openssl = await findProgram('openssl', 'openssl');
  const directory = temporaryDirectory('certificates');
  await chmod(directory.path, 0o755);
  const file = (name: string): string => join(directory.path, name);
  const make = async (name: string, ...more: string[]): Promise<void> => {
    const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const files = ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)];
    const form = ['-days', '2', '-subj', `/CN=tidegauge lab ${name}`];
    await runProgram(openssl, ['req', '-x509', ...algorithm, ...files, ...form, ...more]);
  };
  await make('authority');
  await make('stranger');
  const signer = ['-CA', file('authority.pem'), '-CAkey', file('authority.key')];
  await make('server', ...signer, '-addext', 'subjectAltName=IP:127.0.0.1');
  const parts = await Promise.all(['key', 'pem'].map((ending) => readFile(file(`server.${ending}`), 'utf8')));
  await writeFile(file('identity.pem'), parts.join(''), { mode: 0o600 });
  return {
    authority: file('authority.pem'),
    stranger: file('stranger.pem'),
    certificate: file('server.pem'),
    key: file('server.key'),
    identity: file('identity.pem'),
    giveTo: (uid, gid) => chown(file('server.key'), uid, gid),
    remove: () => directory.remove(),
  };
}
