import {
  BigValueColorMode,
  BigValueGraphMode,
  GraphDrawStyle,
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
import { countedIn, eventsIn, onBoard } from './promql.ts';

export const DATASOURCE: DataSourceRef = { type: 'prometheus', uid: '$datasource' };
/** Matchers that every query carries. */
export const CHOSEN = 'job=~"$job", instance=~"$instance"';
/** Long enough for four scrapes at every zoom level. */
export const RATE = '$__rate_interval';
/** Grafana's units for rates of what is counted. The text after `count:` follows the number. */
export const READINGS_PER_SECOND = 'count:readings/s';
export const MESSAGES_PER_SECOND = 'mps';
/** For what lasts days or hours: an axis of seconds has marks such as 2.31 days. */
export const DAYS = 'suffix: days';
export const HOURS = 'suffix: hours';

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
  /** Of a number: what it shows while there are no data and that is no fault. Otherwise it is red. */
  readonly whenAbsent?: string;
  /** Unit of the cells of a heat map. Default: readings per second. */
  readonly cells?: string;
  /** Width in columns. A row has 24. */
  readonly width?: number;
  readonly height?: number;
}

/** The width of a panel that has no other, three in a line. `dashboard` widens those of a line that is not full. */
export const LINES_WIDTH = 8;

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
    .height(spec.height ?? height);
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
  const panel = begun(new timeseries.PanelBuilder(), spec, LINES_WIDTH, 8)
    .lineWidth(1)
    .fillOpacity(10)
    .showPoints(VisibilityMode.Auto)
    .axisSoftMax(SMALL[spec.unit] ?? 1)
    .tooltip(manySeries())
    .legend(lastAndMax());
  // Without decimals, the axis has no word or number between two states.
  if (spec.words !== undefined) panel.mappings(wordsOf(spec.words)).decimals(0);
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
    panel.withTarget(target(index, legend, expr).range());
  return panel;
}

/**
 * Events as bars: how many there were in each interval of at least a minute, as whole numbers. The legend has the total.
 * Its queries are of `eventsIn`.
 */
export function events(spec: PanelSpec): BuiltPanel {
  const panel = begun(new timeseries.PanelBuilder(), spec, LINES_WIDTH, 8)
    .drawStyle(GraphDrawStyle.Bars)
    .fillOpacity(60)
    .min(0)
    .axisSoftMax(1)
    .decimals(0)
    .tooltip(manySeries())
    .legend(tableBelow(['sum'], 'Total'))
    .interval('1m');
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries())
    panel.withTarget(target(index, legend, expr).range().interval('1m'));
  return panel;
}

/** A tooltip that shows all series of a panel, the largest first. */
export function manySeries(): VizTooltipOptionsBuilder {
  return new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending);
}

/** A legend with the last and the largest value of each series, the largest first. */
export function lastAndMax(): VizLegendOptionsBuilder {
  return tableBelow(['lastNotNull', 'max'], 'Max');
}

/** A table scrolls, a list overflows. */
function tableBelow(calcs: string[], sortBy: string): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(calcs)
    .sortBy(sortBy)
    .sortDesc(true);
}

/**
 * The present value as one coloured number. A process that has ended has no present value: the number is red, and not
 * the last one of the time shown.
 */
export function number(spec: PanelSpec): BuiltPanel {
  const panel = begun(new stat.PanelBuilder(), spec, LINES_WIDTH, 3)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .colorMode(BigValueColorMode.Value)
    .graphMode(BigValueGraphMode.None)
    // With so many, a rate is over four scrapes, however long the time shown is.
    .maxDataPoints(100_000)
    .thresholds(thresholds(spec, 'green'))
    .noValue(absentText(spec))
    .mappings([...wordsOf(spec.words ?? {}), absent(spec)]);
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries())
    panel.withTarget(target(index, legend, expr).instant());
  return panel;
}

/** A histogram over time; its one query gives the rate of each bucket `le`. `unit` is that of the buckets. */
export function heat(spec: PanelSpec): BuiltPanel {
  // Without a separate unit, the cells would have that of the axis.
  const panel = begun(
    new heatmap.PanelBuilder(),
    { ...spec, unit: spec.cells ?? READINGS_PER_SECOND },
    LINES_WIDTH,
    8,
  )
    .calculate(false)
    .cellValues(new heatmap.CellValuesBuilder().unit(spec.cells ?? READINGS_PER_SECOND))
    .yAxis(new heatmap.YAxisConfigBuilder().unit(spec.unit));
  for (const [index, expr] of Object.values(spec.queries).entries())
    panel.withTarget(target(index, '{{le}}', expr).range().format(PromQueryFormat.Heatmap));
  return panel;
}

function target(index: number, legend: string, expr: string): DataqueryBuilder {
  return new DataqueryBuilder()
    .datasource(DATASOURCE)
    .refId(String.fromCharCode(65 + index))
    .expr(expr)
    .legendFormat(legend);
}

/** The word for 0, such as `down`, also describes a process that is not there. */
function absentText({ whenAbsent, words }: PanelSpec): string {
  return whenAbsent ?? words?.[0] ?? 'No data';
}

function absent(spec: PanelSpec): ValueMapping {
  const color = spec.whenAbsent === undefined ? 'red' : 'text';
  const result = { text: absentText(spec), color };
  return { type: MappingType.SpecialValue, options: { match: SpecialValueMatch.Null, result } };
}

/** Grafana's mapping of values to texts. */
export function wordsOf(words: Readonly<Record<number, string>>): ValueMapping[] {
  if (Object.keys(words).length === 0) return [];
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

/** The present rate of a counter over the processes that are up. `rate` alone shows the last values of others for a while. */
export function rateNow(name: string, matchers = ''): string {
  return `sum(rate(${name}{${CHOSEN}${matchers}}[${RATE}]) and on (job, instance) up{${CHOSEN}} == 1)`;
}

/** Whether a metric is 1 for all processes of a job. A process that does not answer has 0. */
export function allAre(metric: string, job: string): string {
  return `min(${metric}{${CHOSEN}} or 0 * up{${CHOSEN}, job="${job}"})`;
}

/** Events of each step over what was chosen, by the labels given. Series without an event are left out. */
export function count(name: string, by = '', matchers = ''): string {
  const sum = `sum${by === '' ? '' : ` by (${by})`} (${eventsIn(name, CHOSEN + matchers)})`;
  return by === '' ? sum : `${sum} > 0`;
}

/**
 * Missing readings as the alert counts them: new in the last 15 minutes, and not received for two. So the number ends
 * with the alert. Those that never arrive stay in the ledger.
 */
export function newlyMissing(): string {
  const missing = `tidegauge_ledger_missing_readings{${CHOSEN}}`;
  const news = `min_over_time((${missing} - min_over_time(${missing}[15m]))[2m:15s])`;
  return `sum(${news} and on (job, instance) up{${CHOSEN}} == 1)`;
}

/** What a counter grew by in the last hour, as a whole number. */
export function countLastHour(name: string): string {
  return `round(sum(${countedIn(name, 3600, CHOSEN)}))`;
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
