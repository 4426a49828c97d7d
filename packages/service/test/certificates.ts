import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { TlsFiles } from '@tidegauge/service';

/** Makes a self-signed certificate for localhost and its key, with openssl. */
export function makeCertificate(folder: string, name: string): TlsFiles {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-days', '2', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', files.key, '-out', files.cert],
    ],
    { stdio: 'pipe' },
  );
  return files;
}
