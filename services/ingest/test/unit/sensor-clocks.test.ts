import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { DecodeError, formats, type Reading } from '@tidegauge/readings';
import fc from 'fast-check';
import { SensorClocks, timedAtReceipt } from '../../src/sensor-clocks.ts';

/** 2026-11-21T12:00:00Z, seconds. */
const NOON = 1795262400;
const DAY = 86_400;
const EPOCH_2000 = Date.UTC(2000, 0, 1) / 1000;

interface Sent {
  readonly device?: string;
  readonly isAgain?: boolean;
}

function decoded(payload: unknown, at: number, device = 'attic'): readonly Reading[] {
  const received = Math.round((NOON + at) * 1e6);
  const readings = formats.auto!(Buffer.from(JSON.stringify(payload)), { device, metric: 'x', received });
  assert.ok(!(readings instanceof DecodeError), String(readings));
  return readings;
}

/** Receives payloads at seconds after noon, and returns the times of their readings in seconds after noon. */
function receiver(clocks = new SensorClocks()) {
  return (payload: object, at: number, { device = 'attic', isAgain = false }: Sent = {}): number[] => {
    const bytes = Buffer.from(JSON.stringify(payload));
    const readings = clocks.timed(decoded(payload, at, device), bytes, isAgain);
    return readings.map(({ time }) => Math.round(time - NOON * 1e6) / 1e6);
  };
}

/** The time of a payload with one reading. */
function single(send: ReturnType<typeof receiver>) {
  return (payload: object, at: number, sent?: Sent): number => send(payload, at, sent)[0]!;
}

