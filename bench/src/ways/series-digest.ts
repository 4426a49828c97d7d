import { createHash } from 'node:crypto';
import type { Reading } from '@tidegauge/readings';

/** What a sensor sends with a value, and a store must return. */
export type SentReading = Pick<Reading, 'device' | 'time' | 'value' | 'boot' | 'seq'>;

/** The number of readings, and a digest of them. */
export interface SeriesDigest {
  readonly count: number;
  /** SHA-256 in hexadecimal. It depends on the order. */
  readonly digest: string;
}

/** Readings that are missing, stored twice, changed, or in another order give another digest. */
export async function digestOf(
  readings: Iterable<SentReading> | AsyncIterable<SentReading>,
): Promise<SeriesDigest> {
  const hash = createHash('sha256');
  let count = 0;
  for await (const { device, time, value, boot, seq } of readings) {
    hash.update(`${JSON.stringify([device, time, value, boot, seq])}\n`);
    count++;
  }
  return { count, digest: hash.digest('hex') };
}
