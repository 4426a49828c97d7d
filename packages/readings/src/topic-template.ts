import { DecodeError } from './codec.ts';
import { cleanName } from './mapping/clean-name.ts';
import { quote } from './quote.ts';
import { deviceNameProblem, metricNameProblem } from './reading.ts';

/** The names that a topic gives to its readings; `null` for names that are not in its template. */
export interface TopicNames {
  readonly device: string | null;
  readonly metric: string | null;
  /** The device with the levels of the metric below it, for values that the payload names; an error when it is no device. */
  readonly full: string | DecodeError | null;
  /** The levels with other names, as they are in the topic; `null` without such levels. */
  readonly captured: Readonly<Record<string, string>> | null;
}

export interface TopicTemplate {
  readonly template: string;
  /** The MQTT filter to subscribe to. It may match more topics than `match`. */
  readonly filter: string;
  /** `null` for a topic of another route. A DecodeError for a topic of this route whose names cannot be stored. */
  match(topic: string): TopicNames | DecodeError | null;
}

const DEVICE = '{device}';
const DEVICE_PATH = '{device+}';
const METRIC = '{metric}';
const METRIC_PATH = '{metric+}';
const CAPTURE = /^\{([A-Za-z][A-Za-z0-9_]*)\}$/;

/** Levels of a topic, as the arguments of `slice`. After a level that matches any number of them, they count from the end. */
type Span = readonly [from: number, to: number | undefined];

export interface TemplateOptions {
  /** Other names that levels can have, for the templates of a mapping. */
  readonly captures?: readonly string[];
}

/**
 * Compiles a topic template such as `sensors/{device+}/{metric}`. Each level is a literal, `{device}` or `{metric}`
 * (one level), `{device+}` or `{metric+}` (one or more levels), another name in braces (one level), or an MQTT
 * wildcard, `+` or a last `#`. The levels of `{metric+}` are joined by `.`. As in MQTT, topics that begin with `$`
 * match literals only.
 *
 * A topic that ends in `/` is read as the same topic without it, when it does not match otherwise.
 *
 * Characters that names cannot have, such as spaces, are escaped as `cleanName` does. A valid name is never changed.
 *
 * @throws {TypeError} when the template is invalid
 * @example
 * const route = compileTopicTemplate('sensors/{device+}/{metric}');
 * route.filter; // 'sensors/#'
 * route.match('sensors/site-3/boiler/temperature'); // device 'site-3/boiler', metric 'temperature'
 */
