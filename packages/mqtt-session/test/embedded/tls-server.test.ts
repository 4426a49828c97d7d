import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { makeCertificates } from '@tidegauge/lab/certificates';
import mqttPacket from 'mqtt-packet';
import { SensorConnection } from '../../src/server/sensor-connection.ts';
import { ANYONE, serve } from '../support/serve.ts';
import { until } from '../support/wait.ts';

async function makePair(context: TestContext) {
  const { certificate, key, authority, remove } = await makeCertificates();
  context.after(remove);
  const [cert, secret, ca] = [certificate, key, authority].map((file) => readFileSync(file, 'utf8'));
  return { cert: cert!, key: secret!, ca: ca! };
}

async function serveTls(context: TestContext) {
  const served = await serve(context, { user: async ({ username }) => ({ ...ANYONE, name: username }) });
  const pair = await makePair(context);
  const { port, renew } = await served.server.listen({ host: '127.0.0.1', port: 0, tls: pair });
  return { ...served, port, renew, ca: pair.ca };
}

function hello(username: string): Buffer {
  const packet = {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    keepalive: 0,
  } as const;
  return mqttPacket.generate({ ...packet, clientId: username, username, password: Buffer.from('x') });
}

async function loginTls(port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  socket.on('error', () => {});
  socket.write(hello('innocent'));
  await once(socket, 'data', { signal: AbortSignal.timeout(5000) });
  return socket;
}

test('half-open TLS handshakes are bounded, end in time, and do not keep another address out', async (context) => {
  const { server, port } = await serveTls(context);
  const sockets: Socket[] = [];
  context.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let number = 0; number < 1000; number++) {
    const socket = connectTcp({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (number % 10)}` });
    socket.on('error', () => {});
    sockets.push(socket);
  }
  await until('some gave way', () => server.stats.ended.connections > 0);
  const socket = await loginTls(port, { localAddress: '127.0.0.200' });
  // Those that gave way may not be closed yet.
  assert.ok(server.connections < 600, `${server.connections}`);
  socket.destroy();
});

test('a session of TLS is resumed, and a renewed certificate is used for new connections', async (context) => {
  const { port, renew, ca } = await serveTls(context);
  const first = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  const session = once(first, 'session');
  first.write(hello('one'));
  const [ticket] = (await session) as [Buffer];
  const before = first.getPeerCertificate().fingerprint256;
  first.destroy();
  const second = await loginTls(port, { session: ticket });
  assert.equal(second.isSessionReused(), true);
  second.destroy();
  renew({ ...(await makePair(context)), ca });
  const third = await loginTls(port);
  assert.notEqual(third.getPeerCertificate().fingerprint256, before);
  third.destroy();
});

test('connections with TLS leave nothing in memory, however they end', async (context) => {
  const { server, port } = await serveTls(context);
  for (let number = 0; number < 10; number++) {
    const raw = connectTcp({ port, host: '127.0.0.1' });
    raw.on('error', () => {});
    (await loginTls(port, { socket: raw })).on('error', () => {});
    if (number % 2 === 0) raw.resetAndDestroy();
    else raw.end();
  }
  await until('they are closed', () => server.connections === 0);
  // V8 can still have the last ones.
  const left = Number(queryObjects(SensorConnection));
  assert.ok(left < 5, `${left} are left`);
});
