import { DecodeError } from './codec.ts';
import { quote } from './quote.ts';
import { deviceNameProblem, metricNameProblem } from './reading.ts';

/** The names that a topic gives to its readings; `null` for names that are not in its template. */
export interface TopicNames {
  readonly device: string | null;
  readonly metric: string | null;
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

/**
 * Compiles a topic template such as `sensors/{device+}/{metric}`. Each level is a literal, `{device}` or `{metric}`
 * (one level), `{device+}` (one or more levels), or an MQTT wildcard, `+` or a last `#`. As in MQTT, topics that
 * begin with `$` match literals only.
 *
 * @throws {TypeError} when the template is invalid
 * @example
 * const route = compileTopicTemplate('sensors/{device+}/{metric}');
 * route.filter; // 'sensors/#'
 * route.match('sensors/site-3/boiler/temperature'); // { device: 'site-3/boiler', metric: 'temperature' }
 */
export function compileTopicTemplate(template: string): TopicTemplate {
  const levels = template.split('/');
  checkLevels(template, levels);

  const open = levels.findIndex(isOpen);
  const filter = (open === -1 ? levels : levels.slice(0, open + 1)).map(filterLevel).join('/');
  const before = open === -1 ? levels.length : open;
  const after = open === -1 ? 0 : levels.length - open - 1;
  const fewest = before + after + (levels[open] === DEVICE_PATH ? 1 : 0);
  const beginsWild = /^[{+#]/.test(template);

  function match(topic: string): TopicNames | DecodeError | null {
    if (beginsWild && topic.startsWith('$')) return null;
    const parts = topic.split('/');
    if (parts.length < fewest || (open === -1 && parts.length > fewest)) return null;
    let device: string | null = null;
    let metric: string | null = null;
    const shift = parts.length - levels.length;
    for (let i = 0; i < levels.length; i++) {
      if (i === open) {
        if (levels[i] === DEVICE_PATH) device = parts.slice(open, parts.length - after).join('/');
        continue;
      }
      const level = levels[i]!;
      const part = parts[i < before ? i : i + shift]!;
      if (level === DEVICE) device = part;
      else if (level === METRIC) metric = part;
      else if (level !== '+' && level !== part) return null;
    }
    const problem =
      (device === null ? null : deviceNameProblem(device)) ??
      (metric === null ? null : metricNameProblem(metric));
    if (problem !== null) return new DecodeError('invalid_name', `topic ${quote(topic)}: ${problem}`);
    return { device, metric };
  }

  return { template, filter, match };
}

/** Whether a level matches any number of topic levels. */
function isOpen(level: string): boolean {
  return level === DEVICE_PATH || level === '#';
}

function filterLevel(level: string): string {
  if (isOpen(level)) return '#';
  return level === DEVICE || level === METRIC ? '+' : level;
}

function checkLevels(template: string, levels: readonly string[]): void {
  const fail = (why: string): never => {
    throw new TypeError(`topic template ${JSON.stringify(template)}: ${why}`);
  };
  if (template === '') fail('it is empty; try sensors/{device+}/{metric}');
  if (Buffer.byteLength(template) > 65_535) fail('a topic has at most 65535 bytes');
  if (levels[0] === '$share') fail('give the topic without $share/<group>/; the group has its own setting');
  if (levels.filter((level) => level === DEVICE || level === DEVICE_PATH).length > 1) {
    fail('it names the device twice');
  }
  if (levels.filter((level) => level === METRIC).length > 1) fail('it names the metric twice');
  if (levels.filter(isOpen).length > 1) fail('only one level can match several levels: {device+} or #');
  for (const [i, level] of levels.entries()) {
    if (level === '#' && i < levels.length - 1) fail('# must be its last level');
    if (level === '+' || level === METRIC || level === DEVICE || isOpen(level)) continue;
    if (/[{}+#]/.test(level)) {
      fail(
        `level ${JSON.stringify(level)} is neither a literal nor one of {device}, {device+}, {metric}, +, #`,
      );
    }
    if (level.includes('\0')) fail('a topic cannot contain a NUL character');
  }
}
