import type { Reading } from '@tidegauge/readings';
import type { SourceReading } from './import-source.ts';
import type { Tally } from './tally.ts';

const MOST_READINGS = 50_000;
/** Texts of one chunk, UTF-16 code units. */
const MOST_TEXT = 4 * 1024 * 1024;

/** The readings of one series in a chunk. */
export interface SeriesChunk {
  readonly device: string;
  readonly metric: string;
  /** The unit that the source gives the series first; null without one. */
  unit: string | null;
  readonly byTime: Map<number, Reading>;
  first: number;
  last: number;
}

/** Readings of the source that are written and verified together. Of several of one series and time, the last is kept. */
export class Chunk {
  readonly #series = new Map<string, SeriesChunk>();
  #readings = 0;
  #text = 0;
  /** Readings that the chunk had already, with the same value. */
  repeated = 0;

  get isFull(): boolean {
    return this.#readings >= MOST_READINGS || this.#text >= MOST_TEXT;
  }

  series(): readonly SeriesChunk[] {
    return [...this.#series.values()];
  }

  add({ reading, unit }: SourceReading, tally: Tally): void {
    const { device, metric, time, value } = reading;
    const key = `${device} ${metric}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { device, metric, unit, byTime: new Map(), first: time, last: time };
      this.#series.set(key, series);
    }
    series.unit ??= unit;
    if (unit !== null && series.unit !== unit) {
      tally.add('refused', OTHER_UNIT, `${key}: ${unit}, and ${series.unit} before`);
      return;
    }
    const known = series.byTime.get(time);
    if (known === undefined) {
      this.#readings += 1;
      if (typeof value === 'string') this.#text += value.length;
    } else if (known.value === value) {
      this.repeated += 1;
      return;
    } else {
      tally.add('noted', 'a later value of the same series and time replaces it', `${key}: ${known.value}`);
    }
    series.byTime.set(time, reading);
    series.first = Math.min(series.first, time);
    series.last = Math.max(series.last, time);
  }
}

/** Values of several units in one series cannot be compared, and the store keeps one unit for a series. */
export const OTHER_UNIT = 'the series has another unit';
