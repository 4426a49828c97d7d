import { createHash } from 'node:crypto';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildOnce } from '@tidegauge/lab/build-once';
import { launchChromium } from '@tidegauge/lab/chromium';
import { assertMayInstall } from '@tidegauge/lab/install-policy';
import type { Prometheus } from '@tidegauge/lab/prometheus';
import { runProgram } from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import type { Page } from 'playwright-core';
import { ALL_DASHBOARDS } from '../src/dashboards.ts';
import type { OpenTsdbTarget } from '../src/opentsdb.ts';
import { withEverythingChosen } from '../src/queries.ts';

const SOURCE = join(import.meta.dirname, 'draw');
const PACKAGES = ['package.json', 'package-lock.json'];
const PAGE = ['page.jsx', 'panels.jsx', 'frames.jsx', 'faults.jsx', 'index.html'];
/** A desktop, and a telephone. */
const WIDTHS = [1440, 390];
const HEIGHT = 900;
/** The width of most charts, which determines the time between two points. */
const CHART_PIXELS = 460;
const TIMEOUT_MS = 120_000;

export interface ShownOptions {
  /** What the system is like. It names the pictures: `healthy`. */
  readonly state: string;
  readonly prometheus: Prometheus;
  readonly scrapeMs: number;
  /** The time shown, until now. */
  readonly seconds: number;
  /** The API, and the metric that is chosen, for the dashboard Latest. */
  readonly latest?: { readonly api: string; readonly metric: string };
  /** Uids. Default: all. */
  readonly dashboards?: readonly string[];
  /** Titles of the rows to draw. Default: all. */
  readonly rows?: RegExp | undefined;
}

/** A panel as drawn. */
export interface Drawn {
  readonly state: string;
  readonly dashboard: string;
  readonly title: string;
  /** Pixels of the page. */
  readonly width: number;
  readonly text: string;
  /** Whether the panel, or a value in it, has no data. */
  readonly isEmpty: boolean;
  /** What a reader cannot read: `cut at the side: climate-13`. */
  readonly faults: readonly string[];
}

/** What the page draws: the panels of a dashboard with the answers to their queries, and the time shown. */
export interface DrawingModel {
  readonly state: string;
  readonly uid: string;
  readonly panels: readonly PanelWithAnswers[];
  readonly from: number;
  readonly to: number;
}

interface PanelWithAnswers {
  readonly panel: Partial<Panel | RowPanel>;
  readonly answers: readonly object[];
}

/** The folder of the page that draws, in the lab's cache. It is built again when a source or a package has changed. */
export async function drawingPage(): Promise<string> {
  const packages = await hashOf(PACKAGES);
  const libraries = await buildOnce(`grafana-libraries/${packages}`, async (directory) => {
    assertMayInstall("Grafana's libraries");
    await mkdir(directory);
    for (const file of PACKAGES) await cp(join(SOURCE, file), join(directory, file));
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
    await runProgram('npm', ['ci', '--ignore-scripts', ...quiet], { cwd: directory, timeoutMs: 600_000 });
  });
  const modules = join(libraries, 'node_modules');
  return buildOnce(`grafana-page/${packages}-${await hashOf(PAGE)}`, async (directory) => {
    await mkdir(directory);
    await cp(join(SOURCE, 'index.html'), join(directory, 'index.html'));
    const loaders = ['--loader:.woff2=dataurl', '--loader:.woff=empty', '--loader:.ttf=empty'];
    const production = '--define:process.env.NODE_ENV="production"';
    await runProgram(
      join(modules, '.bin', 'esbuild'),
      [join(SOURCE, 'page.jsx'), '--bundle', '--minify', '--jsx=automatic', production, ...loaders].concat(
        `--outdir=${directory}`,
        '--log-level=error',
      ),
      { env: { NODE_PATH: modules } },
    );
  });
}

async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(join(SOURCE, file)));
  return hash.digest('hex').slice(0, 16);
}

/** What dashboards show now: their panels with the answers of a Prometheus. Closed rows are open. */
export async function shownNow(options: ShownOptions): Promise<DrawingModel[]> {
  const to = Date.now();
  const chosen = ALL_DASHBOARDS.filter(({ uid }) => options.dashboards?.includes(uid!) ?? true);
  return Promise.all(
    chosen.map(async (dashboard) => ({
      state: options.state,
      uid: dashboard.uid!,
      panels: await panelsWithAnswers(dashboard, options, to),
      from: to - options.seconds * 1000,
      to,
    })),
  );
}

/**
 * Draws dashboards with Grafana's published libraries, on a wide and on a narrow page. With the variable
 * TIDEGAUGE_DRAWINGS, pictures are in that folder, as `STATE-WIDTH/UID.png`.
 */
export async function drawModels(models: readonly DrawingModel[]): Promise<Drawn[]> {
  const address = pathToFileURL(join(await drawingPage(), 'index.html')).href;
  const folder = process.env.TIDEGAUGE_DRAWINGS;
  const panels: Drawn[] = [];
  const browser = await launchChromium();
  try {
    const page = await browser.context.newPage();
    await page.goto(address);
    for (const width of WIDTHS) {
      for (const model of models) {
        const { state, uid } = model;
        const read = await drawn(page, width, model);
        panels.push(...read.map((panel) => ({ state, dashboard: uid, width, ...panel })));
        if (folder === undefined) continue;
        const path = join(folder, `${state}-${width}`, `${uid}.png`);
        await page.screenshot({ path, timeout: TIMEOUT_MS });
      }
    }
  } finally {
    await browser.close();
  }
  return panels;
}

