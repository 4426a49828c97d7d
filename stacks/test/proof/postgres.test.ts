import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import type { Board } from '@tidegauge/lab/docker/boards';
import { AUTHORITY } from '../../src/stack-deployment.ts';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { assertRoundTrip } from '../round-trip.ts';
import { Sensor } from '../sensor.ts';

const RENEW_MS = 300_000;
const MESSAGES = 10_000;

const { boards, swarm, stop, skip } = await boardsOrSkip(1, { memory: 2 ** 30 });
const [board] = boards as [Board];
let deployment: Deployment;
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop();
});

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const containers = async (...more: string[]): Promise<string[]> =>
  lines(await board.docker(['ps', '--quiet', '--filter', 'name=tidegauge_', ...more]));

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

/** Of the broker and of the API. */
const serials = async (): Promise<string[]> => [await serialAt(8883), await serialAt(8080)];

test('a board of 1 GB runs the whole stack', { skip }, async () => {
  await swarm();
  deployment = await Deployment.start('postgres', [
    { board, roles: ['broker', 'postgres'], images: ['mosquitto', 'postgres', 'tidegauge'] },
  ]);
  assert.equal((await containers('--filter', 'health=healthy')).length, 5, await deployment.tasks());
});

test('all readings of a sensor outside the swarm are stored once and read back', { skip }, async () => {
  sensor = await Sensor.connect(await deployment.addSensor(board, 'site-3'));
  await assertRoundTrip(sensor, deployment, MESSAGES);
});

test('no container runs as root, or can write to the files of its image', { skip }, async () => {
  for (const container of await containers()) {
    const format = '{{.Name}} {{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{json .HostConfig.CapDrop}}';
    const [name, user, readOnly, dropped] = (await board.docker(['inspect', '-f', format, container])).split(
      ' ',
    );
    assert.match(user!, /^[1-9]\d*:[1-9]\d*$/, name);
    assert.equal(await board.docker(['exec', container, 'id', '-u']), user!.split(':')[0], name);
    assert.equal(readOnly, 'true', name);
    assert.match(dropped!, /ALL/, name);
    await assert.rejects(board.docker(['exec', container, 'touch', '/usr/file']), /Read-only file system/);
  }
});

test('outside its container the API uses HTTPS only, with a certificate for the board', {
  skip,
}, async () => {
  await serials();
  await assert.rejects(fetch(`http://${board.address}:8080/healthz`));
  await assert.rejects(fetch(`http://${board.address}:8081/healthz`));
  // From the container of another service, over their common network.
  const ingest = await board.docker(['ps', '--quiet', '--filter', 'name=tidegauge_ingest']);
  const ask = (url: string): Promise<string> =>
    board.docker(['exec', ingest, 'node', '-e', `fetch('${url}').then((a) => console.log(a.status))`]);
  await assert.rejects(ask('http://tasks.api:8081/healthz'), /ECONNREFUSED/);
  await assert.rejects(ask('http://tasks.api:8080/healthz'), /fetch failed|socket|ECONNRESET/);
});

test('three replicas of ingest share the work, and each has its own queue', { skip }, async () => {
  await board.docker(['service', 'scale', '--detach', 'tidegauge_ingest=3']);
  await deployment.settled();
  await until('their subscriptions', async () => {
    const { mqtt, instances } = (await deployment.ledger()) as unknown as Merged;
    return mqtt.connected && instances.length === 3;
  });
  await sensor!.publish(3000);
  await until('them in the store', async () => (await sensor!.missing(deployment)).length === 0);
  const { instances } = (await deployment.ledger()) as unknown as Merged;
  for (const { readings } of instances) assert.ok(readings.received > 0, JSON.stringify(instances));
});

test('a rolling update under load loses nothing', { skip }, async () => {
  const before = sensor!.acknowledged.size;
  const end = sensor!.stream(200);
  for (const service of ['ingest', 'api']) {
    const name = `tidegauge_${service}`;
    const image = await board.docker([
      'service',
      'inspect',
      '--format',
      '{{.Spec.TaskTemplate.ContainerSpec.Image}}',
      name,
    ]);
    await board.docker(['tag', image, `${name}:next`]);
    const update = ['--detach', '--no-resolve-image', '--image', `${name}:next`];
    await board.docker(['service', 'update', ...update, name]);
    await until(`the update of ${service}`, async () => {
      const status = await board.docker(['service', 'inspect', '--format', '{{.UpdateStatus.State}}', name]);
      assert.doesNotMatch(status, /rollback|paused/, await deployment.tasks());
      return status === 'completed';
    });
  }
  await end();
  await deployment.settled();
  assert.ok(sensor!.acknowledged.size > before);
  await until('all in the store', async () => (await sensor!.missing(deployment)).length === 0);
  assert.equal(sensor!.acknowledged.size, sensor!.sent);
});

test('running services get renewed certificates, also after an interrupted renewal', {
  skip,
}, async () => {
  const before = await serials();
  // The state that an interrupted renewal leaves.
  for (const kind of ['cert', 'key']) {
    await board.docker(['secret', 'create', `tidegauge_api_${kind}_next`, '-'], { input: 'not yet used' });
  }
  const renewal = board.run(['stacks/bin/secrets', '--renew'], { env: AUTHORITY, timeoutMs: RENEW_MS });
  assert.equal(await renewal, 'renewed the certificate of mosquitto\nrenewed the certificate of api');
  const renewed = await serials();
  for (const [index, serial] of renewed.entries()) assert.notEqual(serial, before[index]);
  // Ingest may not get these: mosquitto before 2.0.12 (Debian 12 has 2.0.11) loses shared subscriptions at a restart.
  await sensor!.publish(10);
  assert.doesNotMatch(await board.docker(['secret', 'ls', '--format', '{{.Name}}']), /_next/);
  // The stack files name the same secrets as before. They also name the image that the update has replaced.
  const api = await deployment.healthy('api', board);
  await deployment.deploy();
  await until('another API', async () => (await deployment.healthy('api', board)) !== api);
  assert.deepEqual(await until('its port', serials), renewed);
});

test('a removed stack leaves its data and secrets, and no containers', { skip }, async () => {
  await deployment.remove();
  await until('its containers and networks to go', async () => {
    const left = await board.docker(['ps', '--all', '--quiet']);
    return (
      left === '' && !(await board.docker(['network', 'ls', '--format', '{{.Name}}'])).includes('tidegauge_')
    );
  });
  assert.equal(await board.docker(['service', 'ls', '--quiet']), '');
  assert.equal(await board.docker(['volume', 'ls', '--format', '{{.Name}}']), 'tidegauge_ingest');
  assert.equal(await board.docker(['config', 'ls', '--format', '{{.Name}}']), 'tidegauge_ca');
  const secrets = lines(await board.docker(['secret', 'ls', '--quiet', '--filter', 'label=tidegauge=true']));
  await board.docker(['secret', 'rm', ...secrets]);
  assert.equal(await board.docker(['secret', 'ls', '--quiet']), '');
  const processes = await board.run(['sh', '-c', 'cat /proc/[0-9]*/comm | sort -u']);
  assert.doesNotMatch(processes, /shim|node|postgres|mosquitto/);
});

interface Merged {
  readonly mqtt: { readonly connected: boolean };
  readonly instances: readonly { readonly readings: { readonly received: number } }[];
}
