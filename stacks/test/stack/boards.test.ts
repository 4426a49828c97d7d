import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Board } from '@tidegauge/lab/docker/boards';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { Sensor } from '../sensor.ts';

const RATE = 100;
const QUEUED = 1000;

const { boards, swarm, stop, skip } = await boardsOrSkip(3, { memory: 2 ** 30 });
const [first, second, third] = boards as [Board, Board, Board];
let deployment: Deployment;
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop();
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
  // On the third board, which the next test kills.
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

test('when a board is lost under load, its tasks run on other boards, and no reading is lost', {
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

test('when the broker’s board is lost, stored readings stay, and the readings that the broker lost are listed', {
  skip,
}, async (context) => {
  await third.start();
  // Ingest does not run now, so only the broker has these messages.
  await first.docker(['service', 'scale', '--detach', 'tidegauge_ingest=0']);
  for (const board of boards) {
    const running = ['ps', '--quiet', '--filter', 'name=tidegauge_ingest'];
    await until('ingest to end', async () => (await board.docker(running)) === '');
  }
  const before = await sensor!.stored(deployment);
  await sensor!.publish(QUEUED);
  // The broker also does this every minute.
  const earlier = await savedAt().catch(() => null);
  await second.run(['sh', '-c', SAVE]);
  await until('the queue on disk', async () => (await savedAt()) !== earlier);
  await sensor!.publish(QUEUED);
  await second.kill();
  const accepted = sensor!.acknowledged.size;

  const back = Date.now();
  await second.start();
  await first.docker(['service', 'scale', '--detach', 'tidegauge_ingest=1']);
  await deployment.settled();
  // Then publish again: before 2.0.12 (Debian 12 has 2.0.11) mosquitto restores a shared subscription when its client
  // connects, and drops messages that are published before.
  const saved = accepted - 2 * QUEUED;
  await until('what was saved in the store', () => isStored(saved, QUEUED));
  context.diagnostic(`what the broker had saved was stored ${seconds(back)} s after its board had power`);
  await sensor!.publish(RATE);
  await until('the newest in the store', () => isStored(accepted, RATE));
  const after = await sensor!.stored(deployment);
  for (const number of before) assert.ok(after.has(number), `message ${number} was in the store`);
  const lost = await sensor!.missing(deployment);
  context.diagnostic(
    `of ${2 * QUEUED} messages that the broker alone had, ${QUEUED} saved, ${lost.length} were lost with its board`,
  );
  // Only messages that arrived after the last save.
  assert.deepEqual(
    lost,
    Array.from({ length: QUEUED }, (_, index) => accepted - QUEUED + index).filter(
      (number) => !after.has(number),
    ),
  );
  const { gaps } = await deployment.ledger();
  assert.equal(gaps.missing, lost.length);
});

const SAVE = `for p in /proc/[0-9]*; do
  case $(cat $p/comm) in mosquitto) kill -USR1 \${p#/proc/} ;; esac
done`;

async function isStored(first: number, count: number): Promise<boolean> {
  const stored = await sensor!.stored(deployment);
  return Array.from({ length: count }, (_, index) => first + index).every((number) => stored.has(number));
}

/** When the broker last wrote its queues. */
const savedAt = (): Promise<string> => second.run(['stat', '-c', '%y', '/mnt/mosquitto/mosquitto.db']);

const seconds = (since: number): string => ((Date.now() - since) / 1000).toFixed(1);
