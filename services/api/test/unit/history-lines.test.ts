import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisOf, csvOf, keyOf, linesOf, seriesOf } from '../../public/history-lines.js';
import { EMPTY_VIEW } from '../../public/view-state.js';

const sensor = (name: string, site: string, values: Record<string, number | string>) => ({
  name,
  site,
  metrics: new Map(Object.entries(values).map(([metric, value]) => [metric, { value }])),
});

test('a metric of a site has the lines of all sensors with numbers of it, in their order', () => {
  const all = [
    sensor('b/probe-10', 'b', { temperature: 1, note: 'x' }),
    sensor('b/probe-2', 'b', { temperature: 2, humidity: 3 }),
    sensor('b/probe-3', 'b', { temperature: 'off' }),
    sensor('c/probe-1', 'c', { temperature: 4 }),
  ];
  const series = [{ device: 'b/probe-10', metric: 'temperature' }];
  const groups = [{ site: 'b', metric: 'temperature' }];
  const found = linesOf({ ...EMPTY_VIEW, series, groups }, all);
  assert.deepEqual(found.series.map(keyOf), ['b/probe-10/temperature', 'b/probe-2/temperature']);
  assert.equal(found.left, 0);
  const many = Array.from({ length: 25 }, (_, n) => sensor(`b/${n}`, 'b', { temperature: n }));
  assert.equal(linesOf({ ...EMPTY_VIEW, groups }, many).left, 5);
  assert.equal(linesOf({ ...EMPTY_VIEW, groups }, many).series.length, 20);
});

test('the history of a sensor begins with what it measures', () => {
  const metrics = (values: Record<string, number | string>) =>
    seriesOf(sensor('a', '', values)).map(({ metric }: { metric: string }) => metric);
  const all = { battery: 3, note: 'x', temperature: 1, humidity: 2 };
  assert.deepEqual(metrics(all), ['humidity', 'temperature']);
  assert.deepEqual(metrics({ battery: 3 }), ['battery']);
  assert.equal(metrics({ a: 1, b: 2, c: 3, d: 4, e: 5 }).length, 4);
});

test('lines with one unit share an axis, and of metrics without a unit those that differ in numbers', () => {
  assert.equal(axisOf('inside', 'Cel'), axisOf('outside', 'Cel'));
  assert.notEqual(axisOf('a', undefined), axisOf('b', undefined));
  assert.equal(axisOf('m1', undefined), axisOf('m12', undefined));
  assert.notEqual(axisOf('a', 'Cel'), axisOf('a', 'K'));
});

test('CSV has a row for each bucket, with the times of an earlier period', () => {
  const buckets = [{ time: 0, end: 60_000, count: 2, min: 1, max: 2, mean: 1.5 }];
  const line = { device: 'a/b', metric: 'level', unit: undefined, earlier: null, buckets };
  const other = { ...line, unit: 'x"y', earlier: 'day', buckets: [{ ...buckets[0], mean: null }] };
  assert.deepEqual(csvOf([line, other]).split('\r\n'), [
    'device,metric,unit,period,from,to,count,min,mean,max',
    'a/b,level,,,1970-01-01T00:00:00.000Z,1970-01-01T00:01:00.000Z,2,1,1.5,2',
    'a/b,level,"x""y",the day before,1970-01-01T00:00:00.000Z,1970-01-01T00:01:00.000Z,2,1,,2',
    '',
  ]);
});
