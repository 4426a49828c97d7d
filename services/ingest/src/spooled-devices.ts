import { firstLevelOf, type Reading } from '@tidegauge/readings';
import { DeviceShares } from './device-shares.ts';
import { BOUNDS } from './memory.ts';

/** Bytes of a device, and of a client, besides its name. */
const ENTRY_BYTES = 100;
/** Clients without memory for all of their devices that are known. With as many, all messages wait for the spool. */
const MOST_CROWDED = 10_000;

/** The newest spooled time of each device. Where memory is lacking, all devices of a client count as spooled. */
export class SpooledDevices {
  readonly #newest = new Map<string, number>();
  #shares = newShares();
  /** Clients with spooled devices that are not in `#newest`. */
  readonly #crowded = new Set<string>();

  remember(readings: readonly Reading[]): void {
    for (const { device, time } of readings) {
      const known = this.#newest.get(device);
      if (known === undefined && !this.#follow(device)) continue;
      if (known === undefined || time > known) this.#newest.set(device, time);
    }
  }

  /** Whether one of these readings must wait for the spool, because it is not newer than a spooled one of its device. */
  mustWait(readings: readonly Reading[]): boolean {
    if (isBehind(readings, this.#newest)) return true;
    const { size } = this.#crowded;
    if (size === 0 || size === MOST_CROWDED) return size > 0;
    return readings.some(
      ({ device }) => !this.#newest.has(device) && this.#crowded.has(firstLevelOf(device)),
    );
  }

  /** The spool is empty. */
  clear(): void {
    this.#newest.clear();
    this.#shares = newShares();
    this.#crowded.clear();
  }

  /** Whether there is memory for another device. */
  #follow(device: string): boolean {
    const client = firstLevelOf(device);
    if (this.#crowded.has(client)) return false;
    const bytes = ENTRY_BYTES + 2 * device.length;
    const hasRoom = this.#shares.take(device, bytes);
    if (!hasRoom && this.#crowded.size < MOST_CROWDED) this.#crowded.add(client);
    return hasRoom;
  }
}

/** Whether a reading is not newer than the newest one of its device. */
export function isBehind(readings: readonly Reading[], newest: ReadonlyMap<string, number>): boolean {
  return readings.some(({ device, time }) => time <= (newest.get(device) ?? Number.NEGATIVE_INFINITY));
}

function newShares(): DeviceShares {
  return new DeviceShares(BOUNDS.spooledDevices, (client) => ENTRY_BYTES + 2 * client.length);
}
