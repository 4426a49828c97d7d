import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { ALL_DASHBOARDS } from '../../src/dashboards.ts';
import { selectorsOf } from '../../src/promql.ts';
import { expressionsOf, panelsOf } from '../../src/queries.ts';

// What a reader sees, checked in the files that Grafana reads.
const FOLDER = join(import.meta.dirname, '..', '..', 'grafana', 'dashboards');
/** Characters of a title in one of the 24 columns of a page of 1280 pixels, next to the menu of the panel. */
const CHARACTERS_PER_COLUMN = 6;
/** Characters of a title on a page of 390 pixels, where each panel has its own row. */
const NARROW_CHARACTERS = 42;
/** Names of Grafana's palette, which differ between its light and its dark theme, and names that fit both. */
const COLOURS = new Set(['green', 'orange', 'red', 'blue', 'gray', 'text', 'transparent']);
/** Grafana's palettes and rules for colours, which are no colours. */
const PALETTES = new Set(['thresholds', 'palette-classic', 'Oranges', 'dark-orange']);

interface Drawn {
  readonly name: string;
  readonly panel: Panel;
}

const DRAWN: readonly Drawn[] = ALL_DASHBOARDS.flatMap(({ uid }) => {
  const dashboard = JSON.parse(readFileSync(join(FOLDER, `${uid}.json`), 'utf8')) as Dashboard;
  return panelsOf(dashboard).map((panel) => ({ name: `${uid}: ${panel.title}`, panel }));
});

const ofType = (type: string) => {
  const found = DRAWN.filter(({ panel }) => panel.type === type);
  assert.ok(found.length > 0, type);
  return found;
};

interface LineFields {
  readonly axisSoftMax?: number;
  readonly fillOpacity: number;
  readonly scaleDistribution?: { readonly type: string };
  readonly thresholdsStyle?: { readonly mode: string };
}

const linesOf = ({ fieldConfig }: Panel): LineFields => fieldConfig!.defaults.custom as LineFields;
const isBars = ({ fieldConfig }: Panel) =>
  (fieldConfig!.defaults.custom as { drawStyle?: string }).drawStyle === 'bars';
const isLog = (panel: Panel) => linesOf(panel).scaleDistribution?.type === 'log';

test('titles fit into their panels, on a wide and on a narrow page', () => {
  for (const { name, panel } of DRAWN) {
    const length = panel.title!.length;
    assert.ok(length <= panel.gridPos!.w * CHARACTERS_PER_COLUMN, `${name}: ${length} characters`);
    assert.ok(length <= NARROW_CHARACTERS, `${name}: ${length} characters`);
  }
});

test('lines have a tooltip with all series, and a legend below them as a table, the largest first', () => {
  for (const { name, panel } of ofType('timeseries')) {
    const { tooltip, legend } = panel.options as { tooltip: object; legend: object };
    assert.deepEqual(tooltip, { mode: 'multi', sort: 'desc' }, name);
    const [calcs, sortBy] = isBars(panel) ? [['sum'], 'Total'] : [['lastNotNull', 'max'], 'Max'];
    assert.deepEqual(
      legend,
      { displayMode: 'table', placement: 'bottom', showLegend: true, calcs, sortBy, sortDesc: true },
      name,
    );
  }
});

test('lines begin at 0 with a fill, or are on a logarithmic axis', () => {
  for (const { name, panel } of ofType('timeseries')) {
    // Values of sensors can be negative.
    if (panel.title === 'Values') continue;
    if (isLog(panel)) {
      assert.equal(linesOf(panel).fillOpacity, 0, name);
      continue;
    }
    assert.equal(panel.fieldConfig!.defaults.min, 0, name);
    assert.ok(linesOf(panel).fillOpacity > 0, name);
    assert.ok(linesOf(panel).axisSoftMax! > 0, `${name}: zeros would be on an axis up to 100`);
  }
});

