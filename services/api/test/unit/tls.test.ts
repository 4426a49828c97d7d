import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '@tidegauge/lab';
import { createLogger, loadConfig } from '@tidegauge/service';
import { makeCertificate } from '../../../../packages/service/test/certificates.ts';
import { API_SCHEMA } from '../../src/config.ts';
import { startApi } from '../../src/service.ts';

test('with a certificate the API serves HTTPS, and plain HTTP on its loopback port only', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-api-tls-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { cert, key } = makeCertificate(folder, 'api');
  const plainPort = await freePort();
  const settings = {
    STORE: `sqlite:${folder}/test.db`,
    HTTP_LISTEN: '0.0.0.0',
    HTTP_PORT: '0',
    HTTP_TLS_CERT: cert,
    HTTP_TLS_KEY: key,
    HTTP_PLAIN_PORT: String(plainPort),
    API_TOKEN: 'sixteen characters',
  };
  const api = await startApi(loadConfig(API_SCHEMA, [], settings), createLogger('api', 'silent'));
  try {
    const { port, protocol } = new URL(api.url);
    assert.equal(protocol, 'https:');
    const ca = readFileSync(cert);
    const status = await new Promise((resolve, reject) => {
      get(`https://localhost:${port}/healthz`, { ca }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
    assert.equal(status, 200);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`));
    assert.equal((await fetch(`http://127.0.0.1:${plainPort}/healthz`)).status, 200);
    const removal = await fetch(`http://127.0.0.1:${plainPort}/v1/devices/site-3`, { method: 'DELETE' });
    assert.equal(removal.status, 401, 'the token is needed there too');
    const foreign = await new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: plainPort, headers: { host: 'pages.example.org' } };
      getPlain(options, (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    assert.equal(foreign, 421);
    // The plain port is not open on another address of this machine.
    await assert.rejects(fetch(`http://127.0.0.2:${plainPort}/healthz`));
  } finally {
    await api.stop();
  }
});
