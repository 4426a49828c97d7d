import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closest, didYouMean } from '../../src/index.ts';

const FLAGS = ['--http-port', '--mqtt-port', '--metrics-port', '--store', '--no-sim', '--help'];

test('finds the name that was meant, and none when nothing is near', () => {
  assert.equal(closest('--htpt-port', FLAGS), '--http-port');
  assert.equal(closest('--STORE', FLAGS), '--store');
  assert.equal(closest('--stor', FLAGS), '--store');
  assert.equal(closest('readproprtion', ['readproportion', 'scanproportion']), 'readproportion');
  assert.equal(closest('colour', FLAGS), null);
  assert.equal(closest('x', []), null);
  assert.equal(closest('x'.repeat(1e6), FLAGS), null);
});

test('ends an error with a question, or with nothing', () => {
  assert.equal(didYouMean('--sotre', FLAGS), ': did you mean --store?');
  assert.equal(didYouMean('--unheard-of', FLAGS), '');
});
