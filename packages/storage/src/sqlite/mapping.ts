import { QUALITIES, type Quality, type Reading } from '@tidegauge/readings';

export { fromField, fromPatch, toDevice } from '../sql-mapping.ts';

/** The values of a row. */
export type Row = readonly unknown[];

/** Columns of a reading in the order of `toReading`, from a table of readings `r`. */
export const READING_COLUMNS =
  'r.time, r.value, r.received, (select b.boot from boots b where b.id = r.boot) as boot, r.seq, r.quality';

const QUALITY_NUMBERS = new Map(QUALITIES.map((quality, index) => [quality, index]));

export function fromQuality(quality: Quality): number {
  return QUALITY_NUMBERS.get(quality) ?? 0;
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const [time, value, delay, boot, seq, quality] = row;
  return {
    device,
    metric,
    time: time as number,
    value: value as number | string,
    received: (time as number) + (delay as number),
    boot: boot as string | null,
    seq: seq as number | null,
    quality: QUALITIES[quality as number] ?? 'ok',
  };
}
