import { type Reading, type ReadingDocument, toReadingDocumentWithUnit } from '@tidegauge/readings';
import { MAX_PAGE, type SeriesName, type Store } from '@tidegauge/storage';

/** Series whose units an answer keeps. The answer looks them up again beyond that. */
const MOST_KNOWN = 2000;

/** The units of the series of one answer, looked up part by part. */
export class ReadingUnits {
  readonly #store: Store;
  readonly #known = new Map<string, string | null>();
  /** The series that was looked up last. */
  #last: (SeriesName & { readonly unit: string | null }) | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Looks up the units of a part of the answer, before its documents are made. */
  readonly prepare = async (part: readonly SeriesName[]): Promise<void> => {
    if (this.#known.size > MOST_KNOWN) this.#known.clear();
    this.#last = null;
    const missing = new Map<string, SeriesName>();
    for (const [index, { device, metric }] of part.entries()) {
      const before = part[index - 1];
      if (before !== undefined && before.metric === metric && before.device === device) continue;
      const name = nameOf({ device, metric });
      if (!this.#known.has(name)) missing.set(name, { device, metric });
    }
    const series = [...missing];
    for (let start = 0; start < series.length; start += MAX_PAGE) {
      const some = series.slice(start, start + MAX_PAGE);
      const units = await this.#store.readings.units(some.map(([, names]) => names));
      for (const [index, [name]] of some.entries()) this.#known.set(name, units[index] ?? null);
    }
  };

  /** The unit of a series of the prepared part. Neighbours are often of one series. */
  readonly unitOf = ({ device, metric }: SeriesName): string | null => {
    const last = this.#last;
    if (last === null || last.metric !== metric || last.device !== device) {
      this.#last = { device, metric, unit: this.#known.get(nameOf({ device, metric })) ?? null };
    }
    return this.#last!.unit;
  };

  readonly toDocument = (reading: Reading): ReadingDocument =>
    toReadingDocumentWithUnit(reading, this.unitOf(reading));
}

function nameOf({ device, metric }: SeriesName): string {
  return `${device} ${metric}`;
}
