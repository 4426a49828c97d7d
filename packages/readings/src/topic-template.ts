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
  const after = open === -1 ? 0 : levels.length - open - 1;
  const isPath = levels[open] === DEVICE_PATH || levels[open] === METRIC_PATH;
  const fewest = before + after + (isPath ? 1 : 0);
  const captureNames = levels.map((level) => (isKnown(level) ? null : (CAPTURE.exec(level)?.[1] ?? null)));
  const hasCaptures = captureNames.some((name) => name !== null);
  const beginsWild = /^[{+#]/.test(template);

  function match(topic: string): TopicNames | DecodeError | null {
    if (beginsWild && topic.startsWith('$')) return null;
    const parts = topic.split('/');
    if (parts.length < fewest || (open === -1 && parts.length > fewest)) return null;
    let device: string | null = null;
    let metric: string | null = null;
    let metricLevels: readonly string[] = [];
    const captured: Record<string, string> | null = hasCaptures ? {} : null;
    const shift = parts.length - levels.length;
    for (let i = 0; i < levels.length; i++) {
      if (i === open) {
        if (levels[i] === DEVICE_PATH) device = parts.slice(open, parts.length - after).join('/');
        if (levels[i] === METRIC_PATH) {
          metricLevels = parts.slice(open, parts.length - after);
          metric = metricLevels.join('.');
        }
        continue;
      }
      const level = levels[i]!;
      const part = parts[i < before ? i : i + shift]!;
      if (level === DEVICE) device = part;
      else if (level === METRIC) {
        metric = part;
        metricLevels = [part];
      } else if (captureNames[i] !== null) captured![captureNames[i]!] = part;
      else if (level !== '+' && level !== part) return null;
    }
    if (device !== null && deviceNameProblem(device) !== null) {
      device = device.split('/').map(cleanSegment).join('/');
    }
    if (metric !== null && metricNameProblem(metric) !== null) metric = cleanSegment(metric);
    const problem =
      (device === null ? null : deviceNameProblem(device)) ??
      (metric === null ? null : metricNameProblem(metric));
    if (problem !== null) return new DecodeError('invalid_name', `topic ${quote(topic)}: ${problem}`);
    return { device, metric, full: fullDevice(topic, device, metricLevels), captured };
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

function checkLevels(template: string, levels: readonly string[], captures: readonly string[]): void {
  const fail = (why: string): never => {
    throw new TypeError(`topic template ${JSON.stringify(template)}: ${why}`);
  };
  if (template === '') fail('it is empty; try sensors/{device+}/{metric}');
  if (Buffer.byteLength(template) > 65_535) fail('a topic has at most 65535 bytes');
  if (levels[0] === '$share') fail('give the topic without $share/<group>/; the group has its own setting');
  if (levels.filter((level) => level === DEVICE || level === DEVICE_PATH).length > 1) {
    fail('it names the device twice');
  }
  if (levels.filter((level) => level === METRIC || level === METRIC_PATH).length > 1)
    fail('it names the metric twice');
  if (levels.filter(isOpen).length > 1)
    fail('only one level can match several levels: {device+}, {metric+} or #');
  const named = new Set<string>();
  for (const [i, level] of levels.entries()) {
    if (level === '#' && i < levels.length - 1) fail('# must be its last level');
    if (isKnown(level)) continue;
    const name = CAPTURE.exec(level)?.[1];
    if (name !== undefined && captures.includes(name)) {
      if (named.has(name)) fail(`it names {${name}} twice`);
      named.add(name);
      continue;
    }
    if (/[{}+#]/.test(level)) {
      fail(
        `level ${JSON.stringify(level)} is neither a literal nor one of {device}, {device+}, {metric}, {metric+}, +, #` +
          (name === undefined ? '' : `, and no template of the mapping uses ${level}`),
      );
    }
    if (level.includes('\0')) fail('a topic cannot contain a NUL character');
  }
}
