import { type DecodeContext, DecodeError } from './codec.ts';
import { quote } from './quote.ts';
import { deviceNameProblem, metricNameProblem } from './reading.ts';

// A broker's access rules let a device write under its own topic only. A payload can therefore only name devices
// below the topic's device, so that the rules also hold for stored readings.

/** The device of a reading, from the device of the topic (`fromTopic`) and of the payload (`named`). */
export function resolveDevice(fromTopic: string | null, named: string | null): string | DecodeError {
  if (named === null) {
    return fromTopic ?? new DecodeError('invalid_name', 'neither the topic nor the payload names a device');
  }
  const device =
    fromTopic === null || named === fromTopic || named.startsWith(`${fromTopic}/`)
      ? named
      : `${fromTopic}/${named}`;
  const problem = deviceNameProblem(device);
  return problem === null ? device : new DecodeError('invalid_name', `device ${quote(device)}: ${problem}`);
}

/** A name of a value that no level of a topic has. */
export const ANOTHER_NAME = '';

/**
 * The device of a value. Each level that the topic template names is in the device or in the metric of the value: the level
 * of the metric is in the device when the value has another name.
 *
 * @param named the device that the payload names; null without one
 * @param metric the name of the value in the payload; null without one
 */
export function deviceOfValue(
  context: DecodeContext,
  named: string | null,
  metric: string | null,
): string | DecodeError {
  const { device, full } = context;
  if (full === undefined || metric === null || metric === context.metric) return resolveDevice(device, named);
  if (full instanceof DecodeError) return full;
  return resolveDevice(full, named === null ? null : belowTopic(named, device, full));
}

/** A device of the payload without the device of the topic, which it can repeat; null when it names nothing else. */
function belowTopic(named: string, device: string | null, full: string | null): string | null {
  if (device === null || device === full || named === full || named.startsWith(`${full}/`)) return named;
  if (named === device) return null;
  return named.startsWith(`${device}/`) ? named.slice(device.length + 1) : named;
}

/** The metric of a reading: that of the payload, or else that of the topic. */
export function resolveMetric(fromTopic: string | null, named: string | null): string | DecodeError {
  if (named === null) {
    return fromTopic ?? new DecodeError('invalid_name', 'neither the topic nor the payload names a metric');
  }
  const problem = metricNameProblem(named);
  return problem === null ? named : new DecodeError('invalid_name', problem);
}