describe('a sensor without a clock', () => {
  it('has times that begin with the receipt of its first message', () => {
    const send = single(receiver());
    assert.equal(send({ time: 12345, a: 1 }, 0), 0);
    assert.equal(send({ time: 12355, a: 2 }, 10.5), 10, 'the second message was delayed');
    assert.equal(send({ time: 12365, a: 3 }, 700), 20, 'and this one for longer');
    assert.equal(send({ time: 12465, a: 3 }, 700.1), 120);
  });

  it('keeps its other fields, and is unsynced', () => {
    const payload = { time: 12345, a: 1, boot: 'b', seq: 3 };
    const [before] = decoded(payload, 0);
    const [reading] = new SensorClocks().timed([before!], Buffer.from(JSON.stringify(payload)), false);
    assert.deepEqual(reading, { ...before, time: NOON * 1e6, quality: 'unsynced' });
    assert.deepEqual(Object.keys(reading!), Object.keys(before!));
  });

  it('has other times after each start', () => {
    for (const epoch of [0, Date.UTC(1980, 0, 1) / 1000, Date.UTC(1980, 0, 6) / 1000, EPOCH_2000]) {
      const send = single(receiver());
      const times = new Set<number>();
      let at = 0;
      for (let start = 0; start < 20; start++) {
        for (const uptime of [3, 13, 23, 33]) {
          at += 10;
          times.add(send({ time: epoch + uptime, a: start }, at));
        }
        at += 5 + (start % 3) * 60;
      }
      assert.equal(times.size, 80, String(epoch));
    }
  });

  it('has other times after each start when all messages arrive at once', () => {
    const send = single(receiver());
    const times: number[] = [];
    for (let start = 0; start < 5; start++)
      for (const uptime of [3, 13, 3600, 90_000])
        times.push(send({ time: uptime, a: start }, times.length / 1e5));
    assert.equal(new Set(times).size, times.length);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
  });

  it('has other times after each start when it sends the same each time and sleeps between', () => {
    const send = single(receiver());
    const times = Array.from({ length: 10 }, (_, index) => send({ time: 3, a: 21.5 }, index * 600));
    assert.deepEqual(
      times,
      Array.from({ length: 10 }, (_, index) => index * 600),
    );
  });

  it('is recognised by dates as texts too', () => {
    const send = single(receiver());
    assert.equal(send({ time: '1970-01-01T03:25:45Z', a: 1 }, 0), 0);
    assert.equal(send({ time: '2000-01-01T00:00:07', a: 1 }, 60), 60);
    assert.equal(send({ time: '2000-01-01T00:00:17', a: 1 }, 70), 70);
  });

  it('starts again when its boot is another one', () => {
    const send = single(receiver());
    assert.equal(send({ time: 10, a: 1, boot: 'a' }, 0), 0);
    assert.equal(send({ time: 20, a: 1, boot: 'b' }, 0.5), 0.5);
    assert.equal(send({ time: 30, a: 1, boot: 'b' }, 10), 10);
    assert.equal(send({ time: 10, a: 2, boot: 'b' }, 10.5), 10.5, 'and when it goes back with the same one');
  });

  it('is found again', () => {
    for (const boot of [null, 'a1']) {
      for (const isAgain of [false, true]) {
        const send = single(receiver());
        const of = (time: number) => (boot === null ? { time, a: 1 } : { time, a: 1, boot, seq: time });
        for (let index = 0; index < 100; index++) send(of(5000 + 10 * index), 10 * index);
        for (const index of [99, 50, 0, 99])
          assert.equal(send(of(5000 + 10 * index), 1100 + index, { isAgain }), 10 * index);
        assert.equal(send(of(6000), 1200), 1000, 'and does not change the clock');
      }
    }
  });

  it('is found again after an outage that was longer than its uptime, if it is marked or has a boot', () => {
    const marked = single(receiver());
    assert.equal(marked({ time: 5, a: 1 }, 0), 0);
    assert.equal(marked({ time: 5, a: 1 }, 3600, { isAgain: true }), 0);
    assert.equal(marked({ time: 5, a: 2 }, 3700, { isAgain: true }), 3700, 'but not with another value');
    const numbered = single(receiver());
    assert.equal(numbered({ time: 5, a: 1, boot: 7 }, 0), 0);
    assert.equal(numbered({ time: 5, a: 1, boot: 7 }, 3600), 0);
  });

  it('has times that are never after their receipt', () => {
    const send = single(receiver());
    let last = -1;
    for (let second = 0; second < 500; second++) {
      const at = second + ((second * 7919) % 13) / 2;
      if (at <= last) continue;
      const time = send({ time: 1000 + second * 1.05, a: second }, at);
      assert.ok(time <= at && time > last, `${second}: ${last} ${time} ${at}`);
      last = time;
    }
  });

  it('can count milliseconds, also beyond the dates of clocks', () => {
    const send = single(receiver());
    const times: number[] = [];
    // 20 days of milliseconds, which are taken for seconds: until 2024.
    for (let at = 0; at < 20 * DAY; at += 3600) times.push(send({ time: 2500 + at * 1000, a: 1 }, at));
    assert.deepEqual(
      times,
      times.map((_, index) => index * 3600),
    );
    assert.equal(send({ time: 2500, a: 2 }, 20 * DAY), 20 * DAY);
  });

  it('can count microseconds', () => {
    const send = single(receiver());
    for (let at = 0; at < 1700; at += 7) assert.equal(send({ time: 2_500_000 + at * 1e6, a: 1 }, at), at);
  });

  it('can have local time', () => {
    for (const start of [EPOCH_2000 - 3600, EPOCH_2000 + 5 * 3600]) {
      const send = single(receiver());
      for (let round = 0; round < 3; round++) {
        const times = [3, 13, 3599, 3700, 40_000].map((uptime) =>
          send({ time: start + uptime, a: round }, 50_000 * round + uptime),
        );
        assert.deepEqual(
          times,
          [3, 13, 3599, 3700, 40_000].map((uptime) => 50_000 * round + uptime),
        );
      }
    }
  });

  it('can get its time later', () => {
    const send = single(receiver());
    send({ time: 30, a: 1 }, 0);
    assert.equal(send({ time: NOON + 9, a: 1 }, 10), 9);
    assert.equal(send({ time: 60, a: 1 }, 30), 30);
  });

  it('has several readings in one message', () => {
    const send = receiver();
    assert.deepEqual(
      send(
        [
          { ts: 10, a: 1 },
          { ts: 20, a: 2 },
          { ts: 30, a: 3 },
        ],
        0,
      ),
      [-20, -10, 0],
    );
    assert.deepEqual(
      send(
        [
          { ts: 40, a: 1 },
          { ts: 50, a: 2 },
        ],
        20.5,
      ),
      [10, 20],
    );
    const devices = [{ ts: 10, device: 'one', a: 1 }, { ts: 9000, device: 'two', a: 2 }, { a: 3 }];
    assert.deepEqual(send(devices, 30), [30, 30, 30]);
  });

  it('has the time of receipt in a message of more than 100 devices', () => {
    const clocks = new SensorClocks();
    const of = (value: number) =>
      Array.from({ length: 150 }, (_, index) => ({ device: `d${index}`, ts: 100 + value, value }));
    assert.deepEqual(new Set(receiver(clocks)(of(0), 0)), new Set([0]));
    const next = receiver(clocks)(of(10), 10.5);
    assert.deepEqual([next[99], next[100]], [10, 10.5]);
  });

  it('does not share its clock with other devices and metrics', () => {
    const send = single(receiver());
    assert.equal(send({ time: 100, a: 1 }, 0), 0);
    assert.equal(send({ time: 50, b: 1 }, 1), 1);
    assert.equal(send({ time: 110, a: 1 }, 11), 10);
    assert.equal(send({ time: 5, a: 1 }, 12, { device: 'cellar' }), 12);
    assert.equal(send({ time: 120, a: 1 }, 21), 20);
  });
});

