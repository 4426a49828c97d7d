import { type AlertRuleDocument, deviceNameProblem, isTable, metricNameProblem } from '@tidegauge/readings';
import { duration, type Kind } from '@tidegauge/service';
import { didYouMean } from '@tidegauge/text';
import { type Mistake, unknownKeys, YamlFile } from '@tidegauge/yaml-file';
import { type AlertRule, type RangeCondition, SEVERITIES, type Severity } from './rule.ts';

const KEYS = ['name', 'device', 'metric', 'above', 'below', 'clear', 'for', 'quiet', 'severity'];
/** Rules of a file. Each new series is compared with all of them, and each is a series of metrics. */
const MOST_RULES = 200;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DAY = 86_400;
const QUIET = duration(1, 366 * DAY);
const FOR = duration(0, 30 * DAY);
/** Units of durations, microseconds. */
const DURATIONS = [
  ['d', 86_400_000_000],
  ['h', 3_600_000_000],
  ['m', 60_000_000],
  ['s', 1_000_000],
] as const;

type Entry = Readonly<Record<string, unknown>>;

/**
 * The rules of the text of a file, YAML or JSON: a list of rules.
 *
 * @param name the name of the file in errors
 * @throws {ConfigError} with one line per mistake: file, line, column, key and reason
 */
export function parseAlertRules(text: string, name: string): readonly AlertRule[] {
  const file = YamlFile.parse(text, name);
  const reader = new RulesReader(file.data);
  if (reader.mistakes.length > 0) throw file.error(reader.mistakes);
  return reader.rules;
}

/** Makes rules of the data of a file, and collects all mistakes. */
class RulesReader {
  readonly rules: AlertRule[] = [];
  readonly mistakes: Mistake[] = [];
  readonly #names = new Set<string>();

  constructor(data: unknown) {
    // A file with comments only has no rules.
    if (data === null) return;
    if (!Array.isArray(data)) {
      this.mistakes.push({ path: [], message: 'it must be a list of rules, each with a name' });
    } else if (data.length > MOST_RULES) {
      const message = `it has ${data.length} rules, and at most ${MOST_RULES} are used`;
      this.mistakes.push({ path: [], message });
    } else {
      for (const [index, entry] of data.entries()) this.#entry(entry, index);
    }
  }

