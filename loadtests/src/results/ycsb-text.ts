import type { Latency } from '@tidegauge/test-support/latency';
import type { OperationSummary, Summary } from './summary.ts';

const PERCENTILES = [
  ['50th', 'p50'],
  ['90th', 'p90'],
  ['95th', 'p95'],
  ['99th', 'p99'],
  ['99.9', 'p999'],
] as const;

type Line = readonly [section: string, measure: string, value: number];

/**
 * Formats the summary in lines of YCSB's text exporter (`[READ], AverageLatency(us), 812.4`), so that programs that
 * read YCSB's output can read it. [Intended-READ] is included when the run had a schedule, as with YCSB's
 * measurement.interval=both.
 */
export function ycsbText(summary: Summary, scheduled: boolean): string {
  return ycsbLines(summary, scheduled)
    .map(([section, measure, value]) => `[${section}], ${measure}, ${show(value)}\n`)
    .join('');
}

/** Formats the summary as comma-separated values, one per line. */
export function csvText(summary: Summary, scheduled: boolean): string {
  const rows = ycsbLines(summary, scheduled).map(
    (line) => `${line.slice(0, 2).join(',')},${show(line[2])}\n`,
  );
  return `section,measure,value\n${rows.join('')}`;
}

function ycsbLines(summary: Summary, scheduled: boolean): Line[] {
  return [
    ['OVERALL', 'RunTime(ms)', summary.runTimeMs],
    ['OVERALL', 'Throughput(ops/sec)', summary.throughput],
    ['OVERALL', 'DroppedOperations', summary.dropped],
    ...Object.entries(summary.operations).flatMap(([name, operation]) =>
      operationLines(name, operation, scheduled),
    ),
    ...Object.entries(summary.facts).flatMap(([section, facts]) =>
      Object.entries(facts).map(([measure, value]): Line => [section, measure, value]),
    ),
  ];
}

function operationLines(name: string, operation: OperationSummary, scheduled: boolean): Line[] {
  const { latency, intended, failed, outcomes } = operation;
  const total = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const returns = Object.entries(outcomes).map(
    ([outcome, count]): Line => [name, `Return=${outcome}`, count],
  );
  return [
    // [VERIFY] has no separate latency.
    ...(latency === null && failed === null ? [[name, 'Operations', total] as const] : []),
    ...latencyLines(name, latency),
    ...returns,
    ...(scheduled ? latencyLines(`Intended-${name}`, intended) : []),
    ...latencyLines(`${name}-FAILED`, failed),
  ];
}

function latencyLines(section: string, latency: Latency | null): Line[] {
  if (latency === null) return [];
  return [
    [section, 'Operations', latency.count],
    [section, 'AverageLatency(us)', latency.mean],
    [section, 'MinLatency(us)', latency.min],
    [section, 'MaxLatency(us)', latency.max],
    ...PERCENTILES.map(
      ([ordinal, column]): Line => [section, `${ordinal}PercentileLatency(us)`, latency[column]],
    ),
  ];
}

/** Formats whole numbers without decimals, and other numbers with up to three. */
function show(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(3)));
}
