import { number, some } from '@tidegauge/copy';
import { formatTime } from '@tidegauge/readings';
import type { ImportResult } from './import-readings.ts';
import type { Preview } from './preview.ts';
import type { Outcome, Tally } from './tally.ts';

const TITLES: Readonly<Record<Outcome, string>> = {
  skipped: 'not a reading',
  noted: 'to note',
  refused: 'not stored',
};

/** Whether everything of the source that is a value is in the store. */
export function isComplete({ tally }: ImportResult): boolean {
  return tally.total('refused') === 0;
}

export function importDocument(result: ImportResult): object {
  const { source, counts, sums, tally, described } = result;
  const { skipped, noted, refused } = tally.toDocument();
  return {
    source,
    complete: isComplete(result),
    readings: counts,
    verified: { readings: sums.source.count, source: sums.source.hex, store: sums.store.hex },
    devicesDescribed: described,
    skipped,
    noted,
    refused,
  };
}

export function importText(result: ImportResult): string {
  const { source, counts, sums, tally, described } = result;
  const { readings, written, equal, repeated, replaced, kept } = counts;
  const lines = [
    `${source}: ${some(readings, 'reading')}, ${number(written)} written, ${number(equal)} were there`,
  ];
  if (repeated > 0) lines.push(`repeated in the source: ${some(repeated, 'reading')}`);
  if (replaced > 0)
    lines.push(`${number(replaced)} of the written readings replace another value in the store`);
  if (kept > 0) lines.push(`${some(kept, 'reading')} kept: the store has another value, received later`);
  if (described > 0) lines.push(`${some(described, 'device')} with a description now`);
  lines.push(
    ...tallyLines(tally),
    `verified: ${some(sums.store.count, 'reading')} in the store, digest ${sums.store.hex}, equal to the source`,
  );
  if (!isComplete(result)) lines.push('not complete: see what is not stored');
  return `${lines.join('\n')}\n`;
}

export function previewDocument({
  source,
  readings,
  devices,
  series,
  first,
  last,
  sample,
  tally,
}: Preview): object {
  const time = (value: number | null) => (value === null ? null : formatTime(value));
  return {
    source,
    readings,
    devices,
    series,
    first: time(first),
    last: time(last),
    sample: sample.map(({ reading, unit }) => ({
      device: reading.device,
      metric: reading.metric,
      time: formatTime(reading.time),
      value: reading.value,
      ...(unit === null ? {} : { unit }),
    })),
    ...tally.toDocument(),
  };
}

export function previewText({
  source,
  readings,
  devices,
  series,
  first,
  last,
  sample,
  tally,
}: Preview): string {
  const lines = [
    `${source}: ${some(readings, 'reading')} of ${number(series)} series of ${some(devices, 'device')}`,
  ];
  if (first !== null && last !== null) lines.push(`from ${formatTime(first)} to ${formatTime(last)}`);
  if (sample.length > 0) lines.push('the first reading of some series:');
  for (const { reading, unit } of sample) {
    const value = typeof reading.value === 'string' ? JSON.stringify(reading.value) : String(reading.value);
    const parts = [
      reading.device,
      reading.metric,
      formatTime(reading.time),
      value,
      ...(unit === null ? [] : [unit]),
    ];
    lines.push(`  ${parts.join(' ')}`);
  }
  lines.push(...tallyLines(tally), 'nothing was stored');
  return `${lines.join('\n')}\n`;
}

/** A line for each reason, with examples. */
function tallyLines(tally: Tally): string[] {
  const document = tally.toDocument();
  return (Object.keys(TITLES) as Outcome[]).flatMap((outcome) =>
    Object.entries(document[outcome])
      .toSorted(([, a], [, b]) => b.count - a.count)
      .map(([why, { count, examples }]) => {
        const shown = examples.length === 0 ? '' : ` (${examples.join('; ')})`;
        return `${TITLES[outcome]}: ${number(count)}: ${why}${shown}`;
      }),
  );
}
