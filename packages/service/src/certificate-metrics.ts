import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Gauge } from 'prom-client';
import type { Metrics } from './metrics.ts';
import type { TlsFiles } from './tls.ts';

/**
 * Registers `tidegauge_certificate_expiry_timestamp_seconds`: the time at which the certificate in the file expires,
 * in seconds since 1970. A scrape reads the file. While the file has no valid certificate, the metric has no sample.
 */
export function observeCertificate(metrics: Metrics, { cert }: TlsFiles): void {
  new Gauge({
    name: 'tidegauge_certificate_expiry_timestamp_seconds',
    help: 'Time at which the certificate of this server expires, in seconds since 1970',
    registers: [metrics.registry],
    async collect() {
      this.reset();
      const expiry = await expiryOf(cert);
      if (expiry === null) this.remove();
      else this.set(expiry);
    },
  });
}

/** Seconds since 1970, or null when the file has no certificate. */
async function expiryOf(file: string): Promise<number | null> {
  try {
    return Date.parse(new X509Certificate(await readFile(file)).validTo) / 1000;
  } catch {
    return null;
  }
}
