import { ALERT_CASES, type AlertCase } from './alert-cases.ts';
import { yaml } from './rule-files.ts';

/** Text of promtool's tests of every alert: it fires (not before its time), clears, and does not fire at its limit. */
export function ruleTestsFile(): string {
  return yaml({
    rule_files: ['rules.yml', 'alerts.yml'],
    evaluation_interval: '15s',
    tests: ALERT_CASES.flatMap((given) => [fault(given), ...first(given), edge(given)]),
  });
}

function fault({ alert, intervalSeconds, fault, quietAt, firesAt, clearedAt }: AlertCase): object {
  const at = (sample: number, firing: boolean) => ask(alert, `${sample * intervalSeconds}s`, firing);
  return {
    name: `${alert} fires in its time and clears`,
    interval: `${intervalSeconds}s`,
    input_series: series(fault),
    promql_expr_test: [at(quietAt, false), at(firesAt, true), at(clearedAt, false)],
  };
}

/** A series that begins with the fault. */
function first({ alert, intervalSeconds, first, firesAt, clearedAt }: AlertCase): object[] {
  if (first === undefined) return [];
  const at = (sample: number, firing: boolean) => ask(alert, `${sample * intervalSeconds}s`, firing);
  return [
    {
      name: `${alert} fires for the first value of a series`,
      interval: `${intervalSeconds}s`,
      input_series: series(first),
      promql_expr_test: [at(firesAt + 1, true), at(clearedAt, false)],
    },
  ];
}

function edge({ alert, intervalSeconds, edge }: AlertCase): object {
  const end = `${100 * intervalSeconds}s`;
  return {
    name: `${alert} stays quiet at the edge`,
    interval: `${intervalSeconds}s`,
    input_series: series(edge),
    promql_expr_test: [
      { expr: `count_over_time(${firing(alert)}[${end}])`, eval_time: end, exp_samples: [] },
      // The series have samples at this time, so the test is not empty.
      { expr: `count({__name__=~".+"}) > bool 0`, eval_time: end, exp_samples: [{ value: 1 }] },
    ],
  };
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

function series(given: Readonly<Record<string, string>>): object[] {
  return Object.entries(given).map(([name, values]) => ({ series: name, values }));
}
