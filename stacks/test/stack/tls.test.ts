import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import type { Board } from '@tidegauge/lab/docker/boards';
import { AUTHORITY } from '../../src/stack-deployment.ts';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { Sensor } from '../sensor.ts';

const RENEW_MS = 300_000;

const { boards, swarm, stop, skip } = await boardsOrSkip(1, { memory: 2 ** 30 });
const [board] = boards as [Board];
let deployment: Deployment;
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop();
});

/** The serial number of a port's certificate. It must be from the authority and for the address of the board. */
async function serialAt(port: number): Promise<string> {
  const ca = await deployment.authority();
  return new Promise((resolve, reject) => {
    const socket = connect({ host: board.address, port, ca, timeout: 5000 });
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error('no TLS within 5 s')));
  });
}

const serials = async (): Promise<string[]> => [await serialAt(8883), await serialAt(8080)];
const renew = (): Promise<string> =>
  board.run(['stacks/bin/secrets', '--renew'], { env: AUTHORITY, timeoutMs: RENEW_MS });
const secretNames = async (): Promise<string> => board.docker(['secret', 'ls', '--format', '{{.Name}}']);

/** Publishes until a message is in the store. */
async function arrival(): Promise<void> {
  await until('a message in the store', async () => {
    await sensor!.publish(1);
    return (await sensor!.stored(deployment)).has(sensor!.sent - 1);
  });
}

test('outside its container the API uses HTTPS only, with a certificate for the board', {
  skip,
}, async () => {
  await swarm();
  // Without --host, the certificate has the addresses of the swarm's boards.
  deployment = await Deployment.start('sqlite', [
    { board, roles: ['broker', 'sqlite'], images: ['mosquitto', 'tidegauge'] },
  ]);
  sensor = await Sensor.connect(await deployment.addSensor(board, 'site-3'));
  await arrival();
  await serialAt(8080);
  await assert.rejects(fetch(`http://${board.address}:8080/healthz`));
  await assert.rejects(fetch(`http://${board.address}:8081/healthz`));
  // From the container of another service, over their common network.
  const ingest = await board.docker(['ps', '--quiet', '--filter', 'name=tidegauge_ingest']);
  const ask = (url: string): Promise<string> =>
    board.docker(['exec', ingest, 'node', '-e', `fetch('${url}').then((a) => console.log(a.status))`]);
  await assert.rejects(ask('http://tasks.api:8081/healthz'), /ECONNREFUSED/);
  await assert.rejects(ask('http://tasks.api:8080/healthz'), /fetch failed|socket|ECONNRESET/);
});

test('running services get renewed certificates, also after an interrupted renewal', {
  skip,
}, async () => {
  const before = await serials();
  // The state that an interrupted renewal leaves.
  for (const kind of ['cert', 'key']) {
    await board.docker(['secret', 'create', `tidegauge_api_${kind}_next`, '-'], { input: 'not yet used' });
  }
  assert.equal(await renew(), 'renewed the certificate of mosquitto\nrenewed the certificate of api');
  const renewed = await serials();
  for (const [index, serial] of renewed.entries()) assert.notEqual(serial, before[index]);
  // Ingest may not get these: mosquitto before 2.0.12 (Debian 12 has 2.0.11) loses shared subscriptions at a restart.
  await sensor!.publish(10);
  assert.doesNotMatch(await secretNames(), /_next/);
  // The stack files name the same secrets as before.
  await deployment.deploy();
  assert.deepEqual(await serials(), renewed);
});
