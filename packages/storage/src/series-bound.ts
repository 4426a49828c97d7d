import type { Reading } from '@tidegauge/readings';
import { MAX_METRICS, MAX_METRICS_READ } from './arguments.ts';
import { cachedBytes, MAX_CACHED_BYTES } from './cached-bytes.ts';
import { StoreError } from './errors.ts';

/**
 * The names of a device's stored metrics are loaded only when this process has seen more metrics of it than this. Most
 * devices have fewer. Up to this number, metrics are admitted without a check against the store.
 */
const ASK_FROM = 16;

interface Device {
  readonly metrics: Set<string>;
  /** Whether the names of the stored metrics were loaded into `metrics`: at most `MAX_METRICS_READ` of them. */
  complete: boolean;
}

/**
 * Bounds the number of metrics of a device to `MAX_METRICS`, because a read of all metrics reads each of them.
 *
 * A device can have more stored metrics than the bound: version 0.1.0 had no bound, and several processes can exceed it
 * together. At most `MAX_METRICS_READ` names are loaded, in any order. If the device has no more than that, all of its
 * stored metrics can still be written. If it has more, a stored metric whose name was not loaded is refused, unless
 * this process admitted it before it loaded the names.
 */
export class SeriesBound {
  readonly #stored: (device: string, limit: number) => Promise<readonly string[]>;
  readonly #devices = new Map<string, Device>();
  #bytes = 0;

  constructor(stored: (device: string, limit: number) => Promise<readonly string[]>) {
    this.#stored = stored;
  }

  /** Whether a series was admitted before. */
  readonly has = (device: string, metric: string): boolean =>
    this.#devices.get(device)?.metrics.has(metric) === true;

  /** @throws {StoreError} REJECTED with the indexes of the rows that exceed the bound. */
  async admit(batch: readonly Reading[]): Promise<void> {
    const full = new Set<string>();
    for (const [name, metrics] of this.#fresh(batch)) {
      const device = this.#device(name);
      if (!device.complete && device.metrics.size + metrics.size > ASK_FROM)
        await this.#complete(name, device);
      for (const metric of metrics) {
        if (device.metrics.size < MAX_METRICS) this.#add(device, metric);
        else if (!device.metrics.has(metric)) full.add(name);
      }
    }
    if (full.size > 0) this.#refuse(batch, full);
  }

  /** The metrics of series that were not admitted before, by device. */
  #fresh(batch: readonly Reading[]): Map<string, Set<string>> {
    const fresh = new Map<string, Set<string>>();
    for (const { device, metric } of batch) {
      if (this.has(device, metric)) continue;
      const metrics = fresh.get(device);
      if (metrics === undefined) fresh.set(device, new Set([metric]));
      else metrics.add(metric);
    }
    return fresh;
  }

  #refuse(batch: readonly Reading[], full: ReadonlySet<string>): void {
    const rows = batch.flatMap(({ device, metric }, row) =>
      full.has(device) && !this.has(device, metric) ? [row] : [],
    );
    const [row] = rows;
    if (row === undefined) return;
    const { device, metric } = batch[row]!;
    const message =
      `device ${device} has ${MAX_METRICS} metrics already, the most there may be, and ${metric} is new: ` +
      `name parts of it as devices beneath it, such as ${device}/part-1`;
    throw new StoreError('REJECTED', message, { rows });
  }

  async #complete(name: string, device: Device): Promise<void> {
    for (const metric of await this.#stored(name, MAX_METRICS_READ)) this.#add(device, metric);
    device.complete = true;
  }

  #device(name: string): Device {
    let device = this.#devices.get(name);
    if (device === undefined) {
      if (this.#bytes >= MAX_CACHED_BYTES) {
        this.#devices.clear();
        this.#bytes = 0;
      }
      device = { metrics: new Set(), complete: false };
      this.#devices.set(name, device);
      this.#bytes += cachedBytes(name);
    }
    return device;
  }

  #add({ metrics }: Device, metric: string): void {
    if (metrics.has(metric)) return;
    metrics.add(metric);
    this.#bytes += cachedBytes(metric);
  }
}
