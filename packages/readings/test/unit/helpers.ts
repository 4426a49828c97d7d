import assert from 'node:assert/strict';
import { type DecodeContext, DecodeError, formats, type Reading } from '@tidegauge/readings';

/** 2026-11-21T12:00:00Z. */
export const RECEIVED = Date.UTC(2026, 10, 21, 12) * 1000;

export const CONTEXT: DecodeContext = { device: 'site-3/probe-7', metric: 'temperature', received: RECEIVED };
export const NAMELESS: DecodeContext = { device: null, metric: null, received: RECEIVED };

function bytes(payload: unknown): Uint8Array {
  if (payload instanceof Uint8Array) return payload;
  return Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
}

/** Decodes a payload that must be valid: bytes, text, or another value, which is converted with JSON.stringify. */
export function decode(
  format: string,
  payload: unknown,
  context: DecodeContext = CONTEXT,
): readonly Reading[] {
  const readings = formats[format]!(bytes(payload), context);
  if (readings instanceof DecodeError) assert.fail(`${readings}`);
  return readings;
}

/** Decodes a payload that must be refused. */
export function refuse(format: string, payload: unknown, context: DecodeContext = CONTEXT): DecodeError {
  const error = formats[format]!(bytes(payload), context);
  assert.ok(error instanceof DecodeError, 'it should have been refused');
  return error;
}

/** Readings in a short form: device, metric, value, and microseconds before `RECEIVED`. */
export function brief(readings: readonly Reading[]) {
  return readings.map(({ device, metric, value, time }) => [device, metric, value, RECEIVED - time]);
}
