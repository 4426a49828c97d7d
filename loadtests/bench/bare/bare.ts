import type { Reading } from '@tidegauge/readings';

/**
 * What a program would do with the driver alone: the same readings, as durable and safe to repeat, in a
 * table by (number of the series, time), nothing counted or checked; and a record read from the store's own table.
 */
export interface Bare {
  write(batch: readonly Reading[]): Promise<unknown>;
  readRecord?(table: string, key: string): Promise<unknown>;
  close(): Promise<void>;
}

export interface BareModule {
  /** On the same server, file or folder as the store of that URL. */
  open(url: string): Promise<Bare>;
}

const numbers = new Map<string, number>();

/** A number for a series, which somebody who has few of them keeps in memory. */
export function seriesOf({ device, metric }: Reading): number {
  const name = `${device}\n${metric}`;
  let number = numbers.get(name);
  if (number === undefined) {
    number = numbers.size + 1;
    numbers.set(name, number);
  }
  return number;
}

/** In the table's order: neighbours in the batch are neighbours on a page. */
export function sorted(batch: readonly Reading[]): Reading[] {
  return batch.toSorted((a, b) => seriesOf(a) - seriesOf(b) || a.time - b.time);
}

export const QUALITIES: readonly string[] = ['ok', 'skewed', 'unsynced'];
