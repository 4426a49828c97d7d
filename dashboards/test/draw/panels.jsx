import {
  applyFieldOverrides,
  cacheFieldDisplayNames,
  FieldType,
  getDisplayValueAlignmentFactors,
  getFieldDisplayName,
  getFieldDisplayValues,
  getValueFormat,
  Registry,
  renderTextPanelMarkdown,
  VizOrientation,
} from '@grafana/data';
import {
  AxisPlacement,
  BigValue,
  ScaleDirection,
  ScaleOrientation,
  TimeSeries,
  UPlotChart,
  UPlotConfigBuilder,
  useTheme2,
  VizRepeater,
} from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';

/** Settings of fields that are not in `custom`. */
const STANDARD = [
  'unit',
  'min',
  'max',
  'decimals',
  'displayName',
  'noValue',
  'color',
  'thresholds',
  'mappings',
  'links',
];
/** What the plugin of each type of panel sets when the dashboard does not. */
const DEFAULTS = {
  timeseries: {
    color: { mode: 'palette-classic' },
    custom: { drawStyle: 'line', lineInterpolation: 'linear', axisPlacement: 'auto', axisGridShow: true },
  },
  stat: { color: { mode: 'thresholds' }, custom: {} },
  table: {
    color: { mode: 'thresholds' },
    custom: { align: 'auto', cellOptions: { type: 'auto' }, inspect: false },
  },
  heatmap: { custom: {} },
  // As a table, see below.
  geomap: { custom: { cellOptions: { type: 'auto' }, minWidth: 80 } },
};
const THRESHOLDS = {
  mode: 'absolute',
  steps: [
    { value: -Infinity, color: 'green' },
    { value: 80, color: 'red' },
  ],
};
const unchanged = (text) => text;

/** The content of a panel, as the plugin of its type draws it. */
export function Content({ panel, frames, range, width, height }) {
  const theme = useTheme2();
  if (panel.type === 'text') {
    const html = renderTextPanelMarkdown(panel.options.content);
    return (
      <div style={{ height, overflow: 'auto' }}>
        {/* biome-ignore lint/security/noDangerouslySetInnerHtml: the text is ours, and Grafana sanitizes it */}
        <div className="markdown-html" dangerouslySetInnerHTML={{ __html: html }} />
      </div>
    );
  }
  const fieldConfig = fieldConfigOf(panel);
  const data = applyFieldOverrides({
    data: frames,
    fieldConfig,
    fieldConfigRegistry: registryOf(fieldConfig),
    replaceVariables: unchanged,
    theme,
    timeZone: 'utc',
  });
  cacheFieldDisplayNames(data);
  const shared = { panel, data, fieldConfig, range, width, height, theme };
  if (panel.type === 'stat') return <Stat {...shared} />;
  if (data.every(({ length }) => length === 0))
    return <Empty height={height}>{fieldConfig.defaults.noValue ?? 'No data'}</Empty>;
  if (panel.type === 'timeseries') return <Lines {...shared} />;
  if (panel.type === 'heatmap') return <Heat {...shared} />;
  // The map needs files of a Grafana. Its table has the same rows.
  return (
    <TableNG
      data={data[0]}
      width={width}
      height={height}
      fieldConfig={fieldConfig}
      enableVirtualization={false}
    />
  );
}

function Empty({ height, children }) {
  return (
    <div data-empty style={{ height, display: 'grid', placeItems: 'center' }}>
      {children}
    </div>
  );
}

function fieldConfigOf({ type, fieldConfig = {} }) {
  const { custom, ...standard } = DEFAULTS[type] ?? DEFAULTS.table;
  const { defaults = {}, overrides = [] } = fieldConfig;
  const all = {
    thresholds: THRESHOLDS,
    mappings: [],
    ...standard,
    ...defaults,
    custom: { ...custom, ...defaults.custom },
  };
  // In JSON, the first step has the value null.
  const steps = all.thresholds.steps.map((step) => ({ ...step, value: step.value ?? -Infinity }));
  return {
    defaults: { ...all, thresholds: { ...all.thresholds, steps } },
    overrides: overrides.map(withoutNull),
  };
}

function withoutNull({ matcher, properties }) {
  const changed = properties.map(({ id, value }) =>
    id === 'thresholds'
      ? {
          id,
          value: {
            ...value,
            steps: value.steps.map((step) => ({ ...step, value: step.value ?? -Infinity })),
          },
        }
      : { id, value },
  );
  return { matcher, properties: changed };
}

/** The settings that exist: Grafana ignores others. The registries of its plugins are not published. */
function registryOf({ defaults, overrides }) {
  const custom = [
    ...Object.keys(defaults.custom),
    ...overrides.flatMap(({ properties }) =>
      properties.filter(({ id }) => id.startsWith('custom.')).map(({ id }) => id.slice('custom.'.length)),
    ),
  ];
  const item = (id, path, isCustom) => ({
    id,
    path,
    isCustom,
    name: id,
    process: unchanged,
    shouldApply: () => true,
  });
  return new Registry(() => [
    ...STANDARD.map((name) => item(name, name, false)),
    ...[...new Set(custom)].map((name) => item(`custom.${name}`, name, true)),
  ]);
}

