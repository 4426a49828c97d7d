import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { launchChromium } from '@tidegauge/lab/chromium';
import type { Page, Response } from 'playwright-core';
import { ALL_DASHBOARDS, DASHBOARDS } from '../../src/dashboards.ts';
import { copyOf, type DashboardFile, judge, type QueryAnswer } from '../../src/grafana.ts';
import { panelsOf } from '../../src/queries.ts';

// Runs on an existing Grafana whose Prometheus scrapes a Tidegauge under load. The README has the variables.
const {
  GRAFANA_URL,
  GRAFANA_TOKEN,
  GRAFANA_USER = 'admin',
  GRAFANA_PASSWORD,
  PROMETHEUS_URL,
  GRAFANA_EMPTY_PANELS = '',
} = process.env;
const skip = GRAFANA_URL === undefined ? 'no Grafana to test: set GRAFANA_URL' : false;
/** The folder and the data source of the copies. */
const TEST_UID = 'tidegauge-test';
/** The dashboards that this installation has data for. A panel without data fails the test. */
const UIDS = process.env.GRAFANA_DASHBOARDS?.split(',') ?? ALL_DASHBOARDS.map(({ uid }) => uid!);
const WITH_PROMETHEUS = new Set(DASHBOARDS.map(({ uid }) => uid));
/** Titles of panels without data in this installation, such as those of databases that do not run. */
const MAY_BE_EMPTY = new RegExp(GRAFANA_EMPTY_PANELS === '' ? '^$' : GRAFANA_EMPTY_PANELS);
/** Panels that are empty in an installation without a fault. */
const EMPTY_WHEN_WELL = new Set(['Alerts firing', 'Time until the disk is full', 'Runs of experiments']);
const FOLDER = join(import.meta.dirname, '..', '..', 'grafana', 'dashboards');
const WAIT_MS = 60_000;
/** The least width of a row of panels, and the height of one unit of the grid, in pixels. */
const WIDTH = 1600;
const UNIT = 38;
const authorization =
  GRAFANA_PASSWORD === undefined
    ? `Bearer ${GRAFANA_TOKEN ?? ''}`
    : `Basic ${Buffer.from(`${GRAFANA_USER}:${GRAFANA_PASSWORD}`).toString('base64')}`;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A request to Grafana. 404 is an answer, other errors are thrown. */
