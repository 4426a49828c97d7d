/** Devices of one group at most. */
const MAX_DEVICES = 256;
/** A group becomes smaller above this number of readings, and larger below half of it. */
const READINGS = 100_000;

/** Collects devices in groups that have about the same work, so that a copy saves its position regularly. */
export class DeviceGroups {
  readonly #devices: AsyncIterator<string>;
  #size = 1;

  constructor(devices: AsyncIterable<string>) {
    this.#devices = devices[Symbol.asyncIterator]();
  }

  /** The next devices. Empty at the end. */
  async next(): Promise<string[]> {
    const group: string[] = [];
    while (group.length < this.#size) {
      const { done, value } = await this.#devices.next();
      if (done === true) break;
      group.push(value);
    }
    return group;
  }

  /** @param readings those of the last group */
  measured(readings: number): void {
    if (readings > READINGS) this.#size = Math.max(1, this.#size >> 1);
    else if (readings < READINGS / 2) this.#size = Math.min(MAX_DEVICES, 2 * this.#size);
  }

  async close(): Promise<void> {
    await this.#devices.return?.();
  }
}
