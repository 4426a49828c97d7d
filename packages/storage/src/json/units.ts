import type { SeriesName, SeriesUnit } from '../contract.ts';
import { translated } from './errors.ts';
import { KeyedLog } from './keyed-log.ts';
import { isTexts } from './mapping.ts';
import type { Layout } from './schema.ts';
import type { SkippedLines } from './skipped-lines.ts';

/** The units of the metrics of one device. */
type Units = Readonly<Record<string, string>>;

/** The units of series, a document per device. They stay in the file: only their places are in memory. */
export class JsonUnits {
  readonly #folder: string;
  readonly #log: KeyedLog<Units>;

  constructor(layout: Layout, skipped: SkippedLines) {
    this.#folder = layout.folder;
    const documents = { is: isTexts, changed: () => {}, reset: () => {}, held: () => undefined };
    this.#log = new KeyedLog<Units>(layout.folder, 'units', documents, skipped);
  }

  async set(units: readonly SeriesUnit[]): Promise<void> {
    const byDevice = Map.groupBy(units, ({ device }) => device);
    await translated(this.#folder, () =>
      this.#log.change({
        keys: () => byDevice.keys(),
        apply: (device, current) => {
          const given = byDevice.get(device)!;
          if (current !== null && given.every(({ metric, unit }) => unitOf(current, metric) === unit))
            return current;
          return { ...current, ...Object.fromEntries(given.map(({ metric, unit }) => [metric, unit])) };
        },
      }),
    );
  }

  async of(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const devices = [...new Set(series.map(({ device }) => device))];
    const known = await translated(this.#folder, () => this.#log.documents(() => devices));
    return series.map(({ device, metric }) => {
      const units = known.get(device);
      return units === undefined ? null : unitOf(units, metric);
    });
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

/** A metric can have the name of a property of every object, such as `constructor`. */
function unitOf(units: Units, metric: string): string | null {
  return Object.hasOwn(units, metric) ? units[metric]! : null;
}
