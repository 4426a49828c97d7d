import { firstLevelOf } from '@tidegauge/readings';

/**
 * From when on readings of late devices can lack in a ledger file, microseconds since the epoch: by device, and by client
 * for those that are not kept one by one.
 */
export type Late = ReadonlyMap<string, number>;

/** The name of all devices of a client. No device has such a name. */
export function lateClientOf(device: string): string {
  return `${firstLevelOf(device)}/`;
}

export function isLateClient(name: string): boolean {
  return name.endsWith('/');
}

/** The time of a device; infinite when it is not late. */
export function lateFrom(late: Late, device: string): number {
  const of = (name: string) => late.get(name) ?? Number.POSITIVE_INFINITY;
  return Math.min(of(device), of(lateClientOf(device)));
}
