import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findProgram, temporaryDirectory } from '@tidegauge/lab';
import type { Board } from '@tidegauge/lab/docker/boards';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { until } from '../../src/until.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { Deployment } from '../deployment.ts';
import { Sensor } from '../sensor.ts';
import { Ssh } from '../ssh.ts';
import { commandsOf } from '../stack-files.ts';

const RATE = 100;
const QUEUED = 1000;
/** The boards have the images of the project under this name, so `stacks/bin/images` copies them and builds none. */
const REGISTRY = 'registry.invalid/';

const { boards, swarm, stop, skip } = await boardsOrSkip(3, { memory: 2 ** 30 });
const [first, second, third] = boards as [Board, Board, Board];
const folder = temporaryDirectory('boards');
let deployment: Deployment;
let sensor: Sensor | undefined;
after(async () => {
  await sensor?.end();
  await stop();
  folder.remove();
});

const allStored = (of = sensor!): Promise<boolean> =>
  until('all in the store', async () => (await of.missing(deployment)).length === 0);

/** Has ingest and the API run on a board. */
async function moveTo(board: Board): Promise<void> {
  const others = boards.filter((each) => each !== board);
  const setOthers = async (availability: string): Promise<void> => {
    for (const { name } of others)
      await first.docker(['node', 'update', '--availability', availability, name]);
  };
  const isThere = async (service: string): Promise<boolean> => {
    const places = await deployment.placesOf(service);
    return places.length === 1 && places[0] === board;
  };
  await setOthers('pause');
  for (const service of ['ingest', 'api']) {
    if (await isThere(service)) continue;
    const update = ['service', 'update', '--detach', '--force', '--no-resolve-image'];
    await first.docker([...update, `tidegauge_${service}`]);
    await until(`${service} on ${board.name}`, () => isThere(service));
  }
  await setOthers('active');
}

test('three boards of 1 GB: database, broker, and one for the rest', { skip }, async () => {
  await swarm({ managers: 3 });
  const options = {
    parts: ['backup'],
    env: { TIDEGAUGE_REGISTRY: REGISTRY, TIDEGAUGE_BACKUPS: '/mnt/backups', BACKUP_EVERY: '5s' },
  };
  // The last test runs commands of the second board that send other boards what they lack.
  const images = ['mosquitto', 'postgres', 'tidegauge'] as const;
  const places = [
    { board: first, roles: ['postgres'], images: ['postgres', 'tidegauge'] as const },
    { board: second, roles: ['broker'], images },
    { board: third, roles: ['backup'], images },
  ];
  deployment = await Deployment.start('postgres', places, options);
  // The board that the next test kills.
  await moveTo(third);
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

test('when the database’s board is lost, the steps of the guide replace it, and ingest loses nothing', {
  skip,
}, async (context) => {
  const sshd = await startOrSkip('sshd', () => findProgram('sshd', 'openssh-server'));
  if ('skip' in sshd) return context.skip(sshd.skip);
  const ssh = new Ssh(folder.path);
  const env = { PATH: `${ssh.programs}:${process.env.PATH}` };
  for (const board of boards) await ssh.serve(board);
  await moveTo(third);
  const ingest = await deployment.healthy('ingest', third);
  const other = await Sensor.connect(await deployment.addSensor(second, 'site-4'));
  context.after(() => other.end());
  await other.publish(QUEUED);
  await allStored(other);
  const before = await sensor!.storedDigest(deployment);
  const count = (await sensor!.stored(deployment)).size + QUEUED;
  await until('a backup of all', async () => backedUp() === count);
  // Of an operator, who so has the key of this board.
  await deployment.shell(second, `ssh root@${first.address} true`, env);

  deployment.manager = second;
  const lost = Date.now();
  await first.kill();
  const end = other.stream(RATE);
  await first.replace();
  await ssh.serve(first);
  await until('another leader', () => second.docker(['node', 'ls']));
  const names: Record<string, string> = {
    '--ssh-user pi': '--ssh-user root --all',
    'pi@192.0.2.12': `root@${first.address}`,
    '192.0.2.12': first.address,
  };
  // Without the commands for other cases, which are about files of ingest.
  const commands = commandsOf('docs/deploy.md', '### A board dies').filter(
    (command) => !command.includes('tidegauge_ingest'),
  );
  for (const command of commands) {
    const isRestore = command.startsWith('docker exec ');
    if (isRestore) {
      await until('ingest to find a new store', async () =>
        /is a new store/.test((await deployment.ledger()).trouble ?? ''),
      );
    }
    const line = Object.entries(names).reduce((text, [name, value]) => text.replaceAll(name, value), command);
    const output = await deployment.shell(isRestore ? third : second, line, env);
    if (command === 'docker node ls') names['ID-OF-THE-DEAD-BOARD'] = idOf(first, output)!;
    const joining = /^ *docker swarm join .*$/m.exec(output);
    if (joining === null) continue;
    await deployment.shell(first, joining[0]);
    names['ID-OF-THE-NEW-BOARD'] = await until('the new board', async () =>
      idOf(first, await second.docker(['node', 'ls']), 'Ready'),
    );
  }
  assert.ok(!commands.at(-1)!.includes('ID-OF-'));
  await until('the readings of the spool in the store', async () => {
    const { readings, trouble } = await deployment.ledger();
    return trouble === null && readings.spooled === 0;
  });
  context.diagnostic(`the spool was empty ${seconds(lost)} s after the board was lost`);
  await end();
  assert.equal(other.acknowledged.size, other.sent);
  await allStored(other);
  assert.equal(await other.storedDigest(deployment), other.digest());
  assert.equal(await sensor!.storedDigest(deployment), before);
  assert.ok((await deployment.ledger()).balanced);
  assert.equal(await deployment.healthy('ingest', third), ingest);
});

/** The number of readings in the newest backup. */
function backedUp(): number {
  const newest = globSync(join(third.disk, 'backups/tidegauge-*Z/manifest.json')).toSorted().at(-1);
  if (newest === undefined) return 0;
  return (JSON.parse(readFileSync(newest, 'utf8')) as { readings: { count: number } }).readings.count;
}

/** The ID of a board in the output of `docker node ls`. */
function idOf({ name }: Board, list: string, status = '\\w+'): string | undefined {
  return new RegExp(`^(\\w+)[ *]+${name} +${status} `, 'm').exec(list)?.[1];
}

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
