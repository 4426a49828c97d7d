import {
  BigValueColorMode,
  BigValueGraphMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  ScaleDistribution,
  ScaleDistributionConfigBuilder,
  SortOrder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type DataSourceRef,
  MappingType,
  type Panel,
  SpecialValueMatch,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { onBoard } from './promql.ts';

export const DATASOURCE: DataSourceRef = { type: 'prometheus', uid: '$datasource' };
/** Matchers that every query carries. */
export const CHOSEN = 'job=~"$job", instance=~"$instance"';
/** Long enough for four scrapes at every zoom level. */
export const RATE = '$__rate_interval';
/** Grafana's units for rates of what is counted. The text after `count:` follows the number. */
export const READINGS_PER_SECOND = 'count:readings/s';
export const MESSAGES_PER_SECOND = 'mps';

/** One panel: its queries, and a description for its reader. */
export interface PanelSpec {
  readonly title: string;
  /** What it shows, and what to do when it looks bad. */
  readonly description: string;
  /** Grafana's id of the unit: `s`, `bytes`, `ops`, `percentunit`. */
  readonly unit: string;
  /** Queries by legend. */
  readonly queries: Readonly<Record<string, string>>;
  /** Red from this value upwards. Lines have a dashed line at it. */
  readonly bad?: number;
  /** Red from this value downwards, for values that must not be small. */
  readonly badBelow?: number;
  /** A logarithmic axis, for lines that differ by more than a factor of ten. */
  readonly log?: boolean;
  /** Texts for values, such as 1: up. */
  readonly words?: Readonly<Record<number, string>>;
  /**
   * The shortest time between two points, such as `15s`. Longer than the scrape interval for counters that change
   * only at about that interval: a rate over four scrapes would have a beat.
   */
  readonly minInterval?: string;
  /** Unit of the cells of a heat map. Default: readings per second. */
  readonly cells?: string;
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
  if (spec.minInterval !== undefined) panel.interval(spec.minInterval);
  return panel;
}

/** The end of an axis whose values are all smaller. Without it, Grafana draws zeros on an axis up to 100. */
const SMALL: Readonly<Record<string, number>> = {
  s: 0.01,
  percentunit: 0.01,
  bytes: 1024,
  Bps: 1024,
  celsius: 50,
};

/** Lines over time. */
export function lines(spec: PanelSpec): BuiltPanel {
  const panel = begun(new timeseries.PanelBuilder(), spec, 8, 8)
    .lineWidth(1)
    .fillOpacity(10)
    .showPoints(VisibilityMode.Auto)
    .axisSoftMax(SMALL[spec.unit] ?? 1)
    .tooltip(manySeries())
    .legend(lastAndMax());
  if (spec.words !== undefined) panel.mappings(wordsOf(spec.words));
  // A logarithmic axis has no 0.
  if (spec.log === true)
    panel
      .fillOpacity(0)
      .scaleDistribution(new ScaleDistributionConfigBuilder().type(ScaleDistribution.Log).log(10));
  else panel.min(0);
  if (spec.bad !== undefined || spec.badBelow !== undefined)
    panel
      .thresholds(thresholds(spec, 'transparent'))
      .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries())
    panel.withTarget(target(spec, index, legend, expr));
  return panel;
}

/** A tooltip that shows all series of a panel, the largest first. */
export function manySeries(): VizTooltipOptionsBuilder {
  return new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending);
}

/** A legend as a table with the last and the largest value of each series. A table scrolls, a list overflows. */
export function lastAndMax(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(['lastNotNull', 'max']);
}

/** The last value as one coloured number. */
export function number(spec: PanelSpec): BuiltPanel {
  const panel = begun(new stat.PanelBuilder(), spec, 4, 4)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .colorMode(BigValueColorMode.Value)
    .graphMode(BigValueGraphMode.Area)
    .thresholds(thresholds(spec, 'green'))
    .mappings(spec.words === undefined ? [NO_DATA] : [...wordsOf(spec.words), NO_DATA]);
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries())
    panel.withTarget(target(spec, index, legend, expr));
  return panel;
}

/** A histogram over time; its one query gives the rate of each bucket `le`. `unit` is that of the buckets. */
export function heat(spec: PanelSpec): BuiltPanel {
  // Without a separate unit, the cells would have that of the axis.
  const panel = begun(new heatmap.PanelBuilder(), { ...spec, unit: spec.cells ?? READINGS_PER_SECOND }, 8, 8)
    .calculate(false)
    .cellValues(new heatmap.CellValuesBuilder().unit(spec.cells ?? READINGS_PER_SECOND))
    .yAxis(new heatmap.YAxisConfigBuilder().unit(spec.unit));
  for (const [index, expr] of Object.values(spec.queries).entries())
    panel.withTarget(target(spec, index, '{{le}}', expr).format(PromQueryFormat.Heatmap));
  return panel;
}

function target({ minInterval }: PanelSpec, index: number, legend: string, expr: string): DataqueryBuilder {
  const query = new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(String.fromCharCode(65 + index))
    .expr(expr)
    .legendFormat(legend)
    .range();
  return minInterval === undefined ? query : query.interval(minInterval);
}

/** A number without data is grey. The colour of the first threshold would be a statement. */
const NO_DATA: ValueMapping = {
  type: MappingType.SpecialValue,
  options: { match: SpecialValueMatch.Null, result: { text: 'No data', color: 'text' } },
};

/** Grafana's mapping of values to texts. */
export function wordsOf(words: Readonly<Record<number, string>>): ValueMapping[] {
  const options = Object.fromEntries(Object.entries(words).map(([value, text]) => [value, { text }]));
  return [{ type: MappingType.ValueToText, options }];
}

/** @param good the colour of values without a fault */
function thresholds({ bad, badBelow }: PanelSpec, good: string): ThresholdsConfigBuilder {
  const steps: Threshold[] =
    bad !== undefined
      ? [
          { value: null, color: good },
          { value: bad, color: 'red' },
        ]
      : badBelow !== undefined
        ? [
            { value: null, color: 'red' },
            { value: badBelow, color: good },
          ]
        : [{ value: null, color: 'text' }];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/**
 * The expression, or 0 as one series with `labels` while it has no series and one of the chosen processes is up. A counter
 * with labels has no series before its first event.
 */
export function orZero(expr: string, labels: Readonly<Record<string, string>> = {}): string {
  const zero = Object.entries(labels).reduce(
    (inner, [label, value]) => `label_replace(${inner}, "${label}", "${value}", "", "")`,
    `0 * max(up{${CHOSEN}})`,
  );
  return `(${expr}) or on () ${zero}`;
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

/**
 * Values of Tidegauge's own processes, by `instance`, with the name of their board. The address of a process on the
 * overlay network means nothing to a reader.
 */
export function ofProcesses(expression: string): string {
  return onBoard(expression, CHOSEN, 'tidegauge_board_info');
}

/** The rate of each bucket of a histogram. */
export function bucketRates(name: string, matchers = ''): string {
  return rate(`${name}_bucket`, 'le', matchers);
}
