import { formatTime } from '@tidegauge/readings';
import type { AggregateOrigin, Bucket } from '@tidegauge/storage';

export type Figure = 'count' | 'min' | 'max' | 'mean' | 'sum';
export type End = 'first' | 'last';
export const FIGURES: readonly Figure[] = ['count', 'min', 'max', 'mean', 'sum'];
export const ENDS: readonly End[] = ['first', 'last'];

/** Approximate memory of a bucket and its document, bytes. */
export const BUCKET_BYTES = 300;

export function toBucketDocument(
  bucket: Bucket,
  figures: readonly Figure[],
  ends: readonly End[] = [],
): Record<string, unknown> {
  const document: Record<string, unknown> = { time: formatTime(bucket.time) };
  for (const figure of figures) document[figure] = bucket[figure];
  for (const end of ends) {
    document[end] = bucket[end];
    document[`${end}Time`] = formatTime(bucket[`${end}Time`]!);
  }
  return document;
}

export function toOriginDocument({ sources, incompleteBefore }: AggregateOrigin): Record<string, unknown> {
  return { sources, incompleteBefore: incompleteBefore === null ? null : formatTime(incompleteBefore) };
}
