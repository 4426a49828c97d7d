import type { Progress } from '@tidegauge/copy';
import { now, type Reading } from '@tidegauge/readings';
import type { ImportSource } from './import-source.ts';
import { Tally } from './tally.ts';

/** Series that are counted. Of more, the number is a lower bound. */
const MOST_SERIES = 200_000;
const MOST_SAMPLES = 20;

/** What an import would store, without a store. */
export interface Preview {
  readonly source: string;
  readonly readings: number;
  readonly devices: number;
  readonly series: number;
  /** The earliest and the latest time, microseconds; null without a reading. */
  readonly first: number | null;
  readonly last: number | null;
  /** The first reading of each of the first series. */
  readonly sample: readonly { readonly reading: Reading; readonly unit: string | null }[];
  readonly tally: Tally;
}

/** Reads a source once, and stores nothing. */
export async function previewImport(
  open: (received: number) => ImportSource,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: Progress },
): Promise<Preview> {
  const source = open(now());
  const tally = new Tally();
  const [devices, series] = [new Set<string>(), new Set<string>()];
  const sample: { reading: Reading; unit: string | null }[] = [];
  let readings = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  try {
    for await (const step of source.steps(null, tally)) {
      signal.throwIfAborted();
      for (const { reading, unit } of step.readings) {
        const { device, metric, time } = reading;
        const key = `${device} ${metric}`;
        if (!series.has(key) && series.size < MOST_SERIES) {
          series.add(key);
          devices.add(device);
          if (sample.length < MOST_SAMPLES) sample.push({ reading, unit });
        }
        first = Math.min(first, time);
        last = Math.max(last, time);
      }
      readings += step.readings.length;
      progress.advance(step.readings.length, source.name, step.share);
      if (step.share > 0) progress.expectReadings(Math.round(progress.readings / step.share));
    }
  } finally {
    source.close?.();
  }
  return {
    source: source.name,
    readings,
    devices: devices.size,
    series: series.size,
    ...(readings === 0 ? { first: null, last: null } : { first, last }),
    sample,
    tally,
  };
}
