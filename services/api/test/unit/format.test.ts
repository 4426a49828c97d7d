import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticksWithUnit } from '../../public/format.js';

test('labels of an axis have the digits of its step', () => {
  assert.deepEqual(ticksWithUnit([10, 12.5, 15, 17.5]), ['10.0', '12.5', '15.0', '17.5']);
  assert.deepEqual(ticksWithUnit([0, 0.25, 0.5, 0.75]), ['0.00', '0.25', '0.50', '0.75']);
  assert.deepEqual(ticksWithUnit([0.1, 0.2, 0.30000000000000004]), ['0.1', '0.2', '0.3']);
  assert.deepEqual(ticksWithUnit([20, 25, 30], 'Cel'), ['20\u00a0°C', '25\u00a0°C', '30\u00a0°C']);
});
