import {
  compileInfluxNames,
  type DecodeContext,
  DecodeError,
  decodePoint,
  type InfluxNames,
  parseTime,
  quote,
} from '@tidegauge/readings';
import { asHistory, type ImportSource, type SourceReading, type Step } from '../import-source.ts';
import type { Tally } from '../tally.ts';
import { fileName, fileVersion, TextReader } from '../text-reader.ts';

/** Templates as those of InfluxDB's line protocol, where a label is a tag. */
export const PROMETHEUS_DEVICE = '{job}/{instance}/{*}';
export const PROMETHEUS_METRIC = '{measurement}';

const NAME = '__name__';
/** A name of a metric; a Prometheus since version 3 quotes other names, inside of the braces. */
const METRIC = /^[A-Za-z_:][\w:]*/;
/** A label, and what follows it: a comma, or the brace after all labels, before which a comma can be. */
const LABEL =
  /\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_][\w.:]*))\s*(?:=\s*"((?:[^"\\]|\\.)*)")?\s*(,(?:\s*\})?|\})/y;
const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };
/** A value, and a time. OpenMetrics has an exemplar after them. */
const SAMPLE = /^\s*(\S+)(?:\s+(-?\d+(?:\.\d+)?))?\s*(?:#.*)?$/;

/** A value of a series. */
export interface PrometheusSample {
  /** By name; the name of the metric is `__name__`. */
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
  /** Microseconds since the epoch; null without one. */
  readonly time: number | null;
}

export interface PrometheusNames {
  readonly names: InfluxNames;
  readonly templates: readonly string[];
}

/** @throws {TypeError} when a template is not valid */
export function prometheusNames(device: string, metric: string): PrometheusNames {
  return { names: compileInfluxNames(device, metric), templates: [device, metric] };
}

/**
 * Samples with times, as `promtool tsdb dump` and `promtool tsdb dump-openmetrics` write them: Prometheus' text format with
 * milliseconds, or OpenMetrics with seconds. The size of a time selects the unit.
 */
export function prometheusFile(
  path: string,
  { names, templates }: PrometheusNames,
  received: number,
): ImportSource {
  return {
    name: fileName('prometheus', path),
    version: fileVersion(path, templates),
    steps: (position, tally) => read(path, names, received, position as number | null, tally),
  };
}

async function* read(
  path: string,
  names: InfluxNames,
  received: number,
  position: number | null,
  tally: Tally,
): AsyncGenerator<Step> {
  const reader = new TextReader(path, position ?? 0);
  try {
    while (await reader.more()) {
      const readings: SourceReading[] = [];
      for (const line of reader.text.split('\n')) {
        const text = line.trim();
        if (text === '' || text.startsWith('#')) continue;
        const sample = parseSample(text);
        if (typeof sample === 'string') tally.add('refused', sample, quote(text));
        else addSample(sample, names, received, readings, tally);
      }
      reader.take(reader.text.length);
      yield { readings, position: reader.offset, share: reader.share };
    }
  } finally {
    reader.close();
  }
}

/** A line with a sample; a text when it is none. */
export function parseSample(line: string): PrometheusSample | string {
  const labels = new Map<string, string>();
  const name = METRIC.exec(line)?.[0] ?? '';
  if (name !== '') labels.set(NAME, name);
  const at = readLabels(line, afterSpaces(line, name.length), labels);
  if (typeof at === 'string') return at;
  if ((labels.get(NAME) ?? '') === '') return 'the sample has no name';
  const [, text, stamp] = SAMPLE.exec(line.slice(at)) ?? [];
  if (text === undefined) return 'the sample has no value';
  const value = numberOf(text);
  if (value === null) return 'the value is no number';
  return { labels, value, time: stamp === undefined ? null : parseTime(Number(stamp)) };
}

/** Adds the labels in braces, if there are any. Returns the offset after them, or why they cannot be read. */
function readLabels(line: string, from: number, labels: Map<string, string>): number | string {
  if (line[from] !== '{') return from;
  let at = afterSpaces(line, from + 1);
  if (line[at] === '}') return at + 1;
  for (let end = ','; end === ','; ) {
    LABEL.lastIndex = at;
    const match = LABEL.exec(line);
    if (match === null) return 'the labels cannot be read';
    const [whole, quoted, word, value] = match;
    if (value === undefined && quoted === undefined) return 'the labels cannot be read';
    const key = word ?? unescaped(quoted!);
    const label = value === undefined ? NAME : key;
    if (labels.has(label)) return 'a label is there twice';
    labels.set(label, value === undefined ? key : unescaped(value));
    at += whole.length;
    end = match[4]!;
  }
  return at;
}

function afterSpaces(line: string, from: number): number {
  let at = from;
  while (line[at] === ' ') at += 1;
  return at;
}

/** Adds the reading of a sample, or counts why there is none. */
export function addSample(
  { labels, value, time }: PrometheusSample,
  names: InfluxNames,
  received: number,
  into: SourceReading[],
  tally: Tally,
): void {
  const measurement = labels.get(NAME)!;
  if (time === null) {
    tally.add('refused', 'the sample has no time that can be read', measurement);
    return;
  }
  if (!Number.isFinite(value)) {
    tally.add('skipped', 'the value is NaN or infinite, which also marks the end of a series', measurement);
    return;
  }
  const tags = [...labels].filter(([name, label]) => name !== NAME && label !== '');
  const point = { measurement, tags, fields: [['value', value] as const], timestamp: String(time) };
  const context: DecodeContext = { device: null, metric: null, received };
  const decoded = decodePoint(point, { precision: 'us', names }, context);
  if (decoded instanceof DecodeError)
    tally.add('refused', decoded.reason, `${measurement}: ${decoded.message}`);
  else for (const reading of decoded) into.push({ reading: asHistory(reading), unit: null });
}

function unescaped(text: string): string {
  return text.replace(/\\[n"\\]/g, (pair) => ESCAPES[pair]!);
}

/** As Go writes numbers: also NaN, +Inf and 0x1p-2, of which the last is not read. */
function numberOf(text: string): number | null {
  if (/^[+-]?Inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : null;
}