test('no reading of a sensor without a clock has the time of another one, or one after its receipt', () => {
  const step = fc.record({
    epoch: fc.constantFrom(0, 0, 0, EPOCH_2000 - 3600),
    uptime: fc.oneof(fc.nat(20), fc.nat(100_000), fc.constantFrom(3, 3.5)),
    boot: fc.constantFrom(null, null, 'a', 'b'),
    passed: fc.constantFrom(1e-6, 1e-6, 0.5, 10, 10, 3600, 100_000),
    isAgain: fc.boolean(),
    repeats: fc.option(fc.nat(10), { freq: 4 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const send = single(receiver());
      const sent: { payload: object; time: number }[] = [];
      let at = 0;
      for (const [value, { epoch, uptime, boot, passed, isAgain, repeats }] of steps.entries()) {
        at += passed;
        const earlier = repeats === null ? undefined : sent.at(-1 - repeats);
        const payload = earlier?.payload ?? { time: epoch + uptime, a: value, boot };
        const time = send(payload, at, { isAgain });
        assert.ok(time <= at + 1e-6);
        if (earlier !== undefined && isAgain)
          assert.ok(sent.some((other) => other.payload === payload && other.time === time));
        else {
          assert.ok(sent.every((other) => other.payload === payload || other.time !== time));
          sent.push({ payload, time });
        }
      }
    }),
    { numRuns: 2000 },
  );
});

describe('a clock that starts at an unknown date', () => {
  it('is recognised when it goes back after it advanced in step', () => {
    const send = single(receiver());
    const start = Date.UTC(2020, 0, 1) / 1000;
    const kept = [3, 33, 63, 93].map((uptime) => send({ time: start + uptime, a: 1 }, uptime));
    assert.deepEqual(
      kept,
      [3, 33, 63, 93].map((uptime) => start + uptime - NOON),
      'it can be a date at first',
    );
    assert.equal(send({ time: start + 3, a: 2 }, 200), 200);
    assert.equal(send({ time: start + 33, a: 2 }, 230), 230);
    assert.equal(send({ time: start + 33, a: 2 }, 235), 230, 'and messages are found again');
    assert.equal(send({ time: start + 2, a: 3 }, 500), 500);
    assert.equal(send({ time: start + 33, a: 3 }, 531), 531);
  });

  it('is not one whose readings are late or sent again', () => {
    const send = single(receiver());
    const start = Date.UTC(2020, 0, 1) / 1000;
    for (let second = 0; second < 1000; second += 10) send({ time: start + second, a: 1 }, second);
    assert.equal(send({ time: start + 500, a: 1 }, 1000), start + 500 - NOON);
    assert.equal(send({ time: start, a: 1 }, 1001, { isAgain: true }), start - NOON);
    assert.equal(send({ time: start + 1002, a: 1 }, 1002), start + 1002 - NOON);
  });

  it('is not data of the past', () => {
    const clocks = new SensorClocks();
    const send = single(receiver(clocks));
    let at = 0;
    for (let round = 0; round < 2; round++) {
      for (let day = 0; day < 3000; day++) {
        const time = Date.UTC(2005, 0, day) / 1000;
        at += 0.05;
        assert.equal(send({ time, a: round }, at), time - NOON);
      }
    }
    const readings = decoded({ time: '1985-03-04T12:00:00Z', a: 1 }, at);
    assert.equal(clocks.timed(readings, Buffer.alloc(0), false)[0], readings[0]);
  });
});

describe('the clocks of sensors', () => {
  it('leave messages of this year as they are', () => {
    const clocks = new SensorClocks();
    for (const ahead of [-364 * DAY, -1, 0, 100]) {
      const readings = decoded({ time: NOON + ahead, a: 1 }, 0);
      assert.equal(clocks.timed(readings, Buffer.alloc(0), false), readings);
      assert.equal(clocks.again(readings), readings);
    }
    assert.equal(clocks.bytes, 0);
  });

  it('give a message that is decoded again the times that it had', () => {
    const clocks = new SensorClocks();
    const send = single(receiver(clocks));
    const again = (payload: object, at: number) =>
      clocks.again(decoded(payload, at)).map(({ time }) => time / 1e6 - NOON)[0];
    const sleeps = { time: 3, a: 21.5 };
    send(sleeps, 0);
    send(sleeps, 600);
    send({ time: 5000, b: 1 }, 1700);
    send({ time: 5010, b: 1 }, 1720);
    assert.equal(again(sleeps, 0), 0);
    assert.equal(again(sleeps, 600), 600);
    assert.equal(again({ time: 5010, b: 1 }, 1720), 1710);
    assert.equal(again(sleeps, 900), 900, 'or that of its receipt');
    assert.equal(timedAtReceipt(decoded(sleeps, 900))[0]!.time, (NOON + 900) * 1e6);
  });

  it('can be restored from their journal and from their states', () => {
    const clocks = new SensorClocks();
    const copy = new SensorClocks();
    clocks.journal = (states) => {
      for (const state of states) copy.restore(JSON.parse(JSON.stringify(state)));
    };
    const send = single(receiver(clocks));
    for (let index = 0; index < 50; index++) send({ time: 5000 + 10 * index, a: 1, b: 2 }, 10 * index);
    for (let index = 0; index < 5; index++) send({ time: 3, a: 21.5 }, 600 * index, { device: 'deep/sleep' });
    const other = new SensorClocks();
    for (const state of clocks.states()) other.restore(JSON.parse(JSON.stringify(state)));
    for (const each of [copy, other]) {
      assert.equal(each.bytes, clocks.bytes);
      assert.deepEqual([...each.states()], [...clocks.states()]);
      const again = single(receiver(each));
      assert.equal(again({ time: 5100, a: 1, b: 2 }, 800), 100);
      assert.equal(again({ time: 5500, a: 1, b: 2 }, 801), 500);
      assert.equal(again({ time: 3, a: 21.5 }, 3000, { device: 'deep/sleep', isAgain: true }), 2400);
    }
  });

  it('are bounded in bytes, and a client with many does not drop those of others', () => {
    const clocks = new SensorClocks();
    const send = single(receiver(clocks));
    for (let index = 0; index < 50; index++)
      send({ time: 5000 + index, a: 1 }, index, { device: 'victim/probe' });
    let most = 0;
    for (let index = 0; index < 30_000; index++) {
      send({ time: 100, a: index }, 100 + index / 1e4, { device: `attacker/${index % 15_000}` });
      most = Math.max(most, clocks.bytes);
    }
    for (let index = 0; index < 5000; index++)
      send({ time: 100 + index, a: index }, 200 + index / 1e4, { device: 'attacker/one' });
    assert.ok(most <= 8 * 1024 * 1024 + 2000, `${most}`);
    for (const index of [0, 49])
      assert.equal(send({ time: 5000 + index, a: 1 }, 300, { device: 'victim/probe' }), index);
    for (let index = 0; index < 20_000; index++)
      send({ time: 5, a: 1 }, 400, { device: `invented-${index}` });
    assert.ok(clocks.bytes <= 8 * 1024 * 1024);
    for (let index = 0; index < 20_000; index++) send({ time: 1e9, a: 1 }, 500, { device: `old/${index}` });
    assert.ok(clocks.bytes <= 8 * 1024 * 1024 && clocks.bytes > 1024 * 1024);
  });
});

test('a constant value is a new reading after each start, also at the same second of it', () => {
  const send = single(receiver());
  for (const start of [0, 100, 200])
    for (const second of [10, 20, 30])
      assert.equal(send({ time: second, door: 0 }, start + second), start + second, `${start} ${second}`);
  assert.equal(send({ time: 20, door: 0 }, 231), 220, 'a message that is received again is found');
  assert.equal(send({ time: 30, door: 0 }, 232, { isAgain: true }), 230);
});