async function send(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(new URL(path, GRAFANA_URL), {
    method,
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const known = response.ok || response.status === 404;
  assert.ok(known, `Grafana refused ${method} ${path} with ${response.status}: ${text}`);
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

/** The uid of the installation's own dashboard, or null if it is not installed from files. */
async function provisioned(uid: string): Promise<string | null> {
  const { status, body } = await send('GET', `/api/dashboards/uid/${uid}`);
  const found = status === 404 ? null : (body as { readonly meta: { readonly provisioned?: boolean } });
  return found?.meta.provisioned === true ? uid : null;
}

/** Makes a copy of the dashboard in a folder of the test, and resolves to its uid. */
async function copied(uid: string): Promise<string> {
  assert.ok(PROMETHEUS_URL, `${uid} is not provisioned in this Grafana: set PROMETHEUS_URL to test a copy`);
  assert.ok(
    uid !== 'tidegauge-latest',
    'tidegauge-latest needs the API as a data source: provision it, or leave it out of GRAFANA_DASHBOARDS',
  );
  if ((await send('GET', `/api/folders/${TEST_UID}`)).status === 404)
    await send('POST', '/api/folders', { uid: TEST_UID, title: 'Test of Tidegauge' });
  if ((await send('GET', `/api/datasources/uid/${TEST_UID}`)).status === 404)
    await send('POST', '/api/datasources', {
      name: TEST_UID,
      uid: TEST_UID,
      type: 'prometheus',
      access: 'proxy',
      url: PROMETHEUS_URL,
      jsonData: { timeInterval: '5s', httpMethod: 'POST' },
    });
  const file = JSON.parse(readFileSync(join(FOLDER, `${uid}.json`), 'utf8')) as DashboardFile;
  await send('POST', '/api/dashboards/db', copyOf(file, TEST_UID, TEST_UID));
  return `test-${uid}`;
}

/**
 * Removes everything that this test makes, also what an earlier run left. Dashboards go with their folder. Without the URL
 * of a Prometheus there are no copies, and the user may not be allowed to remove anything.
 */
async function removeCopies(): Promise<void> {
  if (PROMETHEUS_URL === undefined) return;
  await send('DELETE', `/api/folders/${TEST_UID}?forceDeleteRules=true`);
  await send('DELETE', `/api/datasources/uid/${TEST_UID}`);
}

/** What Grafana answered to the queries of each panel, and what failed in the browser. */
class Watch {
  readonly answers = new Map<string, QueryAnswer[]>();
  readonly broken: string[] = [];
  readonly #reading: Promise<unknown>[] = [];

  constructor(page: Page) {
    page.on('pageerror', (error) => this.broken.push(error.message));
    page.on('response', (response) => this.#take(response));
  }

  #take(response: Response): void {
    // Queries of OpenTSDB go through the proxy of the data source.
    if (!/\/api\/(ds\/query|datasources\/proxy\/)/.test(response.url())) return;
    if (!response.ok()) this.broken.push(`${response.status()} for ${new URL(response.url()).pathname}`);
    // Grafana sends the id of the panel.
    const panel = response.request().headers()['x-panel-id'];
    if (panel === undefined || !response.url().includes('/api/ds/query')) return;
    const taken = response.json().then(
      (answer: QueryAnswer) => this.answers.set(panel, [...(this.answers.get(panel) ?? []), answer]),
      (error: Error) => this.broken.push(`panel ${panel}: ${response.status()} ${error.message}`),
    );
    this.#reading.push(taken);
  }

  async read(): Promise<void> {
    await Promise.all(this.#reading);
  }
}

/** Opens a dashboard in a window of its full height, because Grafana draws only the visible panels. */
async function openWhole(page: Page, uid: string, panels: readonly Panel[]): Promise<void> {
  const rows = panels.reduce((sum, { gridPos }) => Math.max(sum, gridPos!.y + gridPos!.h), 0);
  await page.setViewportSize({ width: WIDTH, height: 400 + rows * UNIT });
  await page.goto(new URL(`/d/${uid}?from=now-15m&to=now&kiosk`, GRAFANA_URL).href);
  await page.waitForLoadState('networkidle', { timeout: WAIT_MS });
  const collapsed = page.locator('[data-testid^="data-testid dashboard-row-title-"][aria-expanded="false"]');
  while ((await collapsed.count()) > 0) await collapsed.first().click();
  await page.waitForLoadState('networkidle', { timeout: WAIT_MS });
}

/** Panels that the browser could not draw, and panels that are not on the page. */
async function drawingFaults(page: Page, panels: readonly Panel[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { title } of panels) {
    const drawn = await page.getByTestId(`data-testid Panel header ${title}`).count();
    if (drawn === 0) faults.push(`${title}: is not on the page`);
  }
  for (const mark of ['Panel status error', 'Alert error', 'Error boundary']) {
    const marks = page.getByTestId(`data-testid ${mark}`);
    for (let index = 0; index < (await marks.count()); index++) {
      if (!(await marks.nth(index).isVisible())) continue;
      const label = await marks.nth(index).getAttribute('aria-label');
      faults.push(`${mark}: ${label ?? (await marks.nth(index).innerText())}`);
    }
  }
  return faults;
}

describe('Grafana shows each dashboard without an error, every panel with data', { skip }, () => {
  before(removeCopies);
  after(removeCopies);

  for (const uid of UIDS) {
    test(uid, async () => {
      const shown = (await provisioned(uid)) ?? (await copied(uid));
      const panels = panelsOf(ALL_DASHBOARDS.find((each) => each.uid === uid)!);
      const browser = await launchChromium({ ignoreCertificates: true });
      try {
        await browser.context.setExtraHTTPHeaders({ Authorization: authorization });
        const page = await browser.context.newPage();
        const watch = new Watch(page);
        await openWhole(page, shown, panels);
        await watch.read();
        const faults = [...watch.broken, ...(await drawingFaults(page, panels))];
        for (const { id, title } of WITH_PROMETHEUS.has(uid) ? panels : []) {
          const { errors, hasData } = judge(watch.answers.get(String(id)) ?? []);
          faults.push(...errors.map((error) => `${title}: ${error}`));
          if (!hasData && !EMPTY_WHEN_WELL.has(title!) && !MAY_BE_EMPTY.test(title!))
            faults.push(`${title}: no data`);
        }
        // The answers of OpenTSDB have no id of a panel.
        if (!WITH_PROMETHEUS.has(uid) && (await page.getByText('No data', { exact: true }).count()) > 0)
          faults.push('a panel shows "No data"');
        assert.deepEqual(faults, []);
      } finally {
        await browser.close();
      }
    });
  }
});
