import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Board } from '@tidegauge/lab/docker/boards';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { assertRoundTrip } from '../round-trip.ts';
import { Sensor } from '../sensor.ts';

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
