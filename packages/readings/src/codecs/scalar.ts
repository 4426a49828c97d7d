import { type DecodeContext, DecodeError } from '../codec.ts';
import { makeReading, readValue } from '../make-reading.ts';
import { resolveDevice, resolveMetric } from '../naming.ts';
import type { Reading } from '../reading.ts';

/** A payload that is one bare value: the topic says whose, the moment says when. */
export function readScalar(root: unknown, context: DecodeContext): readonly Reading[] | DecodeError {
  const value = readValue(root, null);
  if (value instanceof DecodeError) return value;
  const device = resolveDevice(context.device, null);
  if (device instanceof DecodeError) return device;
  const metric = resolveMetric(context.metric, null);
  if (metric instanceof DecodeError) return metric;
  return [makeReading(device, metric, context.received, value, context.received, null, null)];
}
