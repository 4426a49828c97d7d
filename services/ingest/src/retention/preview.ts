import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatTime, type Reading, type RulePreviewDocument } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { counted } from '@tidegauge/text';
import { type RetentionRules, type Rule, ruleOf } from './rules.ts';

const MAX_METRICS = 1000;
/** Readings between two turns of the event loop. */
const TURN = 1000;

/** What rules would delete. */
export interface Preview {
  readonly rules: readonly RulePreviewDocument[];
  /** False: the counting ended early, and there can be more readings. */
  readonly isComplete: boolean;
}

/**
 * Counts what the rules would delete now, rule by rule, in the order of the rules. It reads every reading that would be
 * deleted, one at a time.
 *
 * @param mayContinue false ends the counting
 */
export async function preview(
  store: Store,
  rules: RetentionRules,
  time: number,
  mayContinue: () => boolean = () => true,
): Promise<Preview> {
  const sums = new Map<Rule, Sum>(rules.rules.map((rule) => [rule, new Sum()]));
  const isComplete = await countAll(store, rules, time, sums, mayContinue);
  const counted = [...sums].map(([{ name, raw }, { readings, series, oldest, newest }]) => ({
    rule: name,
    before: raw === Number.POSITIVE_INFINITY ? null : formatTime(time - raw),
    readings,
    series,
    oldest: readings === 0 ? null : formatTime(oldest),
    newest: readings === 0 ? null : formatTime(newest),
  }));
  return { rules: counted, isComplete };
}

/** Resolves to whether everything was counted. */
async function countAll(
  { readings }: Store,
  rules: RetentionRules,
  time: number,
  sums: ReadonlyMap<Rule, Sum>,
  mayContinue: () => boolean,
): Promise<boolean> {
  for await (const device of readings.devices()) {
    const ofDevice = rules.ofDevice(device);
    for (const metric of await readings.metrics(device, MAX_METRICS)) {
      if (!mayContinue()) return false;
      const rule = ruleOf(ofDevice, metric);
      if (rule.raw === Number.POSITIVE_INFINITY) continue;
      const query = {
        device,
        metric,
        to: time - rule.raw,
        order: 'asc',
        limit: Number.MAX_SAFE_INTEGER,
      } as const;
      if (!(await countSeries(readings.range(query), sums.get(rule)!, mayContinue))) return false;
    }
  }
  return true;
}

/** Resolves to whether all readings were counted. */
async function countSeries(
  readings: AsyncIterable<Reading>,
  sum: Sum,
  mayContinue: () => boolean,
): Promise<boolean> {
  let count = 0;
  for await (const reading of readings) {
    if (count === 0) sum.series += 1;
    count += 1;
    sum.readings += 1;
    sum.oldest = Math.min(sum.oldest, reading.time);
    sum.newest = Math.max(sum.newest, reading.time);
    if (count % TURN !== 0) continue;
    await nextTurn();
    if (!mayContinue()) return false;
  }
  return true;
}

class Sum {
  readings = 0;
  series = 0;
  oldest = Number.POSITIVE_INFINITY;
  newest = Number.NEGATIVE_INFINITY;
}

/** One line per rule. */
export function printPreview(rules: Preview['rules']): string {
  return rules
    .map(({ rule, before, readings, series, oldest, newest }) => {
      if (before === null) return `${rule}: keeps all readings\n`;
      if (readings === 0) return `${rule}: has no readings before ${before}\n`;
      return `${rule}: would delete ${counted(readings, 'reading')} of ${series} series, from ${oldest} to ${newest}\n`;
    })
    .join('');
}
