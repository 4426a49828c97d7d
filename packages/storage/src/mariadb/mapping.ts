import { QUALITIES, type Quality, type Reading } from '@tidegauge/readings';
import type { Row } from './database.ts';

export { fromField, fromPatch, toBucket, toDevice, toFields, toGroup } from '../sql-mapping.ts';

/** Columns of a reading as `toReading` takes them, of `readings r left join boots b`. */
export const READING_COLUMNS = 'r.time, r.value, r.text, r.received, b.boot, r.seq, r.quality';

const QUALITY_NUMBERS = new Map(QUALITIES.map((quality, index) => [quality, index]));

// MariaDB stores -0 as 0, so the sign is stored with the quality.
const NEGATIVE_ZERO = 8;

/** A reading's quality, and whether its value is -0, as one small number. */
export function fromQuality(quality: Quality, value: number | string): number {
  return (QUALITY_NUMBERS.get(quality) ?? 0) + (Object.is(value, -0) ? NEGATIVE_ZERO : 0);
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const time = row.time as number;
  const quality = row.quality as number;
  const isNegativeZero = quality >= NEGATIVE_ZERO;
  return {
    device,
    metric,
    time,
    value: isNegativeZero ? -0 : ((row.text ?? row.value) as number | string),
    received: time + (row.received as number),
    boot: row.boot as string | null,
    seq: row.seq as number | null,
    quality: QUALITIES[quality % NEGATIVE_ZERO] ?? 'ok',
  };
}
