import { MAX_DEVICE_LENGTH, MAX_METRIC_LENGTH, MAX_SEGMENTS } from '../reading.ts';
import { DIGEST_LENGTH, digest, escapeName, fitName } from './escape-name.ts';
import type { Point } from './influx-line.ts';

/**
 * The tags that name a device by default, the most significant first. Telegraf adds `host` to all its lines, and Home
 * Assistant has `entity_id`.
 */
const NAMING_TAGS = 'host,device,device_id,sensor_id,entity_id';

/** Default templates of device and metric. */
export const INFLUX_DEVICE = `{db}/{${NAMING_TAGS}}/{*}`;
export const INFLUX_METRIC = '{measurement}.{field}';

/** Builds the names of the readings of a line. All names are valid. */
export interface InfluxNames {
  /** The device of a line below the device of the topic; null when the line has no tags that name one. */
  device(point: Point, database: string | null, parent: string | null): string | null;
  /** The metric of each field of a line. */
  metric(point: Point): (field: string) => string;
}

/** A part of a template: a literal, or the names in braces, of which the first one that the line has is used. */
type Piece = string | readonly string[];

/** Longest template, in UTF-16 units, and names in its braces. They are looked up for each line. */
const MAX_TEMPLATE = 500;
const MOST_NAMES = 32;
const LITERAL = /^[\p{L}\p{N}_.:@~-]+$/u;

/**
 * Compiles the templates of device and metric. A template has literals and names in braces: `{measurement}`,
 * `{field}` (metric only), `{db}` (the database or bucket of an HTTP request), and tags. `{host,device}` is the first
 * tag of these that the line has. A segment of a device is left out when the line has none of its tags. `{*}`, as a
 * whole segment of a device, is a segment `key:value` for each other tag, in the order of their keys.
 *
 * Names are cleaned as in a mapping: characters that names do not allow become `~` and hexadecimal digits. A name that is too
 * long ends with `~-` and a hash of the rest. With the default templates, lines of different series have different
 * names, unless they name one device by different tags.
 *
 * @throws {TypeError} when a template is not valid
 */
export function compileInfluxNames(device = INFLUX_DEVICE, metric = INFLUX_METRIC): InfluxNames {
  for (const template of [device, metric])
    if (template.length > MAX_TEMPLATE)
      throw new TypeError(`a template has ${template.length} characters; at most ${MAX_TEMPLATE} are used`);
  const segments = device.split('/').map((segment) => piecesOf(device, segment));
  const word = piecesOf(metric, metric);
  const all = [...segments.flat(), ...word];
  if (namesOf(all).length > MOST_NAMES)
    throw bad(device, `it and the template of the metric have more than ${MOST_NAMES} names in braces`);
  if (
    segments.some((pieces) => !isRest(pieces) && namesOf(pieces).includes('*')) ||
    namesOf(word).includes('*')
  )
    throw bad(device, '{*} must be a whole segment of the device');
  if (namesOf(segments.flat()).includes('field')) throw bad(device, 'a device cannot depend on {field}');

  return {
    device(point, database, parent) {
      const parts: string[] = [];
      for (const pieces of segments) {
        if (isRest(pieces)) parts.push(...otherTags(point, all));
        else parts.push(...segmentsOf(pieces, point, database));
      }
      return parts.length === 0 ? null : joinSegments(parts, parent);
    },
    metric(point) {
      // What the line gives is looked up once; null is the place of the field.
      const texts = word.map((piece) => {
        if (typeof piece === 'string') return piece;
        const found = lookUp(piece, point, null, '');
        if (found === null) return '';
        if (found.key === 'field') return null;
        // Without its dots the measurement ends at the first dot of the default template.
        return escapeName(found.value, found.key === 'measurement' ? '.' : '');
      });
      return (field) => {
        const own = escapeName(field);
        let name = '';
        for (const text of texts) name += text ?? own;
        // Without its tags, a template can leave nothing, or only dots, which are no name.
        return fitName(/^\.*$/.test(name) ? own : name, MAX_METRIC_LENGTH);
      };
    },
  };
}

