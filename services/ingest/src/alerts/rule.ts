import { isWithin } from '@tidegauge/service';

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A value outside of limits, for a time. */
export interface RangeCondition {
  readonly kind: 'range';
  /** A larger value violates the rule. Null: there is no upper limit. */
  readonly above: number | null;
  /** A smaller value violates the rule. Null: there is no lower limit. */
  readonly below: number | null;
  /** The alert ends at this value or a smaller one. At most `above`. */
  readonly clearAbove: number | null;
  /** The alert ends at this value or a larger one. At least `below`. */
  readonly clearBelow: number | null;
  /** How long values must violate the rule, microseconds. */
  readonly holds: number;
}

/** No reading for a time. */
export interface QuietCondition {
  readonly kind: 'quiet';
  /** Microseconds. */
  readonly quiet: number;
}

/** An entry of the file of alert rules. */
export interface AlertRule {
  readonly name: string;
  readonly severity: Severity;
  /** This device and the devices below it; null for all devices. */
  readonly device: string | null;
  /** Null for all metrics. A quiet rule without a metric concerns the device as a whole. */
  readonly metric: string | null;
  readonly condition: RangeCondition | QuietCondition;
}

export function concernsDevice({ device }: AlertRule, name: string): boolean {
  return isWithin(device, name);
}

/** Whether the rule concerns this metric of a device that it concerns. */
export function concernsMetric({ metric, condition }: AlertRule, name: string): boolean {
  return metric === null ? condition.kind === 'range' : metric === name;
}

/** Whether the rule concerns a device as a whole. */
export function isOfDevice({ metric, condition }: AlertRule): boolean {
  return metric === null && condition.kind === 'quiet';
}

/** Whether two rules of one name raise and end the same alerts. */
export function isSameRule(a: AlertRule, b: AlertRule): boolean {
  return (
    a.device === b.device &&
    a.metric === b.metric &&
    JSON.stringify(a.condition) === JSON.stringify(b.condition)
  );
}
