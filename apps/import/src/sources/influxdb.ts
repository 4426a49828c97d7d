import {
  type DecodeContext,
  DecodeError,
  decodePoint,
  findLines,
  type InfluxNames,
  type InfluxPrecision,
  type Point,
  parsePoint,
  quote,
  type Reading,
} from '@tidegauge/readings';
import { asHistory, type ImportSource, type SourceReading, type Step } from '../import-source.ts';
import type { Tally } from '../tally.ts';
import { fileName, fileVersion, TextReader } from '../text-reader.ts';

export interface InfluxOptions {
  readonly precision: InfluxPrecision;
  readonly names: InfluxNames;
  /** The database or bucket, if the file does not name it; null without one. */
  readonly database: string | null;
  /** What the version of the source depends on. */
  readonly templates: readonly (string | null)[];
}

/** Where lines are stored. */
interface Place {
  database: string | null;
  policy: string | null;
}

interface Position extends Readonly<Place> {
  readonly offset: number;
}

/** An unbalanced quote joins the lines after it to one. A longer one ends at its first newline. */
const MOST_LINE = 1024 * 1024;
/** Lines of `influx_inspect export` that create its databases. */
const STATEMENT = /^(?:CREATE|ALTER) (?:DATABASE|RETENTION POLICY) /;
/** The comments with which it changes the database. */
const CONTEXT = /^#\s*CONTEXT-(DATABASE|RETENTION-POLICY):(.*?)\r?$/gm;
/** The retention policy that writes use without a name. */
const DEFAULT_POLICY = 'autogen';

/**
 * Line protocol as `influx_inspect export` (InfluxDB 1.x) and `influxd inspect export-lp` (2.x) write it. Each field is a
 * reading, with the names that the same line has when it is sent to Tidegauge.
 */
export function influxFile(path: string, options: InfluxOptions, received: number): ImportSource {
  return {
    name: fileName('influxdb', path),
    version: fileVersion(path, [options.precision, options.database, ...options.templates]),
    steps: (position, tally) => read(path, options, received, position as Position | null, tally),
  };
}

async function* read(
  path: string,
  options: InfluxOptions,
  received: number,
  position: Position | null,
  tally: Tally,
): AsyncGenerator<Step> {
  const reader = new TextReader(path, position?.offset);
  const context: DecodeContext = { device: null, metric: null, received };
  const place: Place = { database: position?.database ?? null, policy: position?.policy ?? null };
  try {
    while (await reader.more()) {
      const { text, isLast } = reader;
      const readings: SourceReading[] = [];
      let end = readLines(text, isLast, place, (line, name) =>
        readLine(line, { ...options, database: name ?? options.database }, context, readings, tally),
      );
      if (text.length - end > MOST_LINE) {
        const newline = text.indexOf('\n', end) + 1;
        tally.add('refused', 'line protocol: unbalanced quotes', quote(text.slice(end, newline)));
        end = newline;
      }
      reader.take(end);
      yield { readings, position: { offset: reader.offset, ...place }, share: reader.share };
    }
  } finally {
    reader.close();
  }
}

/** Passes each line with the name of its database to `take`, and follows the comments. Returns where the rest begins. */
function readLines(
  text: string,
  isLast: boolean,
  place: Place,
  take: (line: string, database: string | null) => void,
): number {
  let end = 0;
  for (const { from, to } of findLines(text)) {
    if (end < from) follow(place, text.slice(end, from));
    // The last line can have a quote that the lines so far do not close.
    if (!isLast && to === text.length) return from;
    end = to;
    const name = fullName(place);
    for (const line of linesOf(text.slice(from, to))) {
      if (line.startsWith('#')) follow(place, line);
      else if (line.trim() !== '') take(line, name);
    }
  }
  follow(place, text.slice(end));
  return text.length;
}

/** Changes the place as the comments of an export state it. */
function follow(place: Place, comments: string): void {
  for (const [, key, value] of comments.matchAll(CONTEXT)) {
    if (key === 'DATABASE') place.database = value!;
    place.policy = key === 'DATABASE' ? null : value!;
  }
}

/** A line, or the lines of it that a quote without an end has joined. */
function linesOf(line: string): readonly string[] {
  const isJoined = line.includes('\n') && typeof parsePoint(line) === 'string';
  return isJoined ? line.split('\n') : [line];
}

/** As an HTTP request names it: the default retention policy is not in the name. */
function fullName({ database, policy }: Place): string | null {
  if (database === null || database === '') return null;
  return policy === null || policy === '' || policy === DEFAULT_POLICY ? database : `${database}/${policy}`;
}

function readLine(
  line: string,
  options: InfluxOptions,
  context: DecodeContext,
  into: SourceReading[],
  tally: Tally,
): void {
  const point = parsePoint(line);
  if (typeof point === 'string') {
    if (STATEMENT.test(line)) tally.add('skipped', 'a statement that creates a database', line);
    else tally.add('refused', `line protocol: ${point}`, quote(line));
    return;
  }
  if (point instanceof DecodeError) {
    tally.add('refused', `line protocol: ${point.reason}`, point.message);
    return;
  }
  if (point.timestamp === null) {
    tally.add('refused', 'the line has no timestamp', quote(line), point.fields.length);
    return;
  }
  if (options.precision === 'ns' && !point.timestamp.endsWith('000') && point.timestamp !== '0')
    tally.add('noted', 'digits of the time below a microsecond are cut', quote(line), point.fields.length);
  for (const reading of readingsOf(point, options, context, tally)) into.push({ reading, unit: null });
}

/** The readings of the fields that can be stored. */
function readingsOf(
  point: Point,
  options: InfluxOptions,
  context: DecodeContext,
  tally: Tally,
): readonly Reading[] {
  const changes: [field: string, why: string][] = [];
  const notes = { unit: () => {}, ignored: (...change: [string, string]) => void changes.push(change) };
  const decoded = decodePoint(point, options, { ...context, notes });
  if (!(decoded instanceof DecodeError)) {
    for (const [field, why] of changes) tally.add('noted', why, `${point.measurement} ${field}`);
    return decoded.map(asHistory);
  }
  if (point.fields.length > 1)
    return point.fields.flatMap((field) =>
      readingsOf({ ...point, fields: [field] }, options, context, tally),
    );
  tally.add('refused', decoded.reason, `${point.measurement} ${point.fields[0]![0]}: ${decoded.message}`);
  return [];
}