test('durations at several quantiles or of several operations are on a logarithmic axis', () => {
  const durations = ofType('timeseries').filter(
    ({ panel }) =>
      panel.fieldConfig!.defaults.unit === 's' &&
      expressionsOf(panel).some((text) => /histogram_quantile|_p99/.test(text)),
  );
  const others = durations.filter(({ panel }) => !isLog(panel)).map(({ panel }) => panel.title);
  // It has one line for each process, of similar values.
  assert.deepEqual(others, ['Event loop lag (p99)']);
  assert.ok(durations.length > 5);
});

test('what is up, connected or synchronized is a word, not 0 or 1', () => {
  const states = /^(up|mosquitto_up|mongodb_up|tidegauge_mqtt_connected|node_timex_sync_status)$/;
  let count = 0;
  for (const { name, panel } of DRAWN) {
    if (!['stat', 'timeseries'].includes(panel.type)) continue;
    for (const expression of expressionsOf(panel)) {
      const selectors = selectorsOf(expression);
      if (!states.test(selectors[0]?.metric ?? '') || expression.startsWith('count')) continue;
      const words = (panel.fieldConfig!.defaults.mappings ?? []).filter(({ type }) => type === 'value');
      assert.equal(words.length, 1, name);
      count += 1;
    }
  }
  assert.ok(count >= 4);
});

test('lines of boards have the host name, and no address', () => {
  const boards = DRAWN.filter(({ name }) => name.startsWith('tidegauge-boards'));
  for (const { name, panel } of boards)
    for (const { legendFormat } of panel.targets as unknown as readonly { legendFormat: string }[]) {
      assert.match(legendFormat, /\{\{nodename\}\}/, name);
      assert.doesNotMatch(legendFormat, /\{\{instance\}\}/, name);
    }
});

