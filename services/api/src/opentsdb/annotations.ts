import { forEach } from '@tidegauge/parallel';
import { ALL_DEVICES, type Annotation } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { annotationsOf } from '../annotations.ts';
import { tooLarge } from './errors.ts';
import type { TagFilter } from './filters.ts';
import type { Budget } from './points.ts';
import { micros, type Span } from './read-series.ts';
import { matchingDevices } from './tags.ts';

/** The most annotations of an answer. */
const MAX_ANNOTATIONS = 1000;
const DEVICES_AT_ONCE = 4;

export interface AnnotationOptions {
  readonly span: Span;
  /** The device that the sender is limited to, with those below it; null for all. */
  readonly within: string | null;
  readonly budget: Budget;
}

/**
 * The annotations that concern the time range, of the devices that match and of all devices, by time.
 *
 * @throws {Problem} 413 when there are too many, or it takes too long
 */
export async function readAnnotations(
  store: Store,
  filters: readonly TagFilter[],
  { span, within, budget }: AnnotationOptions,
): Promise<Annotation[]> {
  const found: Annotation[] = [];
  // All devices are registered as one, so they match without a filter.
  const range = { from: micros(span.start), to: micros(span.end + 1), after: undefined };
  await forEach(matchingDevices(store, filters, within, budget), DEVICES_AT_ONCE, async ({ device }) => {
    for await (const annotation of annotationsOf(store, { devices: [device], ...range })) {
      if (found.length === MAX_ANNOTATIONS)
        throw tooLarge(
          `There are more than ${MAX_ANNOTATIONS} annotations: shorten the time range, or select fewer devices.`,
        );
      found.push(annotation);
    }
  });
  return found.sort((a, b) => a.from - b.from);
}

/** Approximate memory of annotations, bytes. */
export function annotationBytes(annotations: readonly Annotation[]): number {
  return annotations.reduce((sum, { device, text }) => sum + 300 + 2 * (device.length + text.length), 0);
}

/** The form that OpenTSDB has for annotations. Its times are seconds. Grafana shows `description` only. */
export function toAnnotationDocument({ device, from, to, text }: Annotation): object {
  return {
    tsuid: '',
    description: device === ALL_DEVICES ? text : `${device}: ${text}`,
    notes: '',
    custom: null,
    startTime: Math.floor(from / 1e6),
    endTime: to === null ? 0 : Math.floor(to / 1e6),
  };
}
