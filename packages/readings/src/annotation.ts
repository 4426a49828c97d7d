import { isTable } from './mapping/paths.ts';
import type { Reading } from './reading.ts';
import { formatTime, parseTime } from './time.ts';

/**
 * The metric of annotations: notes of people about a device, at a time or for a span. They are readings whose value is a
 * text, so that every store, export, copy and backup has them.
 */
export const ANNOTATION_METRIC = 'annotation';
/** The device of annotations that concern all devices. */
export const ALL_DEVICES = '@all';

export interface Annotation {
  /** `ALL_DEVICES` when it concerns all. */
  readonly device: string;
  /** Microseconds, the time of its reading. With the device it identifies the annotation. */
  readonly from: number;
  /** The end of its span, exclusive, microseconds; null when it concerns the time `from`. */
  readonly to: number | null;
  readonly text: string;
  /** The login of who wrote it last; null when it is not known. */
  readonly by: string | null;
}

/** The value of the reading of an annotation. Its length can exceed that of a value. */
export function annotationValue({ text, to, by }: Pick<Annotation, 'text' | 'to' | 'by'>): string {
  return JSON.stringify({
    text,
    ...(to === null ? {} : { to: formatTime(to) }),
    ...(by === null ? {} : { by }),
  });
}

/**
 * The annotation of a reading of the metric; null when its value is a number. A value that `annotationValue` did not
 * write is the text itself, so that a device can publish a note as `sensors/<device>/annotation`.
 */
export function annotationOf({ device, time, value }: Reading): Annotation | null {
  if (typeof value !== 'string') return null;
  const fields = fieldsOf(value);
  const end = parseTime(fields.to);
  return {
    device,
    from: time,
    to: end !== null && end > time ? end : null,
    text: typeof fields.text === 'string' ? fields.text : value,
    by: typeof fields.by === 'string' ? fields.by : null,
  };
}

function fieldsOf(value: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(value);
    return isTable(parsed) && typeof parsed.text === 'string' ? parsed : {};
  } catch {
    return {};
  }
}
