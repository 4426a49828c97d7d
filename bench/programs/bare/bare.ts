import type { Reading } from '@tidegauge/readings';

/**
 * The same work with the database driver alone. It writes the same readings, with the same durability, and a write can
 * be repeated. The table's key is (number of the series, time). Nothing is counted or checked. `readRecord` reads a
 * record from the table of the store.
 */
export interface Bare {
  write(batch: readonly Reading[]): Promise<unknown>;
  readRecord?(table: string, key: string): Promise<unknown>;
  close(): Promise<void>;
}

export interface BareModule {
  /** Opens the bare driver on the same server, file or folder as the store of this URL. */
  open(url: string): Promise<Bare>;
}

const numbers = new Map<string, number>();

/** The number of a series. A program with few series can keep such numbers in memory, as this function does. */
export function seriesOf({ device, metric }: Reading): number {
  const name = `${device}\n${metric}`;
  let number = numbers.get(name);
  if (number === undefined) {
    number = numbers.size + 1;
    numbers.set(name, number);
  }
  return number;
}

/** Sorts a batch in the order of the table's key, so that rows of the same page are written together. */
export function sorted(batch: readonly Reading[]): Reading[] {
  return batch.toSorted((a, b) => seriesOf(a) - seriesOf(b) || a.time - b.time);
}

export const QUALITIES: readonly string[] = ['ok', 'skewed', 'unsynced'];
