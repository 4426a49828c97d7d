import type { Dashboard, Panel, VariableModel } from '@grafana/grafana-foundation-sdk/dashboard';
import { selectorsOf } from './promql.ts';

export interface Finding {
  readonly rule: string;
  readonly dashboard: string;
  /** Null if the finding concerns the whole dashboard. */
  readonly panel: string | null;
  readonly message: string;
}

interface Target {
  readonly expr?: string;
  readonly datasource?: { readonly uid?: string };
}

const DATASOURCE = '$datasource';

/** The rules of Grafana's dashboard-linter in its strict mode, by its names, on a dashboard's JSON. */
export function lint(dashboard: Dashboard): Finding[] {
  const findings: Finding[] = [];
  const report = (rule: string, panel: string | null, message: string) =>
    findings.push({ rule, dashboard: dashboard.title ?? '', panel, message });

  if (dashboard.editable !== false) report('uneditable-dashboard', null, 'is editable');
  for (const [rule, message] of variableFaults(dashboard.templating.list ?? [])) report(rule, null, message);
  for (const panel of panelsOf(dashboard)) {
    for (const [rule, message] of panelFaults(panel)) report(rule, panel.title ?? '', message);
  }
  return findings;
}

/** Every panel, those within rows too, without the rows. */
export function panelsOf({ panels = [] }: Dashboard): Panel[] {
  return panels.flatMap((panel) =>
    panel.type === 'row' ? ((panel as { panels?: Panel[] }).panels ?? []) : [panel as Panel],
  );
}

export function expressionsOf(panel: Panel): string[] {
  return ((panel.targets ?? []) as readonly Target[]).map(({ expr }) => expr ?? '');
}

/** An expression as Grafana sends it when everything is chosen. */
export function withEverythingChosen(expression: string, rateInterval: string, range = '1h'): string {
  return expression
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll('$__range', range)
    .replaceAll(/"\$\w+"/g, '".+"');
}

function* variableFaults(variables: readonly VariableModel[]): Generator<[string, string]> {
  const named = (name: string) => variables.find((variable) => variable.name === name);
  const source = named('datasource');
  if (source?.type !== 'datasource' || source.query !== 'prometheus' || source.label !== 'Data source') {
    yield ['template-datasource-rule', 'has no variable "datasource" for Prometheus labelled "Data source"'];
  }
  for (const [name, label] of [
    ['job', 'Job'],
    ['instance', 'Instance'],
  ] as const) {
    const variable = named(name);
    const right =
      variable?.type === 'query' &&
      variable.label === label &&
      variable.datasource?.uid === DATASOURCE &&
      variable.multi === true &&
      variable.allValue === '.+';
    if (!right) yield [`template-${name}-rule`, `has no variable "${name}" of many values, all of them ".+"`];
  }
  for (const variable of variables.filter(({ type }) => type === 'query')) {
    if (!/^label_values\([a-z_]\w*(\{[^{}]*\})?, [a-z]\w*\)$/i.test(String(variable.query)))
      yield ['template-label-promql-rule', `${variable.name} is not a label_values query`];
    if (variable.refresh !== 2)
      yield ['template-on-time-change-reload-rule', `${variable.name} does not change with the time range`];
  }
}

function* panelFaults(panel: Panel): Generator<[string, string]> {
  if (!panel.title || !panel.description)
    yield ['panel-title-description-rule', 'has no title or no description'];
  if (!panel.fieldConfig?.defaults.unit) yield ['panel-units-rule', 'has no unit'];
  if (panel.datasource?.uid !== DATASOURCE) yield ['panel-datasource-rule', 'has another datasource'];
  const targets = (panel.targets ?? []) as readonly Target[];
  if (targets.length === 0) yield ['panel-no-targets-rule', 'has no query'];
  for (const { expr = '', datasource } of targets) {
    if (datasource?.uid !== DATASOURCE) yield ['panel-datasource-rule', `${expr} has another datasource`];
    yield* targetFaults(expr);
  }
}

function* targetFaults(expr: string): Generator<[string, string]> {
  const selectors = selectorsOf(expr);
  if (selectors.length === 0) yield ['target-promql-rule', `${expr} has no metric`];
  for (const { metric, matchers, within, range } of selectors) {
    if (!matchers.includes('job=~"$job"'))
      yield ['target-job-rule', `${metric} does not select the chosen job`];
    if (!matchers.includes('instance=~"$instance"'))
      yield ['target-instance-rule', `${metric} does not select the chosen instance`];
    if (within === 'rate' && range !== '$__rate_interval')
      yield ['target-rate-interval-rule', `rate of ${metric} over ${range}`];
    if (metric.endsWith('_total') && !['rate', 'irate', 'increase'].includes(within ?? ''))
      yield ['target-counter-agg-rule', `${metric} is a counter without a rate`];
  }
}
