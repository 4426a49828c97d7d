import { type DecodeContext, DecodeError } from '../codec.ts';
import { makeReading, readValue } from '../make-reading.ts';
import { resolveDevice, resolveMetric } from '../naming.ts';
import type { Reading } from '../reading.ts';

/** Makes a reading from one bare value: device and metric are from the topic, and the time is the receive time. */
export function readScalar(root: unknown, context: DecodeContext): readonly Reading[] | DecodeError {
  const value = readValue(root, null);
  if (value instanceof DecodeError) return value;
  const device = resolveDevice(context.device, null);
  if (device instanceof DecodeError) return device;
  const metric = resolveMetric(context.metric, null);
  if (metric instanceof DecodeError) return metric;
  return [makeReading(device, metric, context.received, value, context.received, null, null)];
}
