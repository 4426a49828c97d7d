import { ALERT_CASES, type AlertCase, type Series } from './alert-cases.ts';
import { alerts } from './alerts.ts';
import { selectorsOf } from './promql.ts';
import { RECORDING_RULES } from './recording-rules.ts';
import { yaml } from './rule-files.ts';

const EXPRESSIONS = new Map(alerts().map(({ name, expr }) => [name, expr]));

/** Series, and what is requested about one alert while they exist. */
interface Check {
  readonly alert: string;
  readonly intervalSeconds: number;
  readonly series: Series;
  readonly asked: readonly object[];
}

/** Text of promtool's tests of every alert: it fires (not before its time), clears, and does not fire at its limit. */
export function ruleTestsFile(): string {
  return yaml({
    rule_files: ['rules.yml', 'alerts.yml'],
    evaluation_interval: '15s',
    tests: [
      ...together('fire in their time and clear', ALERT_CASES.map(fault)),
      ...together('fire for the first value of a series', ALERT_CASES.flatMap(first)),
      ...together('stay quiet at the edge', ALERT_CASES.map(edge)),
    ],
  });
}

/** promtool evaluates every rule for every test: checks that do not affect each other share one. */
function together(what: string, checks: readonly Check[]): object[] {
  const tests: Check[][] = [];
  for (const check of checks) {
    const test = tests.find((others) => others.every((other) => areIndependent(check, other)));
    if (test === undefined) tests.push([check]);
    else test.push(check);
  }
  return tests.map((members) => ({
    name: `${members.map(({ alert }) => alert).join(', ')} ${what}`,
    interval: `${members[0]!.intervalSeconds}s`,
    input_series: Object.entries(Object.assign({}, ...members.map(({ series }) => series))).map(
      ([name, values]) => ({ series: name, values }),
    ),
    promql_expr_test: members.flatMap(({ asked }) => asked),
  }));
}

/** Whether the alert of neither check reads series that only the other one has. */
function areIndependent(one: Check, other: Check): boolean {
  return one.intervalSeconds === other.intervalSeconds && !disturbs(one, other) && !disturbs(other, one);
}

function disturbs(check: Check, other: Check): boolean {
  const read = metricsOf(EXPRESSIONS.get(other.alert)!);
  return Object.entries(check.series).some(
    ([name, values]) => other.series[name] !== values && (name in other.series || read.has(metricOf(name))),
  );
}

/** The metrics that an expression reads, also through recording rules. */
function metricsOf(expression: string): ReadonlySet<string> {
  const read = selectorsOf(expression).flatMap(({ metric }) => {
    const rule = RECORDING_RULES.find(({ record }) => record === metric);
    return rule === undefined ? [metric] : [...metricsOf(rule.expr)];
  });
  return new Set(read);
}

function metricOf(series: string): string {
  return series.slice(0, series.indexOf('{'));
}

function fault({ alert, intervalSeconds, fault, quietAt, firesAt, clearedAt }: AlertCase): Check {
  const at = (sample: number, firing: boolean) => ask(alert, `${sample * intervalSeconds}s`, firing);
  const asked = [at(quietAt, false), at(firesAt, true), at(clearedAt, false)];
  return { alert, intervalSeconds, series: fault, asked };
}

/** A series that begins with the fault. */
function first({ alert, intervalSeconds, first, firesAt, clearedAt }: AlertCase): Check[] {
  if (first === undefined) return [];
  const at = (sample: number, firing: boolean) => ask(alert, `${sample * intervalSeconds}s`, firing);
  return [{ alert, intervalSeconds, series: first, asked: [at(firesAt + 1, true), at(clearedAt, false)] }];
}

function edge({ alert, intervalSeconds, edge }: AlertCase): Check {
  const end = `${100 * intervalSeconds}s`;
  const metrics = new Set(Object.keys(edge).map(metricOf));
  const asked = [
    { expr: `count_over_time(${firing(alert)}[${end}])`, eval_time: end, exp_samples: [] },
    // The series have samples at this time, so the test is not empty.
    {
      expr: `count({__name__=~"${[...metrics].join('|')}"}) > bool 0`,
      eval_time: end,
      exp_samples: [{ value: 1 }],
    },
  ];
  return { alert, intervalSeconds, series: edge, asked };
}

function ask(alert: string, evalTime: string, fires: boolean): object {
  return {
    expr: `count(${firing(alert)}) > bool 0`,
    eval_time: evalTime,
    exp_samples: fires ? [{ value: 1 }] : [],
  };
}

function firing(alert: string): string {
  return `ALERTS{alertname="${alert}",alertstate="firing"}`;
}