  #entry(entry: unknown, index: number): void {
    if (!isTable(entry)) {
      this.mistakes.push({ path: [index], message: 'a rule has a name, and above, below or quiet' });
      return;
    }
    const before = this.mistakes.length;
    this.mistakes.push(...unknownKeys(entry, [index], KEYS, 'a rule'));
    const name = this.#name(entry, index);
    const device = this.#word(entry, index, 'device', deviceNameProblem);
    const metric = this.#word(entry, index, 'metric', metricNameProblem);
    const severity = this.#severity(entry, index);
    const condition = this.#condition(entry, index);
    if (this.mistakes.length > before || condition === null) return;
    this.rules.push({ name, severity, device, metric, condition });
  }

  #name(entry: Entry, index: number): string {
    const { name } = entry;
    if (typeof name !== 'string' || !NAME.test(name)) {
      this.#mistake(index, 'name', 'it must have 1 to 64 letters, digits, _ and -');
      return '';
    }
    if (this.#names.has(name)) this.#mistake(index, 'name', `another rule has the name ${name}`);
    this.#names.add(name);
    return name;
  }

  #word(
    entry: Entry,
    index: number,
    key: 'device' | 'metric',
    problemOf: (name: string) => string | null,
  ): string | null {
    const value = entry[key];
    if (value === undefined) return null;
    const problem = typeof value === 'string' ? problemOf(value) : 'it must be a text';
    if (problem !== null) this.#mistake(index, key, problem);
    return String(value);
  }

  #severity(entry: Entry, index: number): Severity {
    const { severity = 'warning' } = entry;
    const known = SEVERITIES.find((each) => each === severity);
    if (known === undefined) {
      const message = `${JSON.stringify(severity)} is not one of ${SEVERITIES.join(', ')}`;
      this.#mistake(index, 'severity', message + didYouMean(String(severity), SEVERITIES));
    }
    return known ?? 'warning';
  }

  #condition(entry: Entry, index: number): AlertRule['condition'] | null {
    const { above, below, quiet } = entry;
    if (quiet !== undefined) {
      for (const key of ['above', 'below', 'clear', 'for']) {
        if (entry[key] === undefined) continue;
        this.#mistake(index, key, 'a rule with quiet cannot have it: write a second rule', true);
      }
      return { kind: 'quiet', quiet: this.#duration(entry, index, 'quiet', QUIET) };
    }
    if (above === undefined && below === undefined) {
      this.mistakes.push({ path: [index], message: 'a rule has above, below or quiet' });
      return null;
    }
    if (entry.metric === undefined) {
      this.mistakes.push({ path: [index], message: 'a rule with above or below has a metric' });
    }
    const limits = { above: this.#number(entry, index, 'above'), below: this.#number(entry, index, 'below') };
    if (limits.above !== null && limits.below !== null && limits.below > limits.above) {
      this.#mistake(
        index,
        'below',
        `it must be at most above (${limits.above}), because values between are well`,
      );
    }
    const clear = this.#clear(entry, index, limits);
    const holds = entry.for === undefined ? 0 : this.#duration(entry, index, 'for', FOR);
    return { kind: 'range', ...limits, clearAbove: clear.above, clearBelow: clear.below, holds };
  }

  /** The values at which the alert ends: a number for the only limit, or a number for each limit. */
  #clear(entry: Entry, index: number, limits: Limits): Limits {
    const { clear } = entry;
    if (clear === undefined) return limits;
    let given: Entry;
    if (isTable(clear)) given = clear;
    else if (limits.above !== null && limits.below !== null) {
      const message = 'with above and below it has a value for each: clear: { above: 28, below: 6 }';
      this.#mistake(index, 'clear', message);
      return limits;
    } else given = limits.above === null ? { below: clear } : { above: clear };
    const at = (key: string) => (isTable(clear) ? [index, 'clear', key] : [index, 'clear']);
    const found: { above: number | null; below: number | null } = { ...limits };
    for (const [key, value] of Object.entries(given)) {
      const problem = clearProblem(key, value, limits);
      if (problem !== null) this.mistakes.push({ path: at(key), ...problem });
      else found[key as keyof Limits] = value as number;
    }
    if (found.above !== null && found.below !== null && found.below > found.above) {
      this.#mistake(index, 'clear', 'no value is between both, so the alert could not end');
    }
    return found;
  }

  #number(entry: Entry, index: number, key: 'above' | 'below'): number | null {
    const value = entry[key];
    if (value === undefined) return null;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    this.#mistake(index, key, 'it must be a finite number');
    return null;
  }

  /** A duration in microseconds. */
  #duration(entry: Entry, index: number, key: string, kind: Kind<number>): number {
    try {
      return Math.round(kind.parse(String(entry[key])) * 1e6);
    } catch (error) {
      const { message } = error as Error;
      this.#mistake(index, key, `${JSON.stringify(entry[key])}: ${message}: it must be ${kind.takes}`);
      return 0;
    }
  }

  #mistake(index: number, key: string, message: string, atKey = false): void {
    this.mistakes.push({ path: [index, key], message, atKey });
  }
}

interface Limits {
  readonly above: number | null;
  readonly below: number | null;
}

/** Where an alert may end: not beyond the limit that raised it. */
const CLEARS = {
  above: { isBeyond: (value: number, limit: number) => value > limit, side: 'at most' },
  below: { isBeyond: (value: number, limit: number) => value < limit, side: 'at least' },
} as const;

/** What is wrong with a key of `clear` and its value, or null. */
function clearProblem(key: string, value: unknown, limits: Limits): Omit<Mistake, 'path'> | null {
  const limit = key === 'above' || key === 'below' ? limits[key] : null;
  if (limit === null)
    return { message: 'the rule has no such limit: use above or below, as in the rule', atKey: true };
  if (typeof value !== 'number' || !Number.isFinite(value)) return { message: 'it must be a finite number' };
  const { isBeyond, side } = CLEARS[key as keyof Limits];
  return isBeyond(value, limit) ? { message: `it must be ${side} the limit ${limit}` } : null;
}

/** A rule as an entry of a file. */
export function ruleEntry({ name, severity, device, metric, condition }: AlertRule): AlertRuleDocument {
  return {
    name,
    ...(device === null ? {} : { device }),
    ...(metric === null ? {} : { metric }),
    ...(condition.kind === 'quiet' ? { quiet: durationText(condition.quiet) } : rangeEntry(condition)),
    severity,
  };
}

function rangeEntry({ above, below, clearAbove, clearBelow, holds }: RangeCondition) {
  const isGiven = clearAbove !== above || clearBelow !== below;
  const isOne = above === null || below === null;
  return {
    ...limitsEntry(above, below),
    ...(isGiven ? { clear: isOne ? (clearAbove ?? clearBelow)! : limitsEntry(clearAbove, clearBelow) } : {}),
    ...(holds === 0 ? {} : { for: durationText(holds) }),
  };
}

function limitsEntry(above: number | null, below: number | null) {
  return { ...(above === null ? {} : { above }), ...(below === null ? {} : { below }) };
}

/** A time in the largest unit that keeps it whole. */
function durationText(microseconds: number): string {
  const [unit, size] = DURATIONS.find(([, each]) => microseconds % each === 0) ?? (['ms', 1000] as const);
  return `${microseconds / size}${unit}`;
}
