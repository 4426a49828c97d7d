import type { CoreReadings, NativeReadings } from '../backend.ts';
import { compareText } from '../merge.ts';
import { textAt, writeAll } from './reserved.ts';

/** A text by reserved device and name. */
export interface Cell {
  readonly device: string;
  /** As a metric, so without line breaks. */
  readonly name: string;
  readonly text: string;
}

/** What cells need of an engine. */
type CellReadings = Pick<CoreReadings, 'write' | 'range' | 'delete'> & Pick<NativeReadings, 'latest'>;

/**
 * Small texts in readings at time 0. A cell is replaced as a whole, and of several writes the last one wins. So two
 * processes that change different cells of a device keep the changes of each other.
 */
export class Cells {
  readonly #readings: CellReadings;
  readonly #maxBatch: number;

  constructor(readings: CellReadings, maxBatch: number) {
    this.#readings = readings;
    this.#maxBatch = maxBatch;
  }

  async get(device: string, name: string): Promise<string | null> {
    for await (const { value } of this.#readings.range({ device, metric: name, limit: 1 }))
      return String(value);
    return null;
  }

  /** The cells of each device that has any, by name. */
  async of(devices: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    const found = new Map<string, Map<string, string>>();
    const names = [...new Set(devices)].sort(compareText);
    for (const { device, metric, value } of await this.#readings.latest(names, Number.MAX_SAFE_INTEGER)) {
      const cells = found.get(device);
      if (cells === undefined) found.set(device, new Map([[metric, String(value)]]));
      else cells.set(metric, String(value));
    }
    return found;
  }

  /** Not atomic: after an error or a crash, some of them can be stored. */
  async put(cells: readonly Cell[]): Promise<void> {
    const batch = cells.map(({ device, name, text }) => textAt(device, name, 0, text));
    await writeAll(this.#readings, batch, this.#maxBatch);
  }

  async delete(device: string, name: string): Promise<void> {
    await this.#readings.delete({ device, metric: name });
  }
}
