import {
  type DynamicConfigValue,
  type Threshold,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as table from '@grafana/grafana-foundation-sdk/table';
import { type BuiltPanel, DATASOURCE, wordsOf } from './panels.ts';

/** Pixels. Three columns fit on a telephone, and six in half of a page next to Grafana's menu. */
const COLUMN_WIDTH = 85;
const NAME_WIDTH = 120;
const LETTER_WIDTH = 8;
const PADDING = 14;

/** The width of the first column, and lines for names that are longer. With a least width, the table would scroll. */
const OF_NAMES: readonly DynamicConfigValue[] = [
  { id: 'custom.width', value: NAME_WIDTH },
  { id: 'custom.wrapText', value: true },
];

/** A column of a table: an instant query whose result has one series for each row. */
export interface Column {
  readonly expr: string;
  readonly unit: string;
  /** Red from this value upwards. */
  readonly bad?: number;
  /** Red below this value. */
  readonly badBelow?: number;
  /** Texts for values, such as 1: up. */
  readonly words?: Readonly<Record<number, string>>;
}

/** A table with a row for each value of a label. */
export interface TableSpec {
  readonly title: string;
  readonly description: string;
  /** The label whose values are the rows, and the title of its column. */
  readonly label: string;
  readonly heading: string;
  /** Where a click on a row leads: a path in Grafana. `${__value.text:percentencode}` is the value of the label. */
  readonly link: string;
  /** A label of the first column's query that is not shown, for the link: `${__data.fields.NAME}`. */
  readonly hidden?: string;
  /** Columns by title. The queries keep no label except `label`. */
  readonly columns: Readonly<Record<string, Column>>;
  /** Instead of rows, while there are none. */
  readonly whenEmpty: string;
  readonly width?: number;
  readonly height?: number;
}

/** A table with one row for each value of a label, and a query for each column. */
export function tableOf(spec: TableSpec): BuiltPanel {
  const columns = Object.entries(spec.columns);
  const letters = columns.map((_, index) => String.fromCharCode(65 + index));
  const names = spec.hidden === undefined ? [spec.label] : [spec.label, spec.hidden];
  const panel = new table.PanelBuilder()
    .title(spec.title)
    .description(spec.description)
    .unit('short')
    .datasource(DATASOURCE)
    .span(spec.width ?? 24)
    .height(spec.height ?? 8)
    .noValue(spec.whenEmpty)
    // Grafana's own width leaves two columns on a telephone.
    .minWidth(COLUMN_WIDTH)
    // The same option is the text of an empty cell.
    .overrideByRegexp('.*', [
      { id: 'noValue', value: '–' },
      { id: 'custom.wrapHeaderText', value: true },
    ])
    // The times of the queries would be columns too.
    .withTransformation({
      id: 'filterFieldsByName',
      options: { include: { pattern: `^(${names.join('|')}|Value( #[A-Z])?)$` } },
    })
    .withTransformation({ id: 'joinByField', options: { byField: spec.label, mode: 'outer' } })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: {},
        indexByName: { [spec.label]: 0 },
        renameByName: {
          [spec.label]: spec.heading,
          ...Object.fromEntries(columns.map(([title], index) => [`Value #${letters[index]}`, title])),
        },
      },
    })
    // The same order after each refresh.
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: spec.heading }] } })
    .overrideByName(spec.heading, [linkTo(spec.link), ...OF_NAMES]);
  if (spec.hidden !== undefined)
    panel.overrideByName(spec.hidden, [{ id: 'custom.hideFrom', value: { viz: true } }]);
  for (const [index, [title, column]] of columns.entries()) {
    panel.withTarget(
      new DataqueryBuilder()
        .datasource(DATASOURCE)
        .refId(letters[index]!)
        .expr(column.expr)
        .format(PromQueryFormat.Table)
        .instant(),
    );
    panel.overrideByName(title, [...propertiesOf(column), { id: 'custom.minWidth', value: widthOf(title) }]);
  }
  return panel;
}

/** Wide enough for each word of a heading. */
function widthOf(heading: string): number {
  const letters = Math.max(...heading.split(' ').map(({ length }) => length));
  return Math.max(COLUMN_WIDTH, letters * LETTER_WIDTH + PADDING);
}