export function compileTopicTemplate(
  template: string,
  { captures = [] }: TemplateOptions = {},
): TopicTemplate {
  const levels = template.split('/');
  checkLevels(template, levels, captures);

  const open = levels.findIndex(isOpen);
  const filter = (open === -1 ? levels : levels.slice(0, open + 1)).map(filterLevel).join('/');
  const before = open === -1 ? levels.length : open;
  const isMetricPath = levels[open] === METRIC_PATH;
  const isPath = levels[open] === DEVICE_PATH || isMetricPath;
  const fewest = open === -1 || isPath ? levels.length : levels.length - 1;
  const most = open === -1 ? levels.length : Number.POSITIVE_INFINITY;
  const beginsWild = /^[{+#]/.test(template);
  const spanOf = (index: number): Span => [
    index <= before ? index : index - levels.length,
    index < before ? index + 1 : index + 1 - levels.length || undefined,
  ];
  const spanOfName = (...names: readonly string[]): Span | null => {
    const index = levels.findIndex((level) => names.includes(level));
    return index === -1 ? null : spanOf(index);
  };
  const deviceSpan = spanOfName(DEVICE, DEVICE_PATH);
  const metricSpan = spanOfName(METRIC, METRIC_PATH);
  const others = levels.flatMap((level, index) =>
    isKnown(level) ? [] : [{ at: spanOf(index)[0], level, name: CAPTURE.exec(level)?.[1] }],
  );
  const literals = others.filter(({ name }) => name === undefined);
  const captured = others.filter(({ name }) => name !== undefined);

  /** The dots of a level differ from those between levels. */
  function metricOf(parts: readonly string[]): string {
    return cleanMetric(isMetricPath ? parts.map((part) => part.replaceAll('.', '~2E')).join('.') : parts[0]!);
  }

  function capturedOf(parts: readonly string[]): Readonly<Record<string, string>> | null {
    if (captured.length === 0) return null;
    return Object.fromEntries(captured.map(({ at, name }) => [name!, parts.at(at)!]));
  }

  function match(topic: string): TopicNames | DecodeError | null {
    if (beginsWild && topic.startsWith('$')) return null;
    const parts = topic.split('/');
    if (parts.length < fewest || parts.length > most) return null;
    if (literals.some(({ at, level }) => parts.at(at) !== level)) return null;
    const device = deviceSpan === null ? null : cleanDevice(parts.slice(...deviceSpan).join('/'));
    const metricLevels = levelsAt(parts, metricSpan);
    const metric = metricSpan === null ? null : metricOf(metricLevels);
    const problem = namesProblem(device, metric);
    if (problem !== null) return new DecodeError('invalid_name', `topic ${quote(topic)}: ${problem}`);
    return {
      device,
      metric,
      full: fullDevice(topic, device, metricLevels),
      captured: capturedOf(parts),
    };
  }

  // A topic that ends in "/" has an empty last level, which is no name.
  function matchTrimmed(topic: string): TopicNames | DecodeError | null {
    const names = match(topic);
    if (!topic.endsWith('/') || (names !== null && !(names instanceof DecodeError))) return names;
    const trimmed = match(topic.slice(0, -1));
    return trimmed === null || trimmed instanceof DecodeError ? names : trimmed;
  }

  return { template, filter, match: matchTrimmed };
}

function levelsAt(levels: readonly string[], span: Span | null): readonly string[] {
  return span === null ? [] : levels.slice(...span);
}

function namesProblem(device: string | null, metric: string | null): string | null {
  const problem = device === null ? null : deviceNameProblem(device);
  return problem ?? (metric === null ? null : metricNameProblem(metric));
}

/** The device of values that the payload names. Of the topic, `device` is valid, and `levels` are those of the metric. */
function fullDevice(
  topic: string,
  device: string | null,
  levels: readonly string[],
): string | DecodeError | null {
  if (levels.length === 0) return device;
  const own = levels.map((level) => (deviceNameProblem(level) === null ? level : cleanSegment(level)));
  const full = [...(device === null ? [] : [device]), ...own].join('/');
  const problem = deviceNameProblem(full);
  if (problem === null) return full;
  return new DecodeError(
    'invalid_name',
    `topic ${quote(topic)}: the payload names its values, so the device is ${quote(full)}: ${problem}; ` +
      'write + for a level that is not needed in the topic of the route',
  );
}

/** A device that is valid, or cleaned level by level. */
function cleanDevice(device: string): string {
  return deviceNameProblem(device) === null ? device : device.split('/').map(cleanSegment).join('/');
}

/** A metric that is valid, or cleaned. */
function cleanMetric(metric: string): string {
  return metricNameProblem(metric) === null ? metric : cleanSegment(metric);
}

/** Cleans a level of a topic. Empty levels and levels of dots are mistakes, so they stay and are refused. */
function cleanSegment(segment: string): string {
  return /^\.*$/.test(segment) ? segment : cleanName(segment);
}

/** Whether a level matches any number of topic levels. */
function isOpen(level: string): boolean {
  return level === DEVICE_PATH || level === METRIC_PATH || level === '#';
}

function isKnown(level: string): boolean {
  return level === DEVICE || level === METRIC || level === '+' || isOpen(level);
}

function filterLevel(level: string): string {
  if (isOpen(level)) return '#';
  return level === DEVICE || level === METRIC || CAPTURE.test(level) ? '+' : level;
}

/** @throws {TypeError} with the first mistake */
function checkLevels(template: string, levels: readonly string[], captures: readonly string[]): void {
  const problem = templateProblem(template, levels) ?? levelsProblem(levels, captures);
  if (problem !== null) throw new TypeError(`topic template ${JSON.stringify(template)}: ${problem}`);
}

/** What is wrong with a template as a whole, or null. */
function templateProblem(template: string, levels: readonly string[]): string | null {
  const hasSeveral = (isOne: (level: string) => boolean): boolean => levels.filter(isOne).length > 1;
  const mistakes = [
    [template === '', 'it is empty; try sensors/{device+}/{metric}'],
    [Buffer.byteLength(template) > 65_535, 'a topic has at most 65535 bytes'],
    [levels[0] === '$share', 'give the topic without $share/<group>/; the group has its own setting'],
    [hasSeveral((level) => level === DEVICE || level === DEVICE_PATH), 'it names the device twice'],
    [hasSeveral((level) => level === METRIC || level === METRIC_PATH), 'it names the metric twice'],
    [hasSeveral(isOpen), 'only one level can match several levels: {device+}, {metric+} or #'],
  ] as const;
  return mistakes.find(([isMade]) => isMade)?.[1] ?? null;
}

/** What is wrong with the first invalid level, or null. */
function levelsProblem(levels: readonly string[], captures: readonly string[]): string | null {
  const named = new Set<string>();
  for (const [i, level] of levels.entries()) {
    if (level === '#' && i < levels.length - 1) return '# must be its last level';
    if (isKnown(level)) continue;
    const name = CAPTURE.exec(level)?.[1];
    if (name === undefined || !captures.includes(name)) {
      const problem = literalProblem(level, name);
      if (problem !== null) return problem;
      continue;
    }
    if (named.has(name)) return `it names {${name}} twice`;
    named.add(name);
  }
  return null;
}

/** Why a level is no literal, or null. @param name the name in braces that it has */
function literalProblem(level: string, name: string | undefined): string | null {
  if (/[{}+#]/.test(level)) {
    return (
      `level ${JSON.stringify(level)} is neither a literal nor one of {device}, {device+}, {metric}, {metric+}, +, #` +
      (name === undefined ? '' : `, and no template of the mapping uses ${level}`)
    );
  }
  return level.includes('\0') ? 'a topic cannot contain a NUL character' : null;
}
