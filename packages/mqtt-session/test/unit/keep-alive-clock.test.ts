import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KeepAlive } from '../../src/keep-alive.ts';

/** A keep-alive of 400 ms on a clock of the test, which begins at 0. It looks each 100 ms, and its patience is 300 ms. */
function onClock(t: TestContext, intervalMs = 400) {
  let clock = 0;
  t.mock.method(performance, 'now', () => 5000 + clock);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const events: string[] = [];
  const keepAlive: KeepAlive = new KeepAlive(intervalMs, {
    ping() {
      events.push(`ping ${clock}`);
      keepAlive.sent();
    },
    dead: () => void events.push(`dead ${clock}`),
  });
  const step = () => {
    clock += 10;
    t.mock.timers.tick(10);
  };
  const passTo = async (time: number) => {
    // A decision waits for one more turn.
    for (; clock < time; await nextTurn()) step();
  };
  return { keepAlive, events, step, passTo };
}

test('a connection without an answer is dead after three quarters of the interval', async (t) => {
  const { events, passTo } = onClock(t);
  await passTo(590);
  assert.deepEqual(events, ['ping 300']);
  await passTo(610);
  assert.deepEqual(events.slice(0, 2), ['ping 300', 'dead 600']);
});

test('any received byte is an answer', async (t) => {
  const { keepAlive, events, passTo } = onClock(t);
  await passTo(590);
  keepAlive.received();
  assert.equal(keepAlive.quietMs, 0);
  await passTo(890);
  assert.equal(keepAlive.quietMs, 300);
  assert.deepEqual(events, ['ping 300', 'ping 600']);
  keepAlive.received();
  await passTo(1190);
  assert.deepEqual(events, ['ping 300', 'ping 600', 'ping 900']);
});

test('a ping is sent when nothing was sent, although something is received', async (t) => {
  const { keepAlive, events, passTo } = onClock(t);
  for (let time = 50; time <= 700; time += 50) {
    await passTo(time);
    keepAlive.received();
  }
  assert.deepEqual(events, ['ping 300', 'ping 600']);
});

test('a ping is sent once when nothing is received, although something is sent', async (t) => {
  const { keepAlive, events, passTo } = onClock(t);
  for (let time = 50; time <= 590; time += 50) {
    await passTo(time);
    keepAlive.sent();
  }
  assert.deepEqual(events, ['ping 300']);
  await passTo(600);
  assert.deepEqual(events, ['ping 300', 'dead 600']);
});

test('a paused connection is not dead, and has all its time after the pause', async (t) => {
  const { keepAlive, events, passTo } = onClock(t);
  keepAlive.paused = true;
  await passTo(1250);
  assert.deepEqual(events, ['ping 300', 'ping 600', 'ping 900', 'ping 1200']);
  keepAlive.paused = false;
  await passTo(1540);
  assert.deepEqual(events.slice(4), ['ping 1500']);
  await passTo(1610);
  assert.deepEqual(events.slice(5, 6), ['dead 1600']);
});

test('a pause without a ping before it changes nothing', async (t) => {
  const { keepAlive, events, passTo } = onClock(t);
  keepAlive.paused = true;
  await passTo(250);
  keepAlive.paused = false;
  await passTo(610);
  assert.deepEqual(events.slice(0, 2), ['ping 300', 'dead 600']);
});

test('an answer that was in the socket while the event loop was blocked counts', async (t) => {
  const { keepAlive, events, step, passTo } = onClock(t);
  await passTo(590);
  step();
  keepAlive.received();
  await passTo(700);
  assert.deepEqual(events, ['ping 300', 'ping 700']);
});

test('nothing happens after a stop, also between the doubt and the decision', async (t) => {
  const { keepAlive, events, step, passTo } = onClock(t);
  await passTo(590);
  step();
  keepAlive.stop();
  await passTo(2000);
  assert.deepEqual(events, ['ping 300']);
  keepAlive.stop();
});

test('an interval of 0 turns it off', async (t) => {
  const { keepAlive, events, passTo } = onClock(t, 0);
  await passTo(1000);
  assert.deepEqual(events, []);
  keepAlive.stop();
});