function linkTo(url: string): DynamicConfigValue {
  return { id: 'links', value: [{ title: 'Open its dashboard', url }] };
}

function propertiesOf({ unit, bad, badBelow, words }: Column): DynamicConfigValue[] {
  const properties: DynamicConfigValue[] = [{ id: 'unit', value: unit }];
  if (words !== undefined) properties.push({ id: 'mappings', value: wordsOf(words) });
  const limit = bad ?? badBelow;
  if (limit === undefined) return properties;
  const [low, high] = bad === undefined ? ['red', 'text'] : ['text', 'red'];
  const steps: Threshold[] = [
    { value: null, color: low },
    { value: limit, color: high },
  ];
  return [
    ...properties,
    { id: 'thresholds', value: { mode: ThresholdsMode.Absolute, steps } },
    { id: 'color', value: { mode: 'thresholds' } },
    { id: 'custom.cellOptions', value: { type: 'color-text' } },
  ];
}

/** What an alert is about. A rule has some of these labels. */
const ABOUT = ['nodename', 'mountpoint', 'rule', 'channel', 'backend', 'stage', 'job', 'instance'];

/**
 * All alerts that fire: the critical ones first, of equal severity the newest first. A click leads to the rule, which has
 * the link to the runbook.
 */
export function firingAlerts(width: number, height: number): BuiltPanel {
  const named = 'alertname=~"Tidegauge.*"';
  const labels = ABOUT.map((label) => `"${label}"`).join(', ');
  return (
    new table.PanelBuilder()
      .title('Alerts firing')
      .description(
        'Critical: readings are lost, or will be soon. Warning: it can wait until the morning. A click on an alert opens its rule, with the link to the runbook.',
      )
      .unit('string')
      .datasource(DATASOURCE)
      .span(width)
      .height(height)
      .noValue('No alert is firing')
      .minWidth(COLUMN_WIDTH)
      .withTarget(
        new DataqueryBuilder()
          .datasource(DATASOURCE)
          .refId('A')
          // One column for all labels: no cell is empty.
          .expr(
            `label_join(time() - ALERTS_FOR_STATE{${named}}` +
              ` and ignoring (alertstate) ALERTS{${named}, alertstate="firing"}, "about", " ", ${labels})`,
          )
          .format(PromQueryFormat.Table)
          .instant(),
      )
      .withTransformation({
        id: 'filterFieldsByName',
        options: { include: { pattern: '^(alertname|severity|about|Value)$' } },
      })
      .withTransformation({
        id: 'organize',
        options: {
          excludeByName: {},
          indexByName: { alertname: 0, severity: 1, Value: 2, about: 3 },
          renameByName: { alertname: 'Alert', severity: 'Severity', Value: 'Lasts', about: 'About' },
        },
      })
      // Grafana sorts by one field. The second sort keeps the order of the first: `critical` is before `warning`.
      .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: 'Lasts' }] } })
      .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: 'Severity' }] } })
      .overrideByName('Lasts', [
        { id: 'unit', value: 's' },
        { id: 'custom.width', value: COLUMN_WIDTH },
      ])
      .overrideByName('About', [
        { id: 'custom.minWidth', value: 260 },
        { id: 'custom.wrapText', value: true },
      ])
      .overrideByName('Severity', [
        {
          id: 'mappings',
          value: [
            {
              type: 'value',
              options: { critical: { color: 'red' }, warning: { color: 'orange' } },
            },
          ],
        },
        { id: 'custom.cellOptions', value: { type: 'color-text' } },
        { id: 'custom.width', value: 75 },
      ])
      .overrideByName('Alert', [
        // Without the beginning that all have, name, severity and time fit on a telephone.
        {
          id: 'mappings',
          value: [{ type: 'regex', options: { pattern: '^Tidegauge(.*)$', result: { text: '$1' } } }],
        },
        { id: 'custom.width', value: 160 },
        {
          id: 'links',
          value: [
            {
              title: 'Open the rule',
              // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variables
              url: '/alerting/${datasource:text}/${__value.raw:percentencode}/find',
            },
            { title: 'Open the runbooks', url: '/d/tidegauge-runbooks' },
          ],
        },
      ])
  );
}
