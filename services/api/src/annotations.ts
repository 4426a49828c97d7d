import { ANNOTATION_METRIC, type Annotation, annotationOf, now, type Reading } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import { compareText, type Store } from '@tidegauge/storage';
import { defined } from './parameters.ts';

/** Annotations that one device can have at the same time: each takes the next microsecond. */
const MOST_AT_ONCE = 1000;

/** Selects annotations of devices. Times are microseconds. */
export interface AnnotationSelection {
  readonly devices: readonly string[];
  /** Those that end after it, or concern it or a later time. */
  readonly from: number | undefined;
  /** Those that begin before it. */
  readonly to: number | undefined;
  /** Continues after this annotation. */
  readonly after: Pick<Annotation, 'from' | 'device'> | undefined;
}

/**
 * The annotations that concern [from, to), the latest beginning first, then by device. Earlier ones are read too,
 * because a span has no largest length. One page of each device is in memory.
 */
export async function* annotationsOf(
  store: Store,
  { devices, from = 0, to, after }: AnnotationSelection,
): AsyncGenerator<Annotation> {
  const sources = devices.map((device) => {
    const most = after && (compareText(device, after.device) > 0 ? after.from + 1 : after.from);
    const end = to === undefined ? most : Math.min(to, most ?? to);
    const query = { device, metric: ANNOTATION_METRIC, to: end, limit: Number.MAX_SAFE_INTEGER };
    return store.readings.range(defined(query))[Symbol.asyncIterator]();
  });
  const next = async (source: AsyncIterator<Reading>): Promise<Reading | null> => {
    const { done, value } = await source.next();
    return done === true ? null : value;
  };
  try {
    const heads = await Promise.all(sources.map(next));
    for (;;) {
      let best = -1;
      for (const [index, head] of heads.entries()) {
        if (head !== null && isBefore(head, heads[best])) best = index;
      }
      if (best < 0) return;
      const annotation = annotationOf(heads[best]!);
      heads[best] = await next(sources[best]!);
      if (annotation !== null && (annotation.to ?? annotation.from + 1) > from) yield annotation;
    }
  } finally {
    await Promise.all(sources.map((source) => source.return?.()));
  }
}

/** Whether a reading comes before another one in the list; true without another one. */
function isBefore(reading: Reading, other: Reading | null | undefined): boolean {
  if (other === null || other === undefined) return true;
  const later = reading.time - other.time;
  return later > 0 || (later === 0 && compareText(reading.device, other.device) < 0);
}

/**
 * Stores an annotation. Others of its device at this time stay: it then begins some microseconds later. An equal one is
 * stored once, so a request can be repeated. Only one call at a time can be sure of that.
 *
 * @param value from `annotationValue`
 */
export async function addAnnotation(
  store: Store,
  device: string,
  from: number,
  value: string,
): Promise<Annotation> {
  const range = { from, to: from + MOST_AT_ONCE, order: 'asc', limit: MOST_AT_ONCE } as const;
  let time = from;
  for await (const each of store.readings.range({ device, metric: ANNOTATION_METRIC, ...range })) {
    if (each.value === value) return annotationOf(each)!;
    if (each.time === time) time += 1;
  }
  if (time === range.to)
    throw new Problem(409, 'Too many annotations', `${device} has ${MOST_AT_ONCE} annotations at this time.`);
  return writeAnnotation(store, device, time, value);
}

/** Stores or corrects the annotation of a device at a time. */
export async function writeAnnotation(
  store: Store,
  device: string,
  time: number,
  value: string,
): Promise<Annotation> {
  const origin = { received: now(), boot: null, seq: null, quality: 'ok' } as const;
  const reading: Reading = { device, metric: ANNOTATION_METRIC, time, value, ...origin };
  await store.readings.write([reading]);
  return annotationOf(reading)!;
}

/** Whether a device has an annotation at a time. */
export async function hasAnnotation(store: Store, device: string, time: number): Promise<boolean> {
  const query = { device, metric: ANNOTATION_METRIC, from: time, to: time + 1, limit: 1 };
  for await (const each of store.readings.range(query)) return annotationOf(each) !== null;
  return false;
}
