import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@tidegauge/lab/chromium';
import { installNpmProgram } from '@tidegauge/lab/npm-program';
import { startOrSkip, testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { startBackupPort } from '../backup-port.ts';
import { HOT, inkIn, PROBE, SILO, startInstallation, visit } from '../browser.ts';
import { type Api, startApi, until } from '../harness.ts';

// axe-core on each view and dialog of the live page, at the size of a small phone, in light and in dark colours.

const test = await testWith('chromium', findChromium);
const axe = await startOrSkip('axe-core', () => installNpmProgram('axe-core', '4.14.1'));
const skip = 'skip' in axe ? axe.skip : false;

const PHONE = { width: 360, height: 640 };
const phone = { viewport: PHONE };
const TOKEN = 'a-long-and-random-token';
/** A colour that is still changing has another contrast. Its Content-Security-Policy does not apply to this style sheet. */
const STAND_STILL = `(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*, ::before, ::after { transition: none !important; animation: none !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
})()`;

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Fails with each rule that the page violates now, and the elements. Checks every rule, best practices included. */
async function assertAccessible(page: Page, what: string): Promise<void> {
  // The page's Content-Security-Policy refuses a script element. A script of the debugger is not subject to it.
  const loaded = (await page.evaluate("typeof window.axe === 'object'")) as boolean;
  if (!loaded) {
    await page.evaluate(readFileSync(join((axe as { server: string }).server, 'axe.min.js'), 'utf8'));
    await page.evaluate(STAND_STILL);
  }
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations, passes } = (await page.evaluate('axe.run()')) as {
      violations: readonly Violation[];
      passes: readonly unknown[];
    };
    assert.ok(passes.length > 10, `${what}: ${passes.length} rules were checked`);
    assert.deepEqual(
      violations.map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
      ),
      [],
      `${what}, ${colorScheme}`,
    );
  }
  assert.ok(
    ((await page.evaluate('document.documentElement.scrollWidth')) as number) <= PHONE.width,
    `${what} is wider than the screen`,
  );
}

async function startWithCauses(t: Parameters<typeof startApi>[0]): Promise<Api> {
  const { url } = await startBackupPort(t);
  // The file is not made, because no key is.
  const apiKeys = join(tmpdir(), `tidegauge-no-keys-${process.pid}.json`);
  const api = await startInstallation(t, { apiKeys, backup: url });
  api.ingest.entries.rules.set('hot', { device: PROBE, metric: 'temperature', above: 20.5 });
  api.ingest.passwords!.set('site-3', 'x');
  api.ingest.refuse('zigbee2mqtt/lamp', 'unknown_topic', 'it matches no route', '{"state":"ON"}');
  const last = {
    id: 'ingest-1.2',
    topic: 'zigbee2mqtt/lamp',
    detail: 'it matches no route',
    received: '2026-11-21T14:00:00.000000Z',
  };
  const proposals = [{ preset: 'zigbee2mqtt' }, { topic: 'zigbee2mqtt/{device}' }];
  const fix = 'add a route: - preset: zigbee2mqtt';
  const topic = 'zigbee2mqtt/{device}';
  api.ingest.causes = [
    { reason: 'unknown_topic', route: null, topic, count: 3, last, fix, proposals },
    {
      reason: 'malformed',
      route: 'default',
      topic: 'sensors/{device}',
      count: 1,
      last,
      fix: null,
      proposals: [],
    },
  ];
  api.ingest.explanation = {
    topic: 'zigbee2mqtt/lamp',
    route: null,
    device: null,
    metric: null,
    total: 0,
    readings: [],
    ignored: [],
    error: { reason: 'unknown_topic', message: 'it matches no route', position: null },
    fix,
    proposals,
  };
  return api;
}

