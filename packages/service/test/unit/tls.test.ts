import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { ConfigError, createLogger, listen, tlsFiles } from '@tidegauge/service';
import { makeCertificate } from '../certificates.ts';

const POLL_MS = 20;
const WAIT_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-tls-'));
after(() => rmSync(folder, { recursive: true }));
const first = makeCertificate(folder, 'first');
const second = makeCertificate(folder, 'second');

const logger = createLogger('test', 'silent');
const app = (_request: unknown, response: { end(text: string): unknown }): void => void response.end('hello');
const start = (files = first) => listen(app, '127.0.0.1', 0, '--port', { files, logger, pollMs: POLL_MS });

/** The name in the certificate that a new connection receives. */
function nameAt(port: number, options = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

async function untilNamed(port: number, name: string): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; (await nameAt(port)) !== name; await delay(POLL_MS)) {
    assert.ok(Date.now() < deadline, `no certificate of ${name} within ${WAIT_MS} ms`);
  }
}

test('a server with a certificate answers over HTTPS and refuses plain HTTP', async () => {
  const server = await start();
  try {
    assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const ca = readFileSync(first.cert);
    const text = await new Promise<string>((resolve, reject) => {
      get(`https://localhost:${server.port}/`, { ca }, async (response) =>
        resolve((await response.toArray()).join('')),
      ).on('error', reject);
    });
    assert.equal(text, 'hello');
    await assert.rejects(fetch(`http://127.0.0.1:${server.port}/`));
    await assert.rejects(nameAt(server.port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }));
  } finally {
    await server.close(0);
  }
});

test('a renewed certificate is used without a restart, and only with its key', async () => {
  const files = { cert: join(folder, 'live.pem'), key: join(folder, 'live.key') };
  copyFileSync(first.cert, files.cert);
  copyFileSync(first.key, files.key);
  const server = await start(files);
  try {
    assert.equal(await nameAt(server.port), 'first');
    copyFileSync(second.cert, files.cert);
    await delay(10 * POLL_MS);
    assert.equal(await nameAt(server.port), 'first');
    copyFileSync(second.key, files.key);
    await untilNamed(server.port, 'second');
    writeFileSync(files.cert, 'nothing that is a certificate');
    await delay(10 * POLL_MS);
    assert.equal(await nameAt(server.port), 'second');
    // A program that writes the files empties them first.
    for (const file of [files.cert, files.key]) writeFileSync(file, '');
    await delay(10 * POLL_MS);
    assert.equal(await nameAt(server.port), 'second');
    copyFileSync(first.key, files.key);
    copyFileSync(first.cert, files.cert);
    await untilNamed(server.port, 'first');
  } finally {
    await server.close(0);
  }
});

test('unusable files are configuration mistakes, and the message contains their names', async () => {
  const empty = join(folder, 'empty.pem');
  writeFileSync(empty, '');
  const mistakes: [{ cert: string; key: string }, RegExp][] = [
    [
      { ...first, cert: join(folder, 'absent.pem') },
      /^the certificate .*absent\.pem cannot be read: there is no such file/,
    ],
    [{ ...first, key: second.key }, /first\.pem and key .*second\.key: they do not belong together$/],
    [{ ...first, key: empty }, /^the private key .*empty\.pem is empty$/],
    [{ cert: first.key, key: first.key }, /first\.key: they are not a certificate and its private key/],
  ];
  for (const [files, message] of mistakes) {
    await assert.rejects(start(files), (error: Error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /PRIVATE KEY/);
      return true;
    });
  }
  assert.throws(() => tlsFiles('a.pem', null), /HTTP_TLS_CERT is set and HTTP_TLS_KEY is not/);
  assert.throws(() => tlsFiles(null, 'a.key'), /HTTP_TLS_KEY is set and HTTP_TLS_CERT is not/);
  assert.equal(tlsFiles(null, null), null);
});

test('also with TLS, only connections without a pending request are closed in favour of new ones', async () => {
  const slow = (_request: unknown, response: ServerResponse) =>
    void setTimeout(() => response.end('late'), 300);
  const tls = { files: first, logger };
  const server = await listen(slow, '127.0.0.1', 0, '--port', tls, { connections: 2, perClient: 2 });
  try {
    const ask = () =>
      new Promise<string>((resolve) => {
        get(server.url, { rejectUnauthorized: false, agent: false }, async (response) =>
          resolve((await response.toArray()).join('')),
        ).on('error', (error) => resolve(error.message));
      });
    const busy = ask();
    await delay(100);
    const [idle, silent] = [await connection(server.port), await connection(server.port)];
    assert.equal(await busy, 'late');
    assert.equal(await ask(), 'late');
    idle.destroy();
    silent.destroy();
  } finally {
    await server.close(0);
  }
});

/** Opens a TLS connection that sends no request. */
async function connection(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}
