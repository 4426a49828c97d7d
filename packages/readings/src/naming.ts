import { DecodeError } from './codec.ts';
import { quote } from './quote.ts';
import { deviceNameProblem, metricNameProblem } from './reading.ts';

// Brokers allow a device to write under its own topic only. So that this holds for what is stored too, a
// payload can only name devices beneath the topic's.

/** The device of a reading, from what the topic (`fromTopic`) and the payload (`named`) call it. */
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

/** The metric of a reading: the payload's name for it, else the topic's. */
export function resolveMetric(fromTopic: string | null, named: string | null): string | DecodeError {
  if (named === null) {
    return fromTopic ?? new DecodeError('invalid_name', 'neither the topic nor the payload names a metric');
  }
  const problem = metricNameProblem(named);
  return problem === null ? named : new DecodeError('invalid_name', problem);
}
