import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { launchChromium } from '@tidegauge/lab/chromium';
import type { Page, Response } from 'playwright-core';
import { DASHBOARDS } from '../../src/dashboards.ts';
import { importOf, judge, type QueryAnswer } from '../../src/grafana.ts';
import { panelsOf } from '../../src/lint.ts';

// Runs on an existing Grafana, with a Prometheus that scrapes a Tidegauge under load:
//   GRAFANA_URL=http://grafana:3000 GRAFANA_TOKEN=… PROMETHEUS_URL=http://prometheus:9090 npm run test:servers -- --files dashboards/test/integration/grafana
// GRAFANA_TOKEN belongs to a service account with the role Admin. Grafana must be able to reach PROMETHEUS_URL.
const { GRAFANA_URL, GRAFANA_TOKEN = '', PROMETHEUS_URL, GRAFANA_EMPTY_PANELS = '' } = process.env;
const skip =
  GRAFANA_URL === undefined || PROMETHEUS_URL === undefined
    ? 'no Grafana to test: set GRAFANA_URL, GRAFANA_TOKEN and PROMETHEUS_URL'
    : false;
const DATASOURCE = 'tidegauge-test';
/** The dashboards that this installation has data for. A panel without data fails the test. */
const UIDS = process.env.GRAFANA_DASHBOARDS?.split(',') ?? DASHBOARDS.map(({ uid }) => uid!);
/** Titles of panels without data in this installation, such as those of databases that do not run. */
const MAY_BE_EMPTY = new RegExp(GRAFANA_EMPTY_PANELS === '' ? '^$' : GRAFANA_EMPTY_PANELS);
const FOLDER = join(import.meta.dirname, '..', '..', 'grafana', 'dashboards');
const headers = { Authorization: `Bearer ${GRAFANA_TOKEN}`, 'Content-Type': 'application/json' };
const WAIT_MS = 60_000;

async function send(method: string, path: string, body?: object): Promise<number> {
  const response = await fetch(new URL(path, GRAFANA_URL), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const known = response.ok || response.status === 404;
  assert.ok(known, `Grafana refused ${method} ${path} with ${response.status}: ${text}`);
  return response.status;
}

/** Opens a dashboard in a window of its full height, because Grafana queries only the visible panels. */
async function openWhole(page: Page, uid: string): Promise<void> {
  const rows = Math.max(...DASHBOARDS.flatMap(panelsOf).map(({ gridPos }) => gridPos!.y + gridPos!.h));
  await page.setViewportSize({ width: 1600, height: 200 + rows * 38 });
  await page.goto(new URL(`/d/${uid}?from=now-15m&to=now&kiosk`, GRAFANA_URL).href);
  await page.waitForLoadState('networkidle', { timeout: WAIT_MS });
}

for (const uid of UIDS) {
  test(`Grafana shows ${uid} without an error, every panel with data`, { skip }, async (context) => {
    context.after(() => send('DELETE', `/api/datasources/uid/${DATASOURCE}`));
    await send('DELETE', `/api/datasources/uid/${DATASOURCE}`);
    await send('POST', '/api/datasources', {
      name: DATASOURCE,
      uid: DATASOURCE,
      type: 'prometheus',
      access: 'proxy',
      url: PROMETHEUS_URL,
      jsonData: { timeInterval: '5s', httpMethod: 'POST' },
    });
    const dashboard = JSON.parse(readFileSync(join(FOLDER, `${uid}.json`), 'utf8'));
    await send('POST', '/api/dashboards/db', importOf(dashboard, DATASOURCE));

    const browser = await launchChromium();
    try {
      await browser.context.setExtraHTTPHeaders({ Authorization: headers.Authorization });
      const page = await browser.context.newPage();
      const broken: string[] = [];
      page.on('pageerror', (error) => broken.push(error.message));
      const answers = new Map<string, QueryAnswer[]>();
      const reading: Promise<unknown>[] = [];
      page.on('response', (response: Response) => {
        if (!response.url().includes('/api/ds/query')) return;
        // Grafana sends the id of the panel.
        const panel = response.request().headers()['x-panel-id'];
        if (panel === undefined) return;
        const taken = response.json().then(
          (answer: QueryAnswer) => answers.set(panel, [...(answers.get(panel) ?? []), answer]),
          (error: Error) => broken.push(`panel ${panel}: ${response.status()} ${error.message}`),
        );
        reading.push(taken);
      });
      await openWhole(page, uid);
      await Promise.all(reading);

      for (const { id, title } of panelsOf(dashboard)) {
        const { errors, hasData } = judge(answers.get(String(id)) ?? []);
        broken.push(...errors.map((error) => `${title}: ${error}`));
        if (!hasData && !MAY_BE_EMPTY.test(title!)) broken.push(`${title}: no data`);
      }
      // Errors that only the browser reports: a panel that cannot draw its data.
      const marks = page.getByTestId('data-testid Panel status error');
      for (let index = 0; index < (await marks.count()); index++) {
        broken.push(`a panel is marked: ${await marks.nth(index).getAttribute('aria-label')}`);
      }
      assert.deepEqual(broken, []);
    } finally {
      await browser.close();
    }
  });
}
