import type { SeriesName, SeriesUnit } from '../contract.ts';
import type { Cells } from './cells.ts';
import { recordOf } from './reserved.ts';

/** Units of series, a cell for each. */
export class DerivedUnits {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  set(units: readonly SeriesUnit[]): Promise<void> {
    return this.#cells.put(
      units.map(({ device, metric, unit }) => ({
        device: recordOf(device),
        name: nameOf(metric),
        text: unit,
      })),
    );
  }

  async of(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const known = await this.#cells.of(series.map(({ device }) => recordOf(device)));
    return series.map(({ device, metric }) => known.get(recordOf(device))?.get(nameOf(metric)) ?? null);
  }
}

function nameOf(metric: string): string {
  return `unit ${metric}`;
}