function piecesOf(template: string, text: string): Piece[] {
  const pieces: Piece[] = [];
  for (const part of text.split(/(\{[^{}]*\})/)) {
    if (part === '') continue;
    if (part.startsWith('{') && part.endsWith('}')) {
      const names = part.slice(1, -1).split(',');
      if (names.includes('')) throw bad(template, `${part} has an empty name`);
      pieces.push(names);
    } else if (LITERAL.test(part)) pieces.push(part);
    else throw bad(template, `${JSON.stringify(part)} must be letters, digits and _ . : @ ~ - only`);
  }
  // An empty segment would make an invalid name.
  if (pieces.length === 0) throw bad(template, 'it has an empty segment');
  if (/^\.+$/.test(text)) throw bad(template, 'a name cannot be of dots only');
  return pieces;
}

function bad(template: string, why: string): TypeError {
  return new TypeError(`template ${JSON.stringify(template)}: ${why}`);
}

function isRest(pieces: readonly Piece[]): boolean {
  const [only] = pieces;
  return pieces.length === 1 && typeof only === 'object' && only.length === 1 && only[0] === '*';
}

function namesOf(pieces: readonly Piece[]): readonly string[] {
  return pieces.flatMap((piece) => (typeof piece === 'string' ? [] : piece));
}

interface Found {
  readonly key: string;
  readonly value: string;
  readonly isTag: boolean;
}

function lookUp(
  names: readonly string[],
  point: Point,
  database: string | null,
  field: string,
): Found | null {
  for (const key of names) {
    if (key === 'measurement') return { key, value: point.measurement, isTag: false };
    if (key === 'field') return { key, value: field, isTag: false };
    if (key === 'db') {
      if (database !== null) return { key, value: database, isTag: false };
      continue;
    }
    const tag = point.tags.find(([name]) => name === key);
    if (tag !== undefined) return { key, value: tag[1], isTag: true };
  }
  return null;
}

/** The segments of a part of the device template; none when the line has not all of its names. */
function segmentsOf(pieces: readonly Piece[], point: Point, database: string | null): readonly string[] {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      text += piece;
      continue;
    }
    const found = lookUp(piece, point, database, '');
    if (found === null) return [];
    // A database `telegraf/autogen` is two segments.
    if (found.key === 'db' && pieces.length === 1) {
      const parts = found.value.split('/').filter((part) => part !== '');
      return parts.map((part) => escapeName(part));
    }
    // A value with a colon is written with its key, so that it cannot be another tag.
    const isKeyed = pieces.length === 1 && found.isTag && found.value.includes(':');
    text += isKeyed ? keyed(found.key, found.value) : escapeName(found.value);
  }
  return [text];
}

/** The tags that no other part of the templates uses. Of several tags in one pair of braces, one is used. */
function otherTags(point: Point, pieces: readonly Piece[]): readonly string[] {
  const used = new Set<string>();
  for (const piece of pieces) {
    const found = typeof piece === 'string' ? null : lookUp(piece, point, null, '');
    if (found?.isTag === true) used.add(found.key);
  }
  return point.tags
    .filter(([key]) => !used.has(key))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => keyed(key, value));
}

function keyed(key: string, value: string): string {
  return `${escapeName(key, ':')}:${escapeName(value)}`;
}

/** Joins segments to a device that fits below `parent`. Segments that do not fit become one hash. */
function joinSegments(parts: readonly string[], parent: string | null): string {
  const above = parent === null ? 0 : parent.split('/').length;
  const length = MAX_DEVICE_LENGTH - (parent === null ? 0 : parent.length + 1);
  const whole = parts.join('/');
  if (above + parts.length <= MAX_SEGMENTS && whole.length <= length) return whole;
  let device = '';
  let kept = 0;
  while (kept < parts.length && above + kept + 1 < MAX_SEGMENTS) {
    const next = device === '' ? parts[kept]! : `${device}/${parts[kept]!}`;
    if (next.length + 1 + DIGEST_LENGTH > length) break;
    device = next;
    kept++;
  }
  const rest = digest(parts.slice(kept).join('/'));
  return device === '' ? rest : `${device}/${rest}`;
}
