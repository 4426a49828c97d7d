import { DeviceDigest, SumDigest } from '@tidegauge/copy';
import type { Reading } from '@tidegauge/readings';

/** The digest of readings whose series come in any order, each by time. docs/copy.md has that of a day. */
export class SeriesDigests {
  readonly #series = new Map<string, DeviceDigest>();

  add(readings: readonly Reading[]): void {
    for (const reading of readings) {
      const name = `${reading.device} ${reading.metric}`;
      const digest = this.#series.get(name) ?? new DeviceDigest();
      this.#series.set(name, digest);
      digest.add(reading);
    }
  }

  /** The sum over all series and days. Call it after the last reading. */
  sum(): { readonly readings: number; readonly digest: string } {
    const sum = new SumDigest();
    for (const [name, digest] of this.#series)
      for (const [day, found] of digest.days()) sum.addDay(name, day, found);
    return { readings: sum.count, digest: sum.hex };
  }
}