type ReadPanel = Omit<Drawn, 'state' | 'dashboard' | 'width'>;

/** The functions of the page that draws. */
interface DrawingPage {
  draw(model: object): Promise<number>;
  read(): Promise<ReadPanel[]>;
}

async function drawn(page: Page, width: number, model: DrawingModel): Promise<ReadPanel[]> {
  await page.setViewportSize({ width, height: HEIGHT });
  // The models of dashboards contain functions.
  const plain = JSON.parse(JSON.stringify({ ...model, width })) as object;
  const height = await page.evaluate((given) => (globalThis as unknown as DrawingPage).draw(given), plain);
  await page.setViewportSize({ width, height });
  return page.evaluate(() => (globalThis as unknown as DrawingPage).read());
}

/** The faults of panels, and those without data unless `mayBeEmpty`, as texts. */
export function drawingFaults(
  panels: readonly Drawn[],
  mayBeEmpty: (panel: Drawn) => boolean = () => false,
): string[] {
  return panels.flatMap((panel) => {
    const faults = panel.isEmpty && !mayBeEmpty(panel) ? ['has no data', ...panel.faults] : panel.faults;
    const { state, dashboard, width, title } = panel;
    return faults.map((fault) => `${state}: ${dashboard} at ${width} px, ${title}: ${fault}`);
  });
}

/** The panels of a dashboard in the order in which they are shown, those of closed rows too, with their answers. */
async function panelsWithAnswers(
  dashboard: Dashboard,
  options: ShownOptions,
  to: number,
): Promise<PanelWithAnswers[]> {
  const shown: (Panel | RowPanel)[] = [];
  let row = '';
  for (const panel of dashboard.panels ?? []) {
    if (panel.type === 'row') row = panel.title ?? '';
    if (options.rows?.test(row) === false) continue;
    shown.push(panel, ...('panels' in panel ? (panel.panels as Panel[]) : []));
  }
  const metric = options.latest?.metric ?? '';
  return Promise.all(
    shown.map(async (panel) => ({
      panel: { ...panel, title: panel.title?.replace('$metric', metric) ?? '' },
      answers: 'panels' in panel || panel.targets === undefined ? [] : await answersOf(panel, options, to),
    })),
  );
}

interface PrometheusTarget {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat?: string;
  readonly format?: string;
  readonly instant?: boolean;
}

async function answersOf(panel: Panel, options: ShownOptions, to: number): Promise<object[]> {
  const targets = (panel.targets ?? []) as unknown as readonly (PrometheusTarget | OpenTsdbTarget)[];
  const answers = await Promise.all(
    targets.map((target) =>
      'expr' in target ? fromPrometheus(panel, target, options, to) : fromOpenTsdb(target, options, to),
    ),
  );
  return answers.flat();
}

/** The answer to a query with everything chosen, and the step and the rate interval that Grafana would use. */
async function fromPrometheus(
  { interval }: Panel,
  { refId, expr, legendFormat = '', format = 'time_series', instant = false }: PrometheusTarget,
  { prometheus, scrapeMs, seconds }: ShownOptions,
  to: number,
): Promise<object[]> {
  const scrape = scrapeMs / 1000;
  const least = Number.parseFloat(interval ?? '0');
  const step = Math.max(least, scrape, seconds / CHART_PIXELS);
  const rateInterval = `${Math.round(Math.max(step + scrape, 4 * scrape) * 1000)}ms`;
  const query = withEverythingChosen(expr, rateInterval, `${Math.round(seconds)}s`);
  const end = Math.floor(to / 1000 / step) * step;
  const times = instant ? { time: to / 1000 } : { start: end - seconds, end, step };
  const response = await fetchFor(
    'query Prometheus',
    `${prometheus.url}/api/v1/query${instant ? '' : '_range'}`,
    {
      method: 'POST',
      body: new URLSearchParams({
        query,
        ...Object.fromEntries(Object.entries(times).map(([key, value]) => [key, String(value)])),
      }),
      timeoutMs: TIMEOUT_MS,
    },
  );
  const { data, error } = (await response.json()) as { data?: { result: object[] }; error?: string };
  if (data === undefined) throw new Error(`Prometheus refused ${query}: ${error}`);
  return [{ refId, legendFormat, format, step, result: data.result }];
}

/** The answer of the API to a query of OpenTSDB for every device. */
async function fromOpenTsdb(
  target: OpenTsdbTarget & { readonly refId?: string },
  { latest, seconds }: ShownOptions,
  to: number,
): Promise<object[]> {
  if (latest === undefined) return [];
  const { api, metric } = latest;
  const downsample = `${Math.ceil(seconds / CHART_PIXELS)}s-${target.downsampleAggregator}`;
  const tags = { device: '*' };
  const query = {
    metric: target.metric.replace('$metric', metric),
    aggregator: target.aggregator,
    downsample,
    tags,
  };
  const response = await fetchFor('query the API', `${api}/api/query`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ start: to - seconds * 1000, end: to, queries: [query], msResolution: true }),
    timeoutMs: TIMEOUT_MS,
  });
  const answers = (await response.json()) as readonly {
    tags: Record<string, string>;
    dps: Record<string, number>;
  }[];
  return answers.map((answer) => ({
    refId: target.refId,
    name: target.alias.replace('$tag_device', answer.tags.device ?? ''),
    dps: Object.entries(answer.dps).map(([time, value]) => [Number(time), value]),
  }));
}
