import { after, test } from 'node:test';
import type { Board } from '@tidegauge/lab/docker/boards';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { assertRoundTrip } from '../round-trip.ts';
import { Sensor } from '../sensor.ts';

const MESSAGES = 10_000;
// Compiles less, because it must start soon and runs for a short time.
const QUICK = {
  CASSANDRA_JVM_OPTIONS: '-Dcassandra.skip_wait_for_gossip_to_settle=0 -XX:TieredStopAtLevel=1',
};

const { boards, swarm, stop, skip } = await boardsOrSkip(2, { memory: 2 ** 30 });
const [first, second] = boards as [Board, Board];
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop();
});

test('readings of a sensor are stored in Cassandra on a separate board, and read back', {
  skip,
}, async () => {
  await swarm();
  const places = [
    { board: first, roles: ['broker'], images: ['mosquitto', 'tidegauge'] },
    { board: second, roles: ['cassandra=seed'], images: ['cassandra', 'tidegauge'] },
  ] as const;
  const deployment = await Deployment.start('cassandra', places, QUICK);
  sensor = await Sensor.connect(await deployment.addSensor(first, 'site-3'));
  await assertRoundTrip(sensor, deployment, MESSAGES);
});
