import { isWithin, type Principal, Problem } from '@tidegauge/service';

/** The part of a call that these functions use. */
interface Call {
  readonly principal: Principal;
}

/**
 * The operations that a key with a limit of devices may use: their handlers limit what they read and write with the
 * functions of this module. All other operations answer 403 to such a key, so that a new operation is safe.
 */
export const DEVICE_OPERATIONS: ReadonlySet<string> = new Set([
  'listReadings',
  'latestReadings',
  'aggregateReadings',
  'deliverReadings',
  'listDevices',
  'getDevice',
  'putDevice',
  'updateDevice',
  'deleteDevice',
  'live',
  'getSession',
  'beginSession',
  'endSession',
  'tsdbVersion',
  'tsdbAggregators',
  'tsdbFilters',
  'tsdbSuggest',
  'tsdbLookUp',
  'tsdbQuery',
  'tsdbPostQuery',
]);

/** The device that the sender of a request is limited to; null when it may use all devices. */
export function limitOf({ principal }: Call): string | null {
  return principal.devices;
}

/**
 * Refuses a device that the sender may not use. The answer is the same whether the device exists or not.
 *
 * @throws {Problem} 403
 */
export function demandWithin(call: Call, device: string): string {
  if (!isWithin(limitOf(call), device)) throw outside(call);
  return device;
}

/**
 * Refuses a request for many devices that cannot be limited to those of the sender.
 *
 * @throws {Problem} 403
 */
export function demandUnlimited(call: Call): void {
  if (limitOf(call) !== null) throw outside(call);
}

function outside(call: Call): Problem {
  const detail = `The key is limited to ${limitOf(call)} and the devices below it, and this request concerns other devices too.`;
  return new Problem(403, 'Forbidden', detail);
}
