import { formatTime } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { type RetentionRules, type Rule, ruleOf } from './rules.ts';

const MAX_METRICS = 1000;

/** What a rule would delete. */
export interface RulePreview {
  readonly rule: string;
  /** ISO 8601, or null if the rule keeps readings forever. */
  readonly before: string | null;
  readonly readings: number;
  readonly series: number;
  /** ISO 8601, or null without readings. */
  readonly oldest: string | null;
  readonly newest: string | null;
}

/**
 * Counts what the rules would delete now, rule by rule, in the order of the rules. It reads every reading that would be
 * deleted, one at a time.
 */
export async function preview(store: Store, rules: RetentionRules, time: number): Promise<RulePreview[]> {
  const { readings } = store;
  const sums = new Map<Rule, Sum>(rules.rules.map((rule) => [rule, new Sum()]));
  for await (const device of readings.devices()) {
    const ofDevice = rules.ofDevice(device);
    for (const metric of await readings.metrics(device, MAX_METRICS)) {
      const rule = ruleOf(ofDevice, metric);
      if (rule.raw === Number.POSITIVE_INFINITY) continue;
      const query = {
        device,
        metric,
        to: time - rule.raw,
        order: 'asc',
        limit: Number.MAX_SAFE_INTEGER,
      } as const;
      const sum = sums.get(rule)!;
      let count = 0;
      for await (const reading of readings.range(query)) {
        count += 1;
        sum.oldest = Math.min(sum.oldest, reading.time);
        sum.newest = Math.max(sum.newest, reading.time);
      }
      sum.readings += count;
      if (count > 0) sum.series += 1;
    }
  }
  return [...sums].map(([{ name, raw }, { readings, series, oldest, newest }]) => ({
    rule: name,
    before: raw === Number.POSITIVE_INFINITY ? null : formatTime(time - raw),
    readings,
    series,
    oldest: readings === 0 ? null : formatTime(oldest),
    newest: readings === 0 ? null : formatTime(newest),
  }));
}

class Sum {
  readings = 0;
  series = 0;
  oldest = Number.POSITIVE_INFINITY;
  newest = Number.NEGATIVE_INFINITY;
}

/** One line per rule. */
export function printPreview(rules: readonly RulePreview[]): string {
  return rules
    .map(({ rule, before, readings, series, oldest, newest }) => {
      if (before === null) return `${rule}: keeps all readings\n`;
      if (readings === 0) return `${rule}: has no readings before ${before}\n`;
      return `${rule}: would delete ${readings} readings of ${series} series, from ${oldest} to ${newest}\n`;
    })
    .join('');
}
