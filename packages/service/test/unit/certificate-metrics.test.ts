import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Metrics, observeCertificate } from '@tidegauge/service';
import { makeCertificate } from '../certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'certificate-metrics-'));
after(() => rmSync(folder, { recursive: true }));

const NAME = 'tidegauge_certificate_expiry_timestamp_seconds';
const DAY_SECONDS = 86_400;

test('a scrape has the expiry time of the certificate, and no sample without a certificate', async () => {
  const files = makeCertificate(folder, 'server');
  const metrics = new Metrics();
  observeCertificate(metrics, files);
  const sample = async (): Promise<number | null> => {
    const text = await metrics.registry.metrics();
    const value = new RegExp(`^${NAME} (\\S+)$`, 'm').exec(text)?.[1];
    return value === undefined ? null : Number(value);
  };
  // makeCertificate makes a certificate that is valid for two days.
  const inTwoDays = Date.now() / 1000 + 2 * DAY_SECONDS;
  assert.ok(Math.abs((await sample())! - inTwoDays) < 60);
  writeFileSync(files.cert, 'not a certificate');
  assert.equal(await sample(), null);
  makeCertificate(folder, 'server');
  assert.ok(Math.abs((await sample())! - inTwoDays) < 60);
});
