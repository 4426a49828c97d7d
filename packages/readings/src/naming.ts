import { DecodeError } from './codec.ts';
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

/** The metric of a reading: that of the payload, or else that of the topic. */
export function resolveMetric(fromTopic: string | null, named: string | null): string | DecodeError {
  if (named === null) {
    return fromTopic ?? new DecodeError('invalid_name', 'neither the topic nor the payload names a metric');
  }
  const problem = metricNameProblem(named);
  return problem === null ? named : new DecodeError('invalid_name', problem);
}
