import {
  type AnnotationQuery,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { type BuiltPanel, DATASOURCE, LINES_WIDTH } from './panels.ts';

/** A dashboard: rows of panels on one subject. */
export interface DashboardSpec {
  /** A part of its address. It must not change. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The metric that supplies the choices for the variables `job` and `instance`. */
  readonly chosenFrom: string;
  /** Matchers that limit the jobs that can be chosen. */
  readonly chosenWhere?: string;
  /** Further variables: name to the metric whose label of that name supplies the choices. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Annotations in every panel while the query has a value above 0, in addition to alerts, by name. */
  readonly marks?: Readonly<Record<string, Mark>>;
  readonly rows: Readonly<Record<string, readonly BuiltPanel[]>>;
  /** Rows that are closed at first. Their queries do not run before a click on the title. */
  readonly closed?: RegExp;
}

/** A region in every panel. */
interface Mark {
  readonly expr: string;
  /** Its text, with `{{label}}` for the value of a label. */
  readonly title: string;
  readonly colour: string;
}

/** Grafana's JSON model of a dashboard. Equal specifications give equal models. */
export function dashboard(spec: DashboardSpec): Dashboard {
  const source = spec.chosenFrom + (spec.chosenWhere === undefined ? '' : `{${spec.chosenWhere}}`);
  const builder = new DashboardBuilder(spec.title)
    .uid(spec.uid)
    .description(spec.description)
    .tags(['tidegauge'])
    .readonly()
    .refresh('10s')
    .time({ from: 'now-1h', to: 'now' })
    .tooltip(DashboardCursorSync.Crosshair)
    .link(toOthers())
    .annotation(alertStarts())
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(choice('job', 'Job', `label_values(${source}, job)`))
    .withVariable(
      choice('instance', 'Instance', `label_values(${spec.chosenFrom}{job=~"$job"}, instance)`).allValue(
        '.+',
      ),
    );
  for (const [name, metric] of Object.entries(spec.variables ?? {})) {
    const label = name[0]!.toUpperCase() + name.slice(1);
    builder.withVariable(choice(name, label, `label_values(${metric}, ${name})`).allValue('.+'));
  }
  for (const [name, { expr, title, colour }] of Object.entries(spec.marks ?? {}))
    builder.annotation({ build: () => ({ ...mark(name, colour, expr), titleFormat: title }) });
  for (const [title, panels] of Object.entries(spec.rows)) {
    const row = new RowBuilder(title);
    if (spec.closed?.test(title) === true) {
      builder.withRow(filled(panels).reduce((closed, panel) => closed.withPanel(panel), row));
      continue;
    }
    builder.withRow(row);
    for (const panel of filled(panels)) builder.withPanel(panel);
  }
  return numbered(builder);
}

/** The panels of a row, so that its lines are full: of those with the usual width, the last two or four share lines of two. */
function filled(panels: readonly BuiltPanel[]): BuiltPanel[] {
  const usual = panels.filter((panel) => panel.build().gridPos!.w === LINES_WIDTH);
  const wide = new Set(usual.slice(usual.length - [0, 4, 2][usual.length % 3]!));
  if (usual.length % 3 === 0) wide.clear();
  const width = usual.length === 1 ? 24 : 12;
  return panels.map((panel) => (wide.has(panel) ? widened(panel, width) : panel));
}

function widened(panel: BuiltPanel, width: number): BuiltPanel {
  return {
    build() {
      const built = panel.build();
      return { ...built, gridPos: { ...built.gridPos!, w: width } };
    },
  };
}

/** Builds a dashboard. The links to its panels stay valid as long as no panel is inserted before them. */
export function numbered(builder: DashboardBuilder): Dashboard {
  const built = builder.build();
  // The builder sets fields of intervals in every variable. The schema has them for intervals only.
  for (const variable of built.templating.list ?? []) {
    delete variable.auto;
    delete variable.auto_count;
    delete variable.auto_min;
  }
  const panels = (built.panels ?? []).flatMap((panel) =>
    'panels' in panel ? [panel, ...panel.panels] : [panel],
  );
  for (const [index, panel] of panels.entries()) panel.id = index + 1;
  return built;
}

/** A menu of all dashboards, with the same time. */
export function toOthers(): DashboardLinkBuilder {
  return new DashboardLinkBuilder('Tidegauge')
    .type(DashboardLinkType.Dashboards)
    .tags(['tidegauge'])
    .asDropdown(true)
    .keepTime(true);
}

/** Fields of an annotation that Grafana's data source for Prometheus reads. */
interface PrometheusAnnotation extends AnnotationQuery {
  readonly titleFormat: string;
  readonly textFormat?: string;
  readonly useValueForTime?: boolean;
}

function mark(name: string, iconColor: string, expr: string): PrometheusAnnotation {
  return { name, datasource: DATASOURCE, enable: true, iconColor, expr, titleFormat: name };
}

/**
 * A line where an alert began to wait, not a region while it fires: a lasting alert would paint the panels red. The value
 * of ALERTS_FOR_STATE is that time in seconds.
 */
function alertStarts(): { build(): AnnotationQuery } {
  const expr =
    'ALERTS_FOR_STATE{alertname=~"Tidegauge.*"} * 1000' +
    ' and ignoring (alertstate) ALERTS{alertname=~"Tidegauge.*", alertstate="firing"}';
  return {
    build: () => ({
      ...mark('Alerts', 'red', expr),
      titleFormat: '{{alertname}}',
      textFormat: '{{severity}} {{nodename}} {{instance}}',
      useValueForTime: true,
    }),
  };
}

/** Without a separate value, All means the values that are listed. */
function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .includeAll(true)
    .multi(true)
    .current({ selected: true, text: 'All', value: '$__all' });
}
