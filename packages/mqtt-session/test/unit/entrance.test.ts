import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Entrance, type Newcomer, TICK_MS } from '../../src/server/entrance.ts';

const LIMITS = { maxEntering: 10, maxWaiting: 30 };

function setUp(limits = LIMITS) {
  const entrance = new Entrance<Newcomer>(limits);
  const entered: string[] = [];
  const dropped: string[] = [];
  const arrive = (address: string, name = address, changes: Partial<Newcomer> = {}) => {
    const newcomer: Newcomer = {
      address,
      progress: 0,
      isChecked: false,
      enter: () => void entered.push(name),
      drop: () => {
        dropped.push(name);
        // As a socket does when it is closed.
        entrance.leave(newcomer);
      },
      ...changes,
    };
    entrance.arrive(newcomer);
    return newcomer;
  };
  return { entrance, entered, dropped, arrive };
}

test('few connections are in the handshake, and the rest waits for its turn', (context) => {
  const { entrance, entered, dropped, arrive } = setUp();
  context.after(() => entrance.close());
  const newcomers = Array.from({ length: 20 }, (_, index) => arrive('one', `${index}`));
  assert.equal(entered.length, 10);
  for (const newcomer of newcomers.slice(0, 10)) entrance.leave(newcomer);
  assert.deepEqual(
    entered,
    Array.from({ length: 20 }, (_, index) => `${index}`),
  );
  assert.deepEqual(dropped, []);
});

for (const addresses of [1, 2, 5]) {
  test(`half-open handshakes from ${addresses} addresses do not delay another address: their oldest one ends`, (context) => {
    const { entrance, entered, dropped, arrive } = setUp();
    context.after(() => entrance.close());
    for (let number = 0; number < 3000; number++) arrive(`hostile ${number % addresses}`);
    const before = dropped.length;
    arrive('innocent');
    assert.equal(entered.at(-1), 'innocent');
    assert.equal(dropped.length, before + 1);
    assert.ok(dropped.every((name) => name.startsWith('hostile')));
  });
}

test('many addresses with one handshake each: those that send nothing give way after three seconds', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const { entrance, entered, dropped, arrive } = setUp();
  context.after(() => entrance.close());
  arrive('checked', 'checked', { isChecked: true });
  let bytes = 0;
  const busy = arrive('busy');
  Object.defineProperty(busy, 'progress', { get: () => ++bytes });
  for (let number = 0; number < 8; number++) arrive(`hostile ${number}`);
  arrive('innocent');
  assert.ok(!entered.includes('innocent'));
  context.mock.timers.tick(12 * TICK_MS);
  assert.equal(entered.at(-1), 'innocent');
  assert.deepEqual(dropped, ['hostile 0']);
});

test('those that wait have a bound: the oldest of the address with the most ends', (context) => {
  const { entrance, entered, dropped, arrive } = setUp({ maxEntering: 1, maxWaiting: 5 });
  context.after(() => entrance.close());
  arrive('first');
  for (const name of ['x', 'y', 'y', 'z', 'z', 'z']) arrive(name);
  assert.deepEqual(dropped, ['z']);
  for (let number = 0; number < 100; number++) arrive('z');
  assert.equal(dropped.length, 101);
  assert.ok(dropped.every((name) => name === 'z'));
  assert.deepEqual(entered, ['first']);
});
