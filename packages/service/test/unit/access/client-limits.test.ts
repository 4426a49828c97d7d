import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientLimits } from '../../../src/index.ts';

const OFF = { rate: 0, concurrent: 0, bytesPerSecond: 0 };

function limits(settings: Partial<typeof OFF>) {
  const clock = { s: 1000 };
  const made = new ClientLimits({ ...OFF, ...settings }, () => clock.s);
  /** The wait of a request that ends at once, in seconds; 0 when it was begun. */
  const send = (name = 'a', bytes = 0): number => {
    const begun = made.begin(name);
    if (typeof begun === 'number') return begun;
    begun.end(bytes);
    return 0;
  };
  return { made, clock, send };
}

test('a client sends at its rate with a burst of two seconds, and no client affects another', () => {
  const { clock, send } = limits({ rate: 10 });
  const begun = () => Array.from({ length: 100 }, () => send()).filter((wait) => wait === 0).length;
  assert.equal(begun(), 20);
  assert.equal(send(), 1);
  assert.equal(send('b'), 0);
  clock.s += 1;
  assert.equal(begun(), 10);
  clock.s += 100;
  assert.equal(begun(), 20, 'unused time is not saved beyond the burst');
});

test('a rate below one per second allows one request, and reports when the next one is possible', () => {
  const { clock, send } = limits({ rate: 1 });
  assert.deepEqual([send(), send(), send()], [0, 0, 1]);
  clock.s += 1;
  assert.equal(send(), 0);
});

test('requests in progress are bounded, and one that ends makes room', () => {
  const { made } = limits({ concurrent: 2 });
  const first = made.begin('a');
  made.begin('a');
  assert.equal(made.begin('a'), 1);
  assert.equal(typeof made.begin('b'), 'object');
  assert.ok(typeof first === 'object');
  first.end(0);
  assert.equal(typeof made.begin('a'), 'object');
});

test('bytes are paid after the answer, and one large answer costs ten seconds at most', () => {
  const { clock, send } = limits({ bytesPerSecond: 1000 });
  assert.equal(send('a', 1500), 0);
  assert.equal(send('a', 1500), 0);
  assert.equal(send('a'), 1, 'three seconds of bytes, and a burst of two');
  clock.s += 1.001;
  assert.equal(send('a', 1e9), 0);
  assert.equal(send('a'), 10);
  clock.s += 10.001;
  assert.equal(send('a'), 0);
});

test('the number of clients that are remembered is bounded', () => {
  const { made, send } = limits({ rate: 1 });
  for (let index = 0; index < 10_100; index++) send(`client ${index}`);
  assert.equal(made.size, 10_000);
});
