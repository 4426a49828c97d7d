import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_METRICS } from '@tidegauge/storage';
import { describe, learn, sensors, sortedSensors } from '../../public/model.js';

function add(name: string, site: string | null, label?: string): void {
  const attributes = label === undefined ? {} : { label };
  describe({ name, site, city: null, kind: null, year: null, attributes });
}

test('sensors are sorted by site, then by title, and again when these change', () => {
  const names = () => sortedSensors().map(({ name }: { name: string }) => name);
  add('b/probe-10', 'b');
  add('b/probe-2', null);
  add('alone', null);
  assert.deepEqual(names(), ['b/probe-2', 'b/probe-10', 'alone']);
  add('a/x', 'a');
  add('b/probe-2', 'b', 'Zebra');
  assert.deepEqual(names(), ['a/x', 'b/probe-10', 'b/probe-2', 'alone']);
  // Sites whose names are equal in this order do not mix.
  for (const [name, site] of [
    ['s-1/a', 's-1'],
    ['s-01/b', 's-01'],
    ['s-1/c', 's-1'],
  ] as const)
    add(name, site);
  assert.deepEqual(names().slice(3, 6), ['s-01/b', 's-1/a', 's-1/c']);
});

test('all metrics that the store accepts of a sensor are known', () => {
  const time = '2026-11-21T14:00:00.000000Z';
  for (let n = 0; n < MAX_METRICS; n++)
    learn({ device: 'c/many', metric: `m${n}`, time, received: time, value: n });
  assert.equal(sensors.get('c/many')?.metrics.size, MAX_METRICS);
});
