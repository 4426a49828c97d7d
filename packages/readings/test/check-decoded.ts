import assert from 'node:assert/strict';
import {
  type DecodeContext,
  DecodeError,
  deviceNameProblem,
  MAX_AHEAD,
  MAX_READINGS_PER_PAYLOAD,
  MAX_TEXT_LENGTH,
  metricNameProblem,
  type Reading,
} from '@tidegauge/readings';

/**
 * Checks the rules for all formats: a short reason, or valid readings of the device of the topic or of devices below it.
 *
 * @param options.mayBeEmpty whether the format ignores payloads without a value
 * @throws {assert.AssertionError} when a rule is broken
 */
export function checkDecoded(
  decoded: readonly Reading[] | DecodeError,
  context: DecodeContext,
  options: { readonly mayBeEmpty: boolean },
): void {
  if (decoded instanceof DecodeError) {
    assert.ok(decoded.message.length > 0 && decoded.message.length < 500, decoded.message);
    assert.doesNotMatch(decoded.message, /^the decoder failed/);
    return;
  }
  assert.ok(decoded.length > 0 || options.mayBeEmpty, 'no readings, and no reason');
  assert.ok(decoded.length <= MAX_READINGS_PER_PAYLOAD, `${decoded.length} readings`);
  for (const reading of decoded) {
    checkReading(reading, context.received);
    const { device } = reading;
    const isOfTopic =
      context.device === null || device === context.device || device.startsWith(`${context.device}/`);
    assert.ok(isOfTopic, device);
  }
}

function checkReading(reading: Reading, now: number): void {
  const { device, metric, time, value, received, boot, seq } = reading;
  assert.equal(deviceNameProblem(device), null);
  assert.equal(metricNameProblem(metric), null);
  assert.ok(Number.isSafeInteger(time) && time >= 0 && time <= now + MAX_AHEAD, `time ${time}`);
  if (typeof value === 'number') assert.ok(Number.isFinite(value), `value ${value}`);
  else assert.ok(value.length <= MAX_TEXT_LENGTH && value.isWellFormed(), 'a text that cannot be stored');
  assert.ok(typeof value === 'number' || !value.includes('\0'), 'a text with NUL');
  assert.equal(received, now);
  assert.ok(seq === null || Number.isSafeInteger(seq), `seq ${seq}`);
  assert.ok(boot === null || (boot.length > 0 && boot.length <= 64), 'boot');
}
