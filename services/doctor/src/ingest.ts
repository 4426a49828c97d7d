import { fetchFor } from '@tidegauge/service';
import type { Comparison } from './clock.ts';

const ANSWER_MS = 5000;

/** The commit times that a running ingest reports. */
export interface IngestReport {
  /** Mean time to write a batch, seconds; null before the first one. */
  readonly commit: number | null;
  readonly writes: number;
  readonly clock: Comparison;
}

/** Reads /metrics of a running ingest. Rejects with the reason when it does not answer within 5 s. */
export async function readIngest(url: string): Promise<IngestReport> {
  const from = Date.now();
  const metrics = new URL('/metrics', url);
  const response = await fetchFor('read metrics of ingest', metrics, { timeoutMs: ANSWER_MS });
  const text = await response.text();
  if (!response.ok) throw new Error(`it answers ${response.status}`);
  const took = (Date.now() - from) / 1000;
  const { sum, count } = totals(text);
  return {
    commit: count === 0 ? null : sum / count,
    writes: count,
    clock: fromDate(`ingest at ${new URL(url).host}`, response.headers.get('date'), from / 1000, took),
  };
}

/** Of `tidegauge_store_seconds{op="readings.write"}`, over all backends. */
export function totals(text: string): { sum: number; count: number } {
  const total = { sum: 0, count: 0 };
  for (const [, which, labels, value] of text.matchAll(
    /^tidegauge_store_seconds_(sum|count)\{(.*)\} (\S+)$/gm,
  )) {
    if (labels!.includes('op="readings.write"')) total[which as 'sum' | 'count'] += Number(value);
  }
  return total;
}

/**
 * Compares the clock of a Date header. The header is truncated to seconds, so the middle of that second is used; the
 * uncertainty is half a second plus half the round trip.
 */
export function fromDate(source: string, date: string | null, sentAt: number, took: number): Comparison {
  const seconds = Date.parse(date ?? '') / 1000;
  if (!Number.isFinite(seconds)) return { source, offset: null, uncertainty: 0, why: 'it sends no Date' };
  return { source, offset: seconds + 0.5 - (sentAt + took / 2), uncertainty: 0.5 + took / 2 };
}