function Lines({ panel, data, range, width, height }) {
  const { legend, tooltip } = panel.options;
  return (
    <TimeSeries
      frames={data}
      timeRange={range}
      timeZone="utc"
      width={width}
      height={height}
      legend={legend}
      options={{ legend, tooltip }}
    />
  );
}

function Stat({ panel, data, fieldConfig, range, width, height, theme }) {
  const { options } = panel;
  const getValues = () => {
    const values = getFieldDisplayValues({
      fieldConfig,
      reduceOptions: options.reduceOptions,
      replaceVariables: unchanged,
      theme,
      data,
      sparkline: options.graphMode !== 'none',
      timeZone: 'utc',
    });
    for (const { sparkline } of values) if (sparkline !== undefined) sparkline.timeRange = range;
    return values;
  };
  return (
    <VizRepeater
      getValues={getValues}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      renderValue={({ value, alignmentFactors, width, height, count }) => (
        <BigValue
          value={value.display}
          count={count}
          sparkline={value.sparkline}
          colorMode={options.colorMode}
          graphMode={options.graphMode}
          justifyMode={options.justifyMode}
          textMode={options.textMode}
          alignmentFactors={alignmentFactors}
          width={width}
          height={height}
          theme={theme}
          disableWideLayout={!options.wideLayout}
        />
      )}
      orientation={options.orientation ?? VizOrientation.Auto}
      itemSpacing={3}
      source={data}
      renderCounter={0}
      width={width}
      height={height}
    />
  );
}

/** Buckets over time. Grafana does not publish its heat map: this one has its axes, and shows whether cells exist. */
function Heat({ panel, data, range, width, height, theme }) {
  const buckets = data
    .map(({ fields: [time, value] }) => ({
      le: Number(value.labels.le.replace('+Inf', 'Infinity')),
      name: getFieldDisplayName(value),
      time,
      value,
    }))
    .toSorted((a, b) => a.le - b.le);
  const format = getValueFormat(panel.options.yAxis.unit);
  const label = (index) => {
    const le = buckets[index]?.le;
    if (le === undefined) return '';
    const { prefix = '', text, suffix = '' } = format(le);
    return le === Infinity ? '+Inf' : `${prefix}${text}${suffix}`;
  };
  const builder = new UPlotConfigBuilder('utc');
  builder.addScale({
    scaleKey: 'x',
    isTime: true,
    orientation: ScaleOrientation.Horizontal,
    direction: ScaleDirection.Right,
    range: () => [range.from.valueOf(), range.to.valueOf()],
  });
  builder.addScale({
    scaleKey: 'y',
    orientation: ScaleOrientation.Vertical,
    direction: ScaleDirection.Up,
    range: () => [-0.5, buckets.length - 0.5],
  });
  builder.addAxis({ scaleKey: 'x', isTime: true, placement: AxisPlacement.Bottom, timeZone: 'utc', theme });
  // As many labels as fit.
  const every = Math.max(1, Math.ceil((buckets.length * 22) / Math.max(1, height - 30)));
  builder.addAxis({
    scaleKey: 'y',
    placement: AxisPlacement.Left,
    theme,
    splits: () => buckets.map((_, index) => index).filter((index) => index % every === 0),
    values: (_, splits) => splits.map(label),
  });
  builder.addSeries({ scaleKey: 'y', pathBuilder: () => null, theme, fieldType: FieldType.number });
  builder.addHook('draw', (plot) => {
    const { ctx } = plot;
    const counts = new Map(
      buckets.map(({ time, value }, index) => [
        index,
        new Map(time.values.map((at, i) => [at, value.values[i]])),
      ]),
    );
    const cells = buckets.flatMap((_, index) =>
      [...counts.get(index)].map(([at, count]) => ({
        at,
        index,
        count: count - (counts.get(index - 1)?.get(at) ?? 0),
      })),
    );
    const most = Math.max(...cells.map(({ count }) => count));
    const wide =
      plot.valToPos(range.from.valueOf() + (buckets[0]?.time.config.interval ?? 0), 'x', true) -
      plot.bbox.left;
    const high = plot.valToPos(0, 'y', true) - plot.valToPos(1, 'y', true);
    for (const { at, index, count } of cells) {
      if (!(count > 1e-9)) continue;
      ctx.fillStyle = `rgba(255, 120, 10, ${0.15 + 0.85 * Math.sqrt(count / most)})`;
      ctx.fillRect(
        plot.valToPos(at, 'x', true) - wide,
        plot.valToPos(index, 'y', true) - high / 2,
        Math.max(1, wide - 1),
        high - 1,
      );
    }
  });
  const times = buckets[0].time.values;
  return <UPlotChart config={builder} data={[times, times.map(() => null)]} width={width} height={height} />;
}
