import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QUERIES, ReadLoad } from '@tidegauge/loadtests/operations/read-load';
import { type AnsweredReading, RightAnswer } from '@tidegauge/loadtests/operations/right-answers';

const SIZE = 10_000;
const load = new ReadLoad(SIZE, 100);
const readings = Array.from({ length: SIZE }, (_, number) => load.reading(number));

function countsBy(key: (reading: (typeof readings)[number]) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const reading of readings) counts.set(key(reading), (counts.get(key(reading)) ?? 0) + 1);
  return counts;
}

test('a load has the shape of the original: its devices, metrics, days and skew', () => {
  const whole = new ReadLoad(1_067_371, 100);
  assert.deepEqual([whole.devices, whole.metrics, whole.readings], [5900, 4600, 1_067_371]);
  const first = whole.reading(0).time;
  const last = whole.reading(1_067_370).time;
  assert.equal(new Date(first / 1000).toISOString(), '2009-12-01T00:00:00.000Z');
  assert.equal(new Date(last / 1000).toISOString().slice(0, 10), '2011-12-09');
  const counts = [...countsBy(({ device }) => device).values()].toSorted((a, b) => b - a);
  // Of 55 devices, the first has the square root of 1/55 of all readings.
  assert.ok(Math.abs(counts[0]! / SIZE - Math.sqrt(1 / 55)) < 0.02, String(counts[0]));
  assert.ok(counts[0]! > 10 * counts.at(-1)!);
});

test('a smaller volume has the first readings by time, and the same ones', () => {
  const part = new ReadLoad(SIZE, 20);
  assert.equal(part.readings, 2000);
  assert.equal(part.devices, load.devices);
  for (const number of [0, 7, 1999]) assert.deepEqual(part.reading(number), load.reading(number));
  const times = readings.map(({ time }) => time);
  assert.deepEqual(
    times,
    [...new Set(times)].toSorted((a, b) => a - b),
  );
});

test('the days of a load are whole, so that totals contain the last reading', () => {
  const { from, to } = new ReadLoad(SIZE, 20).days;
  const last = load.reading(1999).time;
  assert.deepEqual([from % 86_400_000_000, to % 86_400_000_000], [0, 0]);
  assert.equal(from, load.reading(0).time);
  assert.ok(to > last && to - last <= 86_400_000_000);
});

test('each device has fewer metrics than stores accept, and its values are multiples of a quarter', () => {
  const whole = new ReadLoad(1_067_371, 5);
  const metrics = new Set<string>();
  for (let number = 0; number < whole.readings; number += 1) {
    const { device, metric, value } = whole.reading(number);
    if (device === 'retail/c0') metrics.add(metric);
    assert.ok(Number.isInteger(value * 4) && value > 0 && value <= 100);
  }
  assert.ok(metrics.size > 100 && metrics.size <= 400, String(metrics.size));
});

test('the chosen device has readings at every volume, and shares its city with few others', () => {
  const { device, city, names } = load.asked;
  const ofCity = Array.from({ length: load.devices }, (_, number) => load.device(number)).filter(
    (each) => each.city === city,
  );
  assert.deepEqual(
    names,
    ofCity.map(({ name }) => name),
  );
  assert.ok(names.includes(device.name) && !names.includes('retail/c0'));
  for (const volume of [20, 100]) {
    const part = new ReadLoad(SIZE, volume);
    assert.equal(part.firstOfAsked().device, device.name);
    assert.equal(part.lastOfAsked().device, device.name);
  }
  assert.throws(() => new ReadLoad(SIZE, 0.01).firstOfAsked(), {
    message: /^1 readings have none of retail\/c5: raise records or volume/,
  });
});

const { device, names, from, to } = load.asked;
const ofAsked = readings.filter((reading) => reading.device === device.name).reverse();
const inYear = ofAsked.filter(({ time }) => time >= from && time < to);
const ofCity = readings.filter((reading) => names.includes(reading.device));

function groups(key: (reading: (typeof readings)[number]) => string) {
  const sums = new Map<string, { count: number; sum: number }>();
  for (const reading of readings) {
    const { count, sum } = sums.get(key(reading)) ?? { count: 0, sum: 0 };
    sums.set(key(reading), { count: count + 1, sum: sum + reading.value });
  }
  return [...sums].map(([name, { count, sum }]) => ({ key: name, count, sum, mean: sum / count }));
}

const byDevice = groups((reading) => reading.device);
const byMetric = groups(({ metric }) => metric);
const byDay = groups(({ time }) => new Date(time / 1000).toISOString().slice(0, 10));

const RIGHT = {
  q1: { site: device.site },
  q2: { readings: ofAsked.slice(0, 1) },
  q3: { site: device.site, readings: inYear },
  q4: { readings: ofAsked },
  q5: { groups: byDevice.toSorted((a, b) => b.sum - a.sum).slice(0, 100) },
  q6: { groups: byDevice.toSorted((a, b) => b.mean - a.mean) },
  q7: { groups: byDay },
  q8: { groups: byMetric.toSorted((a, b) => b.count - a.count) },
  q9: { groups: byMetric.toSorted((a, b) => b.sum - a.sum) },
  q10: { readings: ofCity.toSorted((a, b) => (a.device < b.device ? -1 : 1)) },
} as const;

for (const query of QUERIES) {
  test(`${query}: the right answer is accepted, and one that lacks or changes a value is not`, () => {
    const right = new RightAnswer(load, query);
    const answer: { site?: string | null; readings?: AnsweredReading[]; groups?: typeof byDay } = {
      ...structuredClone(RIGHT[query] as object),
    };
    assert.ok(right.accepts(answer));
    assert.equal(right.accepts({}), false);
    if (answer.site !== undefined) assert.equal(right.accepts({ ...answer, site: 'site-99' }), false);
    if (answer.readings !== undefined) {
      assert.ok(answer.readings.length > 0);
      assert.equal(right.accepts({ ...answer, readings: answer.readings.slice(1) }), false);
      const [first, ...rest] = answer.readings;
      assert.equal(right.accepts({ ...answer, readings: [{ ...first!, value: 0 }, ...rest] }), false);
    }
    if (answer.groups !== undefined) {
      const [first, ...rest] = answer.groups;
      assert.equal(right.accepts({ groups: rest }), false);
      assert.equal(right.accepts({ groups: [{ ...first!, sum: first!.sum + 0.25 }, ...rest] }), false);
      assert.equal(right.accepts({ groups: [{ ...first!, count: first!.count + 1 }, ...rest] }), false);
      assert.equal(right.accepts({ groups: [...rest, first!] }), false, 'another order');
    }
  });
}
