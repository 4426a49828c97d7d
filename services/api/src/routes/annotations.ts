import {
  ALL_DEVICES,
  ANNOTATION_METRIC,
  type Annotation,
  annotationValue,
  deviceNameProblem,
  formatTime,
  MAX_TEXT_LENGTH,
  MAX_TIME,
} from '@tidegauge/readings';
import { demandWithin, isWithin, limitOf, Problem, Turns } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { addAnnotation, annotationsOf, hasAnnotation, writeAnnotation } from '../annotations.ts';
import type { Answers } from '../answers.ts';
import type { Cursors } from '../cursor.ts';
import type { Call, Handlers } from '../dispatch.ts';
import type { IngestClient } from '../ingest-client.ts';
import { device, invalid, queryOf, time, timesOf } from '../parameters.ts';

interface ListParameters {
  readonly device: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  readonly cursor: string;
}

/** A body, which the OpenAPI document describes. */
interface NewAnnotation {
  readonly device?: string;
  readonly from: string;
  readonly to?: string;
  readonly text: string;
}

/** The API writes annotations itself: they are no messages of sensors, and concern no alert, ledger or live stream. */
export function annotationHandlers(
  store: Store,
  ingest: IngestClient,
  cursors: Cursors,
  answers: Answers,
): Handlers {
  // One at a time, because it first reads which times are taken.
  const turns = new Turns(1);
  return {
    listAnnotations: async (call, response) => {
      const query = queryOf<ListParameters>(call);
      const devices = devicesOf(call, query.device);
      const { from, to } = timesOf(query);
      const key = ['annotations', devices, from, to];
      const position = query.cursor === undefined ? null : cursors.read(key, query.cursor, isPosition);
      const after = position === null ? undefined : { from: position[0], device: position[1] };
      await answers.list(response, {
        name: 'annotations',
        cost: 'scan',
        items: annotationsOf(store, { devices, from, to, after }),
        limit: query.limit ?? 100,
        sizeOf: ({ text, device }) => 300 + 2 * (text.length + device.length),
        toDocument,
        next: ({ from, device }) => cursors.write(key, [from, device]),
      });
    },

    createAnnotation: async (call, response) => {
      const body = call.body as NewAnnotation;
      const name = demandWithin(call, device(body.device ?? ALL_DEVICES, '/body/device'));
      const from = time(body.from, '/body/from')!;
      const value = valueIn(call, from);
      // An export of all devices has those that are registered. Another name can be a mistake.
      if (name === ALL_DEVICES) await store.devices.register([name]);
      else if ((await store.devices.get(name)) === null) noDevice(name);
      const created = await turns.run(response, () => addAnnotation(store, name, from, value));
      if (created === null) return;
      void ingest.compareRelay(name, created.from, created.from + 1);
      response.status(201).json(toDocument(created));
    },

    updateAnnotation: async (call, response) => {
      const { device, from } = placeOf(call);
      const value = valueIn(call, from);
      if (!(await hasAnnotation(store, device, from))) missing(call);
      const written = await writeAnnotation(store, device, from, value);
      void ingest.compareRelay(device, from, from + 1);
      response.json(toDocument(written));
    },

    deleteAnnotation: async (call, response) => {
      const { device, from } = placeOf(call);
      if (!(await hasAnnotation(store, device, from))) missing(call);
      await store.readings.delete({ device, metric: ANNOTATION_METRIC, from, to: from + 1 });
      response.status(204).end();
    },
  };
}

/**
 * The devices whose annotations concern devices: themselves, the levels above them, and all devices, as far as the sender
 * may read them. Without names: what concerns all devices that the sender may read.
 */
function devicesOf(call: Call, names: readonly string[] | undefined): readonly string[] {
  const limit = limitOf(call);
  const asked =
    names?.map((name, index) => demandWithin(call, device(name, `/query/device/${index}`))) ??
    (limit === null ? [] : [limit]);
  const levels = asked.flatMap((name) => {
    const segments = name.split('/');
    return segments.map((_, index) => segments.slice(0, index + 1).join('/'));
  });
  return [...new Set([...levels, ALL_DEVICES])].filter((level) => isWithin(limit, level));
}

/** The value of the annotation of a body that begins at a time. */
function valueIn({ body, principal }: Call, from: number): string {
  const { text, to } = body as Pick<NewAnnotation, 'text' | 'to'>;
  const end = time(to, '/body/to') ?? null;
  if (end !== null && end <= from) throw invalid('/body/to', 'is not after the beginning');
  const by = principal.kind === 'open' ? null : principal.id;
  const value = annotationValue({ text, to: end, by });
  if (value.length > MAX_TEXT_LENGTH) throw invalid('/body/text', 'is too long');
  return value;
}

/** The id of an annotation is its place in the store: the time and the device. */
function idOf({ device, from }: Annotation): string {
  return Buffer.from(`${from} ${device}`).toString('base64url');
}

/** The place of the annotation that the path names. @throws {Problem} 403, 404 */
function placeOf(call: Call): Pick<Annotation, 'device' | 'from'> {
  const place = Buffer.from(call.params.id!, 'base64url').toString();
  const [, digits = '', name = ''] = /^(\d{1,16}) (.+)$/s.exec(place) ?? [];
  const from = Number(digits);
  if (deviceNameProblem(name) !== null || from > MAX_TIME) missing(call);
  return { device: demandWithin(call, name), from };
}

function noDevice(name: string): never {
  throw new Problem(404, 'Not found', `There is no device ${name}.`);
}

function missing({ params }: Call): never {
  throw new Problem(404, 'Not found', `There is no annotation ${params.id}.`);
}

type Position = readonly [from: number, device: string];

function isPosition(value: unknown): value is Position {
  if (!Array.isArray(value)) return false;
  const [from, device] = value as readonly unknown[];
  return (
    Number.isSafeInteger(from) &&
    (from as number) >= 0 &&
    typeof device === 'string' &&
    deviceNameProblem(device) === null
  );
}

function toDocument(annotation: Annotation): Record<string, unknown> {
  const { device, from, to, text, by } = annotation;
  return {
    id: idOf(annotation),
    device: device === ALL_DEVICES ? null : device,
    from: formatTime(from),
    to: to === null ? null : formatTime(to),
    text,
    by,
  };
}
