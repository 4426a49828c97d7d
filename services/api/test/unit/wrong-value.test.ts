import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rightValue, wrongValue } from '@tidegauge/readings';
import fc from 'fast-check';
import { learn, sensors } from '../../public/model.js';
import { wrongNumber } from '../../public/wrong-value.js';

test('the page reads marks as the server writes them', () => {
  const value = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(fc.property(value, (number) => assert.ok(Object.is(wrongNumber(wrongValue(number)), number))));
  fc.assert(fc.property(fc.string(), (text) => assert.equal(wrongNumber(text), rightValue(text))));
  for (const other of [5, '{"wrong":}', '{"wrong":"x"}', '{"wrong":1e999}'])
    assert.equal(wrongNumber(other), null, String(other));
});

test('a marked reading stays a number of its sensor, and is in no sparkline', () => {
  const time = '2026-11-21T14:00:00.000000Z';
  const reading = { device: 'a', metric: 'temperature', time, received: time, unit: 'Cel' };
  learn({ ...reading, value: 20 });
  learn({ ...reading, value: '{"wrong":850}' });
  const { metrics, spark } = sensors.get('a');
  const { value, unit, isWrong } = metrics.get('temperature');
  assert.deepEqual([value, unit, isWrong, spark], [850, 'Cel', true, [20]]);
});
