import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Board, type Boards, startBoards } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { Deployment, until } from '../deployment.ts';
import { Sensor } from '../sensor.ts';

const RATE = 100;

const started = await startOrSkip('docker', () => startBoards(3, { memory: 2 ** 30 }));
const skip = 'skip' in started ? started.skip : false;
const { boards, swarm, stop } = ('server' in started ? started.server : {}) as Boards;
const [first, second, third] = (boards ?? []) as [Board, Board, Board];
let deployment: Deployment;
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop?.();
});

const allStored = (): Promise<boolean> =>
  until('all in the store', async () => (await sensor!.missing(deployment)).length === 0);

test('three boards of 1 GB: database, broker, and one for the rest', { skip }, async () => {
  await swarm({ managers: 3 });
  deployment = await Deployment.start('postgres', [
    { board: first, roles: ['postgres'], images: ['postgres', 'tidegauge'] },
    { board: second, roles: ['broker'], images: ['mosquitto', 'tidegauge'] },
    { board: third, roles: [], images: ['tidegauge'] },
  ]);
  // On the third board, which is to be lost.
  for (const { name } of [first, second])
    await first.docker(['node', 'update', '--availability', 'pause', name]);
  for (const service of ['ingest', 'api']) {
    await first.docker([
      'service',
      'update',
      '--detach',
      '--force',
      '--no-resolve-image',
      `tidegauge_${service}`,
    ]);
    await until(`${service} on the third board`, async () => {
      const places = await deployment.placesOf(service);
      return places.length === 1 && places[0] === third;
    });
  }
  for (const { name } of [first, second])
    await first.docker(['node', 'update', '--availability', 'active', name]);
  sensor = await Sensor.connect(await deployment.addSensor(second, 'site-3'));
  await sensor.publish(1000);
  await allStored();
});

test('a board lost under load: its tasks run elsewhere, and no reading is lost', {
  skip,
}, async (context) => {
  const before = sensor!.acknowledged.size;
  const end = sensor!.stream(RATE);
  await until('readings on the way', async () => sensor!.acknowledged.size > before + RATE);
  const lost = Date.now();
  await third.kill();
  for (const service of ['ingest', 'api']) {
    await until(`${service} elsewhere`, async () => {
      const places = await deployment.placesOf(service);
      return places.length === 1 && places[0] !== third;
    });
  }
  await until('the API to answer', () => deployment.ledger());
  context.diagnostic(`ingest and API ran elsewhere after ${seconds(lost)} s`);
  await end();
  assert.equal(sensor!.acknowledged.size, sensor!.sent);
  await allStored();
});

const seconds = (since: number): string => ((Date.now() - since) / 1000).toFixed(1);
