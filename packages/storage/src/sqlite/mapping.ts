import { QUALITIES, type Quality, type Reading } from '@tidegauge/readings';

export { fromField, fromPatch, toBucket, toDevice, toFields } from '../sql-mapping.ts';

type Row = Record<string, unknown>;

/** Columns of a reading for `toReading`, from `readings` or `recent`. */
export function readingColumns(table: string): string {
  const boot = `(select boots.boot from boots where boots.id = ${table}.boot)`;
  return `${table}.time, ${table}.value, ${table}.received, ${boot} as boot, ${table}.seq, ${table}.quality`;
}

const QUALITY_NUMBERS = new Map(QUALITIES.map((quality, index) => [quality, index]));

export function fromQuality(quality: Quality): number {
  return QUALITY_NUMBERS.get(quality) ?? 0;
}

export function toReading(device: string, metric: string, row: Row): Reading {
  const time = row.time as number;
  return {
    device,
    metric,
    time,
    value: row.value as number | string,
    received: time + (row.received as number),
    boot: row.boot as string | null,
    seq: row.seq as number | null,
    quality: QUALITIES[row.quality as number] ?? 'ok',
  };
}