test('axe finds nothing on the sensors, a chart and the pipeline', { skip }, async (t) => {
  const api = await startWithCauses(t);
  await visit(api, phone, async (page) => {
    await until('the sensors', async () => (await page.locator('.row').count()) === 2);
    await assertAccessible(page, 'the list of sensors');
    await page.locator('#search').fill('no such sensor');
    await assertAccessible(page, 'an empty search');
    await page.locator('#search').fill('');
    await page.locator(`.row[data-name="${PROBE}"]`).click();
    await until('the chart', async () => (await inkIn(page, 'temperature')) > 20);
    await until('the limit', async () => await page.getByRole('slider').isVisible());
    await assertAccessible(page, 'the charts of a sensor');
    await page.getByRole('button', { name: 'Edit…' }).click();
    await until('the dialog', async () => await page.getByRole('dialog').isVisible());
    await assertAccessible(page, 'the dialog of a sensor');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Alerts…' }).click();
    const alerts = page.getByRole('dialog', { name: 'Alerts' });
    await until('the rules', async () => /on this page only/.test(await alerts.innerText()));
    await assertAccessible(page, 'the alerts of a sensor');
    for (const name of ['Add a rule…', 'Add a receiver…']) {
      await alerts.getByRole('button', { name }).click();
      const form = page.getByRole('dialog', { name: name.slice(0, -1) });
      await until('the form', async () => await form.isVisible());
      await assertAccessible(page, name);
      await form.getByRole('button', { name: 'Cancel' }).click();
    }
  });
  await visit(api, { ...phone, hash: '#/today' }, async (page) => {
    await until(
      'the figures',
      async () => (await page.locator('#overview-rows polyline[points]').count()) > 0,
    );
    await assertAccessible(page, "today's figures");
  });
  const lines = `s=${PROBE}/temperature&s=${SILO}/level&last=5m&compare=day`;
  await visit(api, { ...phone, hash: `#/history?${lines}` }, async (page) => {
    const reading = page.locator('#history [aria-busy="true"]');
    await until('the lines', async () => (await page.locator('#history-rows tr').count()) === 4);
    await until('their figures', async () => (await reading.count()) === 0);
    await assertAccessible(page, 'the history');
    for (const name of ['Add a line…', 'Go to…']) {
      await page.getByRole('button', { name }).click();
      await until('the dialog', async () => await page.getByRole('dialog').isVisible());
      await assertAccessible(page, name);
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    }
    await page.getByRole('button', { name: 'Annotate…' }).click();
    await assertAccessible(page, 'the choice of a time');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Text').fill('Heating serviced');
    await assertAccessible(page, 'a new annotation');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await until('it', async () => (await page.locator('#history-notes li').count()) === 1);
    await assertAccessible(page, 'an annotation');
    await page.locator('#history-rows .max button').first().click();
    await until('its reading', async () => (await dialog.locator('tbody td').count()) > 0);
    await assertAccessible(page, 'the readings');
    await dialog.getByRole('button', { name: 'Close' }).click();
  });
  await visit(api, { ...phone, hash: '#/pipeline' }, async (page) => {
    const unknown = page.locator('#unknown-topics li');
    await until('the causes', async () => (await page.locator('#causes details').count()) === 1);
    await assertAccessible(page, 'the pipeline');
    await unknown.locator('summary').click();
    await page.locator('#causes summary').click();
    await page.locator('#quarantine summary').first().click();
    await unknown.getByRole('button', { name: /^Explain the newest/ }).click();
    await until('the explanation', async () => /no route/.test(await page.locator('#explained').innerText()));
    await assertAccessible(page, 'an explanation');
    await unknown.getByRole('button', { name: 'Add the route - preset: zigbee2mqtt' }).click();
    await until('the question', async () => await page.getByRole('dialog').isVisible());
    await assertAccessible(page, 'the question before a route is added');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('#quarantine-discard').click();
    await until('the question', async () => await page.getByRole('dialog').isVisible());
    await assertAccessible(page, 'the question before messages are discarded');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    for (const [id, form] of [
      ['manage-keys', 'Make a key…'],
      ['manage-passwords', 'Add a login…'],
      ['manage-retention', 'Add a rule…'],
      ['manage-backups', null],
    ] as const) {
      await page.locator(`#${id}`).click();
      const lists = page.getByRole('dialog').first();
      await until('the list', async () => (await lists.locator('.rows li').count()) > 0);
      await assertAccessible(page, id);
      if (form !== null) {
        await lists.getByRole('button', { name: form }).click();
        await assertAccessible(page, form);
        await page.keyboard.press('Escape');
      }
      await lists.getByRole('button', { name: 'Close' }).click();
    }
  });
});

test('axe finds nothing on the list of alerts', { skip }, async (t) => {
  const api = await startInstallation(t);
  const [ended, since] = ['2026-11-21T15:00:00.000000Z', '2026-11-21T14:30:00.000000Z'];
  const quiet = { kind: 'quiet', device: SILO, metric: null, value: null, limit: 900, since } as const;
  api.ingest.alerts = [
    HOT,
    { ...HOT, ...quiet, id: '1'.repeat(24), rule: 'quiet', severity: 'warning' },
    { ...HOT, ...quiet, id: '2'.repeat(24), rule: 'quiet-too', severity: 'info' },
    { ...HOT, id: '3'.repeat(24), state: 'ended', ended, reason: 'cleared' },
  ];
  await visit(api, phone, async (page) => {
    await until('the alerts', async () => (await page.locator('#alert-list li').count()) === 4);
    await assertAccessible(page, 'the list of alerts');
    await page.locator('#alert-count').click();
    await assertAccessible(page, 'the list of alerts after a click on their number');
    api.ingest.isEvaluating = false;
    await until('the warning', async () =>
      (await page.locator('#alerts-sum').innerText()).startsWith('No ingest process'),
    );
    await assertAccessible(page, 'alerts that no process evaluates');
  });
});

test('axe finds nothing on the sign-in and the page after it', { skip }, async (t) => {
  const api = await startApi(t, { config: { apiToken: TOKEN, openReads: false } });
  await visit(api, { ...phone, expect: /Failed to load resource.* 401/ }, async (page) => {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await until('the dialog', async () => await dialog.isVisible());
    await assertAccessible(page, 'the sign-in');
    await dialog.getByLabel('Key').fill('wrong');
    await page.keyboard.press('Enter');
    await until('the complaint', async () => /is wrong/.test(await dialog.innerText()));
    await assertAccessible(page, 'a refused key');
    await dialog.getByLabel('Key').fill(TOKEN);
    await page.keyboard.press('Enter');
    await until('the end of the sign-in', async () => (await page.locator('dialog').count()) === 0);
    await assertAccessible(page, 'the page without sensors');
  });
});

test('axe finds nothing on the reference', { skip }, async (t) => {
  const api = await startApi(t);
  await visit(api, { ...phone, hash: 'docs' }, async (page) => {
    await assertAccessible(page, 'the reference');
    await page.getByRole('link', { name: 'Deliver readings' }).click();
    const operation = '#operations-readings-deliverReadings';
    await page.waitForSelector(`${operation} .opblock-section-request-body`);
    await assertAccessible(page, 'the page to try requests');
  });
});
