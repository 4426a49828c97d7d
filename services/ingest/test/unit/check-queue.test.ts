import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CheckQueue, type Order } from '../../src/direct/check-queue.ts';

const NEVER = new AbortController().signal;

/** A queue, and the order in which logins got their turn or left without one. */
function open(orderOf: (client: string, user: string) => Order = () => ({ rank: 0, waitMs: 0 })) {
  const queue = new CheckQueue(orderOf);
  const checked: string[] = [];
  const refused: string[] = [];
  const login = (
    name: string,
    client: string,
    user: string,
    { bytes = 10, signal = NEVER, isFirst = false } = {},
  ) =>
    void queue
      .turn({ client, user, bytes, isFirst }, signal)
      .then((hasTurn) => (hasTurn ? checked : refused).push(name));
  /** Ends this many checks, each when the turn after it was given. */
  const end = async (count: number) => {
    for (let number = 0; number < count; number++) {
      queue.end();
      await settled();
    }
  };
  return { queue, checked, refused, login, end };
}

/** Resolves when all promises that can be settled are. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('a login waits for one check of each other client, whatever number of logins these send', async () => {
  const { checked, refused, login, end, queue } = open();
  let sent = 0;
  const attack = (count: number) => {
    for (let number = 0; number < count; number++, sent++)
      login(`wrong ${sent}`, `192.0.2.${sent % 9}`, `user-${sent % 20}`);
  };
  attack(891);
  await settled();
  assert.equal(checked.length, 2);
  login('right', '198.51.100.7', 'sensor');
  // A check of 45 ms, two at a time: 20 more wrong logins arrive during each.
  for (let checks = 0; !checked.includes('right') && checks < 100; checks++) {
    attack(20);
    await end(1);
  }
  assert.ok(checked.indexOf('right') <= 11, `${checked.indexOf('right')} checks before it`);
  assert.ok(!refused.includes('right'));
  assert.ok(queue.bytes <= 1024 * 1024, `${queue.bytes}`);
});

test('behind one router a login waits for one check of each other user', async () => {
  const { checked, login, end } = open();
  for (let number = 0; number < 400; number++)
    login(`wrong ${number}`, 'router', number % 2 === 0 ? '' : 'site-1');
  login('right', 'router', 'site-2');
  await settled();
  await end(5);
  assert.ok(checked.includes('right'), checked.join());
});

test('the newest login of a user comes first, and before it one that came before', async () => {
  const { checked, login, end } = open();
  login('a', 'c', 'other');
  login('b', 'c', 'other');
  for (const name of ['1', '2', '3']) login(name, 'c', 'user', { isFirst: name === '2' });
  await settled();
  await end(3);
  assert.deepEqual(checked, ['a', 'b', '2', '3', '1']);
});

test('a login whose connection ends leaves the queue', async () => {
  const { checked, refused, login, end, queue } = open();
  const gone = new AbortController();
  for (let number = 0; number < 100; number++) login(`${number}`, 'c', `${number}`, { signal: gone.signal });
  login('right', 'c', 'right');
  await settled();
  gone.abort();
  await settled();
  assert.equal(refused.length, 98);
  assert.equal(queue.bytes, 1024 + 10);
  await end(2);
  assert.deepEqual(checked.slice(2), ['right']);
  assert.equal(queue.bytes, 0);
  login('late', 'c', 'd', { signal: gone.signal });
  await settled();
  assert.equal(refused.at(-1), 'late');
});

test('at the bound in bytes the client with the most loses its oldest login', async () => {
  const { refused, login, queue } = open();
  for (let number = 0; number < 300; number++) login(`small ${number}`, `s${number % 100}`, 'u');
  for (let number = 0; number < 300; number++)
    login(`large ${number}`, `l${number % 3}`, `u${number}`, { bytes: 15_000 });
  await settled();
  assert.ok(queue.bytes <= 1024 * 1024);
  assert.ok(refused.length > 200);
  assert.deepEqual(
    refused.filter((name) => name.startsWith('small')),
    [],
  );
  assert.equal(refused[0], 'large 0');
});

test('users without attempts wait for their time, and those of a lower rank come first', async () => {
  let hasTime = false;
  const { checked, login, end, queue } = open((client) =>
    client === 'late'
      ? { rank: 2, waitMs: hasTime ? 0 : 5 }
      : { rank: client === 'known' ? 0 : 1, waitMs: 0 },
  );
  for (const name of ['late', 'new', 'known', 'known']) login(name, name, 'user');
  await settled();
  await end(3);
  assert.deepEqual(checked, ['new', 'known', 'known']);
  hasTime = true;
  // A timer of the queue gives the turn.
  while (checked.length < 4) await settled();
  assert.equal(checked[3], 'late');
  queue.close();
});
