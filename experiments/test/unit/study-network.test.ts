import assert from 'node:assert/strict';
import { test } from 'node:test';
import { netem, tokenBucket } from '@tidegauge/experiments/places/board-network';

test('a profile has the arguments of netem', () => {
  const profile = { delayMs: 20, jitterMs: 5, loss: 0.01, kilobitsPerSecond: 10_000 };
  assert.equal(netem(profile).join(' '), 'netem delay 20ms 5ms loss random 1% rate 10000kbit');
  const none = { delayMs: 0, jitterMs: 0, loss: 0, kilobitsPerSecond: null };
  assert.equal(netem(none).join(' '), 'netem');
});

test('a token bucket passes ten milliseconds at once, and a large packet at least', () => {
  assert.equal(tokenBucket(100_000).join(' '), 'tbf rate 100000kbit burst 125000b latency 400ms');
  assert.match(tokenBucket(1000).join(' '), /burst 16384b/);
});