test("lines of Tidegauge's own processes have the name of their board, and no address", () => {
  let count = 0;
  for (const { name, panel } of ofType('timeseries')) {
    for (const { legendFormat, expr } of panel.targets as unknown as readonly Record<string, string>[]) {
      if (expr === undefined || legendFormat === undefined) continue;
      if (/\b(pg|mysql|mongodb|cassandra|hbase|jvm|node)_/.test(expr) || expr.includes('cassandra|hbase'))
        continue;
      assert.doesNotMatch(legendFormat, /\{\{instance\}\}/, name);
      if (!legendFormat.includes('{{nodename}}')) continue;
      assert.match(
        expr,
        /group_left \(nodename\) max by \(instance, nodename\) \(tidegauge_board_info\{/,
        name,
      );
      count += 1;
    }
  }
  assert.ok(count >= 14, String(count));
});

test('rates of readings and of messages have their unit', () => {
  let count = 0;
  for (const { name, panel } of ofType('timeseries')) {
    for (const expression of expressionsOf(panel)) {
      const [, counted] =
        /\brate\((?:tidegauge|mosquitto)_(?:ledger_gap_)?(readings|messages_received|publish)_\w*total/.exec(
          expression,
        ) ?? [];
      if (counted === undefined || / \/ /.test(expression)) continue;
      const { unit } = panel.fieldConfig!.defaults;
      assert.match(unit!, counted === 'readings' ? /^count:readings\/s$/ : /^(mps|ops|Bps)$/, name);
      count += 1;
    }
  }
  assert.ok(count > 6);
});

test('a number is the present value, and red without one, unless that is no fault', () => {
  const plain: string[] = [];
  for (const { name, panel } of ofType('stat')) {
    for (const { instant, range } of panel.targets as unknown as readonly Record<string, boolean>[]) {
      assert.equal(instant, true, name);
      assert.notEqual(range, true, name);
    }
    const { mappings = [], noValue } = panel.fieldConfig!.defaults;
    const [absent] = mappings.flatMap((mapping) => (mapping.type === 'special' ? [mapping.options] : []));
    assert.equal(absent?.match, 'null', name);
    assert.equal(absent.result.text, noValue, name);
    if (absent.result.color !== 'red') plain.push(panel.title!);
  }
  assert.deepEqual(plain, [
    'Dropped in the last hour',
    'Messages in queues now',
    'Virtual users',
    'Iterations dropped',
    'Failed requests',
  ]);
});

test('events are counted in bars of at least a minute, on an axis of whole numbers', () => {
  const bars = ofType('timeseries').filter(({ panel }) => isBars(panel));
  assert.deepEqual(bars.map(({ panel }) => panel.title).toSorted(), [
    'Dropped messages between nodes',
    'Failed requests',
    'Gaps',
    'HTTP errors',
    'Messages dropped',
    'Network errors and drops',
    'Processes killed for lack of memory',
    'Quarantined readings by reason',
    'Reconnects to the broker',
    'Sessions expired',
    'Store errors',
  ]);
  for (const { name, panel } of bars) {
    assert.equal(panel.interval, '1m', name);
    assert.equal(panel.fieldConfig!.defaults.decimals, 0, name);
    for (const expression of expressionsOf(panel)) {
      assert.match(expression, /offset \$__interval/, name);
      assert.doesNotMatch(expression, /\b(rate|increase)\(/, name);
    }
  }
});

test('the axis of a state has no mark between two words', () => {
  const states = ofType('timeseries').filter(({ panel }) =>
    (panel.fieldConfig!.defaults.mappings ?? []).some(({ type }) => type === 'value'),
  );
  assert.ok(states.length >= 2);
  for (const { name, panel } of states) assert.equal(panel.fieldConfig!.defaults.decimals, 0, name);
});

test('a table without rows has a sentence, and all columns of names fit on a telephone', () => {
  for (const { name, panel } of ofType('table')) {
    const { custom, noValue } = panel.fieldConfig!.defaults;
    assert.ok((custom as { minWidth: number }).minWidth <= 90, name);
    if (panel.title !== 'Latest values') assert.match(noValue!, /^No \w+ /, name);
  }
});

test('a line of a sensor is interrupted while it sends nothing', () => {
  const values = DRAWN.find(({ panel }) => panel.title === 'Values')!.panel;
  const { insertNulls } = values.fieldConfig!.defaults.custom as { insertNulls: number };
  assert.ok(insertNulls > 60_000 && insertNulls < 20 * 60_000);
});

test('no legend is the word Value: a line of 0 has a label that the legend shows', () => {
  for (const { name, panel } of ofType('timeseries')) {
    for (const { legendFormat, expr } of panel.targets as unknown as readonly Record<string, string>[]) {
      const shown = [...(legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      if (!expr?.includes('or on () ') || shown.length === 0) continue;
      const zero = expr.slice(expr.lastIndexOf('or on () '));
      assert.ok(
        shown.some((label) => zero.includes(`"${label}", "none"`)),
        name,
      );
    }
  }
});

test('a threshold of an alert is a dashed line', () => {
  for (const { name, panel } of ofType('timeseries')) {
    const steps = panel.fieldConfig!.defaults.thresholds?.steps ?? [];
    if (steps.length > 1) assert.equal(linesOf(panel).thresholdsStyle?.mode, 'dashed', name);
  }
});

test('colours are those of the palette, which fit the light and the dark theme', () => {
  for (const { name, panel } of DRAWN) {
    // Heat maps have Grafana's colour for exemplars, and no exemplars.
    const text = JSON.stringify(panel, (key, value) => (/content|exemplars/.test(key) ? '' : value));
    assert.doesNotMatch(text, /"#[0-9a-f]{3,8}"|rgba?\(|hsla?\(/i, name);
    for (const [, colour] of text.matchAll(/"(?:color|fixed|fixedColor|fill)":"([^"]*)"/g))
      assert.ok(COLOURS.has(colour!) || PALETTES.has(colour!), `${name}: ${colour}`);
  }
});

test('each row of a table has a link', () => {
  for (const { name, panel } of ofType('table')) {
    const links = JSON.stringify(panel.fieldConfig!.overrides).match(/"id":"links"/g) ?? [];
    assert.equal(links.length, 1, name);
  }
});
