import {
  BigValueColorMode,
  BigValueGraphMode,
  ReduceDataOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type DataSourceRef,
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

export const DATASOURCE: DataSourceRef = { type: 'prometheus', uid: '$datasource' };
/** Matchers that every query carries. */
export const CHOSEN = 'job=~"$job", instance=~"$instance"';
/** Long enough for four scrapes at every zoom level. */
export const RATE = '$__rate_interval';

/** One panel: its queries, and a description for its reader. */
export interface PanelSpec {
  readonly title: string;
  /** What it shows, and what to do when it looks bad. */
  readonly description: string;
  /** Grafana's id of the unit: `s`, `bytes`, `ops`, `percentunit`. */
  readonly unit: string;
  /** Queries by legend. */
  readonly queries: Readonly<Record<string, string>>;
  /** Red from this value upwards, green below. */
  readonly bad?: number;
  /** Red from this value downwards, for values that must not be small. */
  readonly badBelow?: number;
  /** Width in columns. A row has 24. */
  readonly width?: number;
}

export type BuiltPanel = { build(): Panel };

type PanelBuilder = timeseries.PanelBuilder | stat.PanelBuilder | heatmap.PanelBuilder;

/** Sets the options that all panels share. Sizes are in columns and rows of the grid. */
function begun<B extends PanelBuilder>(panel: B, spec: PanelSpec, width: number, height: number): B {
  panel
    .title(spec.title)
    .description(spec.description)
    .unit(spec.unit)
    .datasource(DATASOURCE)
    .span(spec.width ?? width)
    .height(height);
  return panel;
}

/** Lines over time. */
export function lines(spec: PanelSpec): BuiltPanel {
  const panel = begun(new timeseries.PanelBuilder(), spec, 8, 8).min(0);
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries())
    panel.withTarget(target(index, legend, expr));
  return panel;
}

/** The last value as one coloured number. */
export function number(spec: PanelSpec): BuiltPanel {
  const panel = begun(new stat.PanelBuilder(), spec, 4, 4)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .colorMode(BigValueColorMode.Value)
    .graphMode(BigValueGraphMode.Area)
    .thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps(spec)));
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries())
    panel.withTarget(target(index, legend, expr));
  return panel;
}

/** A histogram over time; its one query gives the rate of each bucket `le`. */
export function heat(spec: PanelSpec): BuiltPanel {
  const panel = begun(new heatmap.PanelBuilder(), spec, 8, 8)
    .calculate(false)
    .yAxis(new heatmap.YAxisConfigBuilder().unit(spec.unit));
  for (const [index, expr] of Object.values(spec.queries).entries())
    panel.withTarget(target(index, '{{le}}', expr).format(PromQueryFormat.Heatmap));
  return panel;
}

function target(index: number, legend: string, expr: string): DataqueryBuilder {
  return new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(String.fromCharCode(65 + index))
    .expr(expr)
    .legendFormat(legend)
    .range();
}

function steps({ bad, badBelow }: PanelSpec): Threshold[] {
  if (bad !== undefined)
    return [
      { value: null, color: 'green' },
      { value: bad, color: 'red' },
    ];
  if (badBelow !== undefined)
    return [
      { value: null, color: 'red' },
      { value: badBelow, color: 'green' },
    ];
  return [{ value: null, color: 'text' }];
}

/** The q-quantile of a histogram over what was chosen, by the labels given. */
export function quantile(q: number, name: string, matchers = '', by = ''): string {
  const selector = `${name}_bucket{${CHOSEN}${matchers}}`;
  return `histogram_quantile(${q}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${selector}[${RATE}])))`;
}

/** The rate of a counter over what was chosen, by the labels given. */
export function rate(name: string, by = '', matchers = ''): string {
  return `sum${by === '' ? '' : ` by (${by})`} (rate(${name}{${CHOSEN}${matchers}}[${RATE}]))`;
}

/** The rate of each bucket of a histogram. */
export function bucketRates(name: string, matchers = ''): string {
  return rate(`${name}_bucket`, 'le', matchers);
}
