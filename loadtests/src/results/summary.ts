import type { Latency } from '@tidegauge/test-support/latency';
import { OUTCOMES, type Outcome } from '../operations/outcome.ts';

/** The statistics that k6 computes for each trend. */
export const TREND_COLUMNS = [
  'count',
  'avg',
  'min',
  'max',
  'med',
  'p(90)',
  'p(95)',
  'p(99)',
  'p(99.9)',
] as const;

/** k6's counter of operations that succeeded. An operation within another one is not counted separately. */
export const DONE = 'operations_done';

/** The part of k6's handleSummary data that is read here. It is the same in k6 1 and 2. */
export interface K6Summary {
  readonly state: { readonly testRunDurationMs: number };
  readonly metrics: Readonly<Record<string, K6Metric>>;
}

export interface K6Metric {
  readonly values: Readonly<Record<string, number>>;
  readonly thresholds?: Readonly<Record<string, { readonly ok: boolean }>>;
}

/** Operations that the MQTT module of loadtests/k6-modules measures, with the names of its metrics. */
export const MEASURED_BY: Readonly<Record<string, string>> = {
  publish: 'mqtt_publish_ack',
  receive: 'mqtt_publish_receive',
};

export interface OperationSummary {
  /** Latency of the operations that succeeded, from their actual start. */
  readonly latency: Latency | null;
  /** Latency of the same operations, from their scheduled start. */
  readonly intended: Latency | null;
  /** Latency of the operations that failed. */
  readonly failed: Latency | null;
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
}

export interface Summary {
  readonly runTimeMs: number;
  /** Operations that succeeded, per second. */
  readonly throughput: number;
  /** By YCSB's name: READ, READ-MODIFY-WRITE, ... */
  readonly operations: Readonly<Record<string, OperationSummary>>;
  /** Other results, by section and measure: `{ LEDGER: { Stored: 1000 } }`. */
  readonly facts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Iterations that k6 could not start in time, because no thread was free. */
  readonly dropped: number;
  /** Reasons why the run is invalid: its figures do not describe the store. Empty for a valid run. */
  readonly invalid: readonly string[];
  /** Failures that a valid run found, such as failed operations and crossed thresholds. */
  readonly failures: readonly string[];
}

/**
 * Summarizes k6's figures. A run is invalid when k6 could not keep its schedule (`open`), or when no operation
 * succeeded. A run fails when an operation failed or a threshold was crossed.
 */
export function summarize(data: K6Summary, open: boolean): Summary {
  const operations = operationsOf(data.metrics);
  const runTimeMs = data.state.testRunDurationMs;
  const done = data.metrics[DONE]?.values.count ?? 0;
  const dropped = data.metrics.dropped_iterations?.values.count ?? 0;
  const invalid: string[] = [];
  if (done === 0) invalid.push('not one operation succeeded');
  if (open && dropped > 0) {
    invalid.push(
      `${dropped} operations were dropped: no thread was free when their time had come; raise --threads or lower --rate`,
    );
  }
  return {
    runTimeMs,
    throughput: (done * 1000) / runTimeMs,
    operations,
    facts: {},
    dropped,
    invalid,
    failures: [...failedOperations(operations), ...crossedThresholds(data.metrics)],
  };
}

function operationsOf(metrics: K6Summary['metrics']): Record<string, OperationSummary> {
  const found: Record<string, OperationSummary> = {};
  const names = new Set(
    Object.keys(metrics).flatMap((metric) => /^op_(.+)_return_[A-Z_]+$/.exec(metric)?.[1] ?? []),
  );
  for (const name of [...names].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))) {
    const outcomes: Partial<Record<Outcome, number>> = {};
    for (const outcome of OUTCOMES) {
      const count = metrics[`op_${name}_return_${outcome}`]?.values.count ?? 0;
      if (count > 0) outcomes[outcome] = count;
    }
    if (Object.keys(outcomes).length === 0) continue;
    const trend = MEASURED_BY[name] ?? `op_${name}`;
    found[name.toUpperCase().replaceAll('_', '-')] = {
      latency: latencyOf(metrics[trend]),
      intended: latencyOf(metrics[`${trend}_intended`]),
      failed: latencyOf(metrics[`op_${name}_failed`]),
      outcomes,
    };
  }
  return found;
}

function latencyOf(metric: K6Metric | undefined): Latency | null {
  const values = metric?.values;
  if (values === undefined || !(values.count! > 0)) return null;
  const micros = (column: (typeof TREND_COLUMNS)[number]) => values[column]! * 1000;
  return {
    count: values.count!,
    mean: micros('avg'),
    min: micros('min'),
    max: micros('max'),
    p50: micros('med'),
    p90: micros('p(90)'),
    p95: micros('p(95)'),
    p99: micros('p(99)'),
    p999: micros('p(99.9)'),
  };
}

function failedOperations(operations: Readonly<Record<string, OperationSummary>>): string[] {
  return Object.entries(operations).flatMap(([name, { outcomes }]) => {
    const kinds = Object.entries(outcomes).filter(([outcome]) => outcome !== 'OK');
    if (kinds.length === 0) return [];
    return [`${name} ended in ${kinds.map(([outcome, count]) => `${outcome} ${count} times`).join(', ')}`];
  });
}

function crossedThresholds(metrics: K6Summary['metrics']): string[] {
  return Object.entries(metrics).flatMap(([name, { thresholds = {} }]) =>
    Object.entries(thresholds)
      .filter(([, { ok }]) => !ok)
      .map(([condition]) => `the threshold ${name}: ${condition} was crossed`),
  );
}
