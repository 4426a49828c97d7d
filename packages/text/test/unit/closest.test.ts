import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closest, didYouMean } from '../../src/index.ts';

const FLAGS = ['--http-port', '--mqtt-port', '--metrics-port', '--store', '--no-sim', '--help'];

test('finds the nearest name, and none when no name is near', () => {
  assert.equal(closest('--htpt-port', FLAGS), '--http-port');
  assert.equal(closest('--STORE', FLAGS), '--store');
  assert.equal(closest('--stor', FLAGS), '--store');
  assert.equal(closest('readproprtion', ['readproportion', 'scanproportion']), 'readproportion');
  assert.equal(closest('colour', FLAGS), null);
  assert.equal(closest('z', ['a', 'b']), null);
  assert.equal(closest('3gb', ['1gb', '2gb']), null);
  assert.equal(closest('row', ['1m', 'raw']), 'raw');
  assert.equal(closest('jso', ['json']), 'json');
  assert.equal(closest('x', []), null);
  assert.equal(closest('x'.repeat(1e6), FLAGS), null);
});

test('gives the suggestion for the end of an error message, or an empty text', () => {
  assert.equal(didYouMean('--sotre', FLAGS), ': did you mean --store?');
  assert.equal(didYouMean('--unheard-of', FLAGS), '');
});
