import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runProgram } from '@tidegauge/process';

const require = createRequire(import.meta.url);
const TIMEOUT_MS = 300_000;

/** The types of Grafana's schemas, which Grafana publishes as packages of these versions. */
const SCHEMAS = {
  11: {
    types: join(dirname(require.resolve('grafana-schema-11/package.json')), 'dist', 'esm', 'raw'),
    dashboard: 'dashboard_types.gen',
    panel: (name: string) => `${name}PanelCfg_types.gen`,
  },
  12: {
    types: join(dirname(require.resolve('grafana-schema-12/package.json')), 'dist', 'types', 'raw'),
    dashboard: 'types.gen',
    panel: () => 'types.gen',
  },
} as const;

export type GrafanaVersion = keyof typeof SCHEMAS;
export const GRAFANA_VERSIONS: readonly GrafanaVersion[] = [11, 12];

/** Grafana's name for the schema of each type of panel. */
const PANELS: Readonly<Record<string, string>> = {
  geomap: 'Geomap',
  heatmap: 'Heatmap',
  stat: 'Stat',
  table: 'Table',
  text: 'Text',
  timeseries: 'TimeSeries',
};

/** Fields of an annotation that belong to the data sources. The schema of dashboards does not have them. */
const OF_SOURCES = ['expr', 'titleFormat', 'textFormat', 'useValueForTime', 'target'];

/** A dashboard's JSON, as far as the check takes it apart. */
export interface DashboardJson {
  readonly uid: string;
  readonly annotations?: { readonly list?: readonly Json[] };
  readonly panels?: readonly PanelJson[];
}

export interface PanelJson {
  readonly type: string;
  readonly title?: string;
  readonly panels?: readonly PanelJson[];
  readonly options?: Json;
  readonly fieldConfig?: { readonly defaults?: Json; readonly overrides?: readonly Json[] };
}

type Json = Readonly<Record<string, unknown>>;

/** A part of a dashboard, the type that it must have, and where it is. */
interface Part {
  readonly of: string;
  readonly type: string;
  readonly value: object;
}

/**
 * What the schema of a version of Grafana does not allow in dashboards: fields that it does not have, values of another
 * type, and words that it does not list. It does not check queries, overrides and transformations: the schema allows
 * everything there. Each fault is `dashboard / panel: message`; one for each object. Empty: there is none.
 *
 * The schema exists as types of TypeScript, so the compiler checks it.
 */
export async function schemaFaults(
  version: GrafanaVersion,
  dashboards: readonly DashboardJson[],
): Promise<string[]> {
  const parts = dashboards.flatMap(partsOf);
  const heads = headsOf(version);
  const lines = parts.map(
    ({ type, value }, index) => `export const part${index}: Plain<${type}> = ${JSON.stringify(value)};`,
  );
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-schema-test-'));
  try {
    await writeFile(join(directory, 'parts.ts'), [...heads, ...lines, ''].join('\n'));
    const compilerOptions = {
      ...{ noEmit: true, strict: true, skipLibCheck: true },
      ...{ module: 'nodenext', target: 'es2022', types: [] },
    };
    await writeFile(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['parts.ts'] }),
    );
    const compiler = require.resolve('typescript/bin/tsc');
    const { code, stdout, stderr } = await runProgram(process.execPath, [compiler, '-p', directory], {
      accept: 'any',
      timeoutMs: TIMEOUT_MS,
    });
    const faults = [...stdout.matchAll(/parts\.ts\((\d+),\d+\): error (.*)/g)].map(([, line, message]) => {
      const part = parts[Number(line) - heads.length - 1];
      return part === undefined ? message! : `${part.of}: ${message}`;
    });
    if (code !== 0 && faults.length === 0) throw new Error(`tsc ended with ${code}: ${stdout}${stderr}`);
    return faults;
  } finally {
    await rm(directory, { recursive: true });
  }
}

function headsOf(version: GrafanaVersion): string[] {
  const { types, dashboard, panel } = SCHEMAS[version];
  const from = (name: string, ...path: string[]) =>
    `import type * as ${name} from ${JSON.stringify(join(types, ...path))};`;
  return [
    from('dashboard', 'dashboard', 'x', dashboard),
    ...Object.entries(PANELS).map(([type, name]) =>
      from(type, 'composable', type, 'panelcfg', 'x', panel(name)),
    ),
    // The same type for values in JSON: enumerations are their texts, and every field has a default.
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a type of TypeScript
    'type Plain<T> = T extends string ? `${T}` : T extends number ? number : '.concat(
      'T extends readonly (infer U)[] ? Plain<U>[] : ',
      'T extends object ? { [K in keyof T]?: Plain<T[K]> } : T;',
    ),
  ];
}

function partsOf({ panels = [], annotations, ...dashboard }: DashboardJson): Part[] {
  const list = (annotations?.list ?? []).map((annotation) => without(annotation, OF_SOURCES));
  const whole = { ...dashboard, annotations: { list } };
  return [
    { of: dashboard.uid, type: 'dashboard.Dashboard', value: whole },
    ...panels.flatMap((panel) => panelParts(dashboard.uid, panel)),
  ];
}

function panelParts(uid: string, panel: PanelJson): Part[] {
  const of = `${uid} / ${panel.title}`;
  if (panel.type === 'row') {
    const { panels = [], ...row } = panel;
    return [
      { of, type: 'dashboard.RowPanel', value: { ...row, panels: [] } },
      ...panels.flatMap((each) => panelParts(uid, each)),
    ];
  }
  if (!(panel.type in PANELS)) throw new TypeError(`add the panel ${panel.type} of ${of} to PANELS`);
  const { options = {}, fieldConfig: { defaults = {}, overrides = [] } = {}, ...others } = panel;
  const { custom = {}, ...standard } = defaults;
  const parts = [
    {
      of,
      type: 'dashboard.Panel',
      value: { ...others, fieldConfig: { defaults: standard, overrides } },
    },
    { of, type: `${panel.type}.Options`, value: options },
  ];
  // Panels such as stat have no such fields, and no type of them.
  if (Object.keys(custom as Json).length > 0)
    parts.push({ of, type: `${panel.type}.FieldConfig`, value: custom as Json });
  return parts;
}

function without(object: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
