import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { fresh, inkIn, PROBE, SILO, startInstallation, textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const WIDE = { width: 1366, height: 768 };
const NARROW = { width: 800, height: 768 };
const PHONE = { width: 390, height: 844 };
const FAILED_REQUEST = /Failed to load resource.* 503/;

function isInView(page: Page, selector: string): Promise<boolean> {
  return page.evaluate(
    `(({ top, bottom }) => top >= 56 && top < innerHeight - 100 && bottom > 56)(
      document.querySelector('${selector}').getBoundingClientRect())`,
  );
}

test('a window shows a sensor after it was made narrow and wide again', async (t) => {
  const api = await startInstallation(t);
  await visit(api, { viewport: WIDE }, async (page) => {
    await until('the first sensor', async () => (await textOf(page, '#sensor-title')) === PROBE);
    await page.setViewportSize(NARROW);
    await until('the list alone', async () => !(await page.locator('#charts').isVisible()));
    await page.setViewportSize(WIDE);
    await until('the sensor again', async () => (await textOf(page, '#sensor-title')) === PROBE);
    await until('its chart', async () => (await inkIn(page, 'temperature')) > 100);
    // The sensor that was selected last, not the first of the list.
    await page.locator(`.row[data-name="${SILO}"]`).click();
    await page.setViewportSize(NARROW);
    await page.getByRole('link', { name: 'Back to the sensors' }).click();
    await page.setViewportSize(WIDE);
    await until('the chosen sensor', async () => (await textOf(page, '#sensor-title')) === SILO);
    await until('its chart', async () => (await inkIn(page, 'level')) > 100);
  });
  await visit(api, { viewport: NARROW }, async (page) => {
    await until('the list', async () => (await page.locator('.row').count()) === 2);
    await page.setViewportSize(WIDE);
    await until('a sensor', async () => (await textOf(page, '#sensor-title')) === PROBE);
  });
});

test('a selected sensor is scrolled into view, also when it was selected before', async (t) => {
  const api = await startInstallation(t);
  for (let n = 0; n < 30; n++) api.ingest.refuse(`sensors/x/${n}`, 'malformed', 'no number', 'x');
  await visit(api, { viewport: { width: 1366, height: 600 } }, async (page) => {
    await until('the quarantine', async () => (await page.locator('#quarantine li').count()) === 10);
    const scrollDown = async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      await until('the end', async () => !(await isInView(page, '#sensor-title')));
    };
    for (const name of [SILO, SILO, PROBE]) {
      await scrollDown();
      await page.locator(`.row[data-name="${name}"]`).click();
      await until('the title', async () => (await textOf(page, '#sensor-title')) === name);
      await until('the title in view', () => isInView(page, '#sensor-title'));
    }
    // Screen readers announce the change.
    assert.equal(await page.locator('#sensor-title').getAttribute('aria-live'), 'polite');
  });
});

test('on a phone the sensor receives the focus, and Back returns to its row in the list', async (t) => {
  const api = await startApi(t);
  const names = Array.from({ length: 60 }, (_, n) => `site-1/probe-${n}`);
  await api.ingest.commit(names.map((name) => fresh(name, 'temperature', 20)));
  await visit(api, { viewport: { width: 390, height: 844 } }, async (page) => {
    const row = page.locator('.row[data-name="site-1/probe-50"]');
    await until('the list', async () => (await page.locator('.row').count()) === 60);
    await row.click();
    await until('the sensor', async () => (await textOf(page, '#sensor-title')) === 'site-1/probe-50');
    await until('its focus', async () => (await page.evaluate('document.activeElement.id')) === 'charts');
    await page.getByRole('link', { name: 'Back to the sensors' }).click();
    await until('the row in view', () => isInView(page, '.row[data-name="site-1/probe-50"]'));
    assert.equal(await page.evaluate('document.activeElement.dataset.name'), 'site-1/probe-50');
  });
});

test('a long list of sensors grows while it is scrolled, and the search finds all of them', async (t) => {
  const api = await startApi(t);
  const names = Array.from({ length: 250 }, (_, n) => `site-${1 + Math.floor(n / 50)}/probe-${n}`);
  await api.ingest.commit(names.map((name) => fresh(name, 'temperature', 20)));
  await visit(api, { viewport: WIDE }, async (page) => {
    const rows = page.locator('.row');
    await until('the first rows', async () => (await rows.count()) === 60);
    await until('their number', async () => (await textOf(page, '#sensor-count')) === '250');
    await until('all rows', async () => {
      await rows.last().scrollIntoViewIfNeeded();
      return (await rows.count()) === 250;
    });
    assert.match(await textOf(page, '#sensor-list section:last-child h3'), /^site-5\s+50 sensors$/);
    await page.locator('#search').fill('probe-24');
    await until('the matches', async () => (await rows.count()) === 11);
  });
});

test('the page shows that the store is unavailable, makes no other claim, and recovers', async (t) => {
  const api = await startInstallation(t);
  api.outage.cut = true;
  for (const hash of ['', `#/sensor/${PROBE}`]) {
    api.outage.cut = true;
    await visit(api, { viewport: WIDE, hash, expect: FAILED_REQUEST }, async (page) => {
      await until('the reason', async () => /store is unavailable/i.test(await textOf(page, '#sensor-list')));
      const said = await textOf(page, 'body');
      assert.doesNotMatch(said, /has reported yet|No sensor yet|No readings|Not heard/i);
      assert.match(said, /tries again by itself/);
      assert.equal(await textOf(page, '#sensor-count'), '–');
      // Ingest still answers, so its part of the page is there.
      await until('the ledger', async () => (await textOf(page, '#balance')) === '✓ Balanced');
      assert.equal(await page.locator('.pipeline').isVisible(), true);
      assert.equal(
        await page.evaluate(`getComputedStyle(document.querySelector('.pipeline')).visibility`),
        'visible',
      );
      api.outage.cut = false;
      await until('the sensors', async () => (await page.locator('.row').count()) === 2);
      await until('the chart', async () => (await inkIn(page, 'temperature')) > 100);
      await until('the banner to go', async () => !(await page.locator('#banner').isVisible()));
    });
  }
});

test('a store that fails later is reported in place of the chart, and the chart returns', async (t) => {
  const api = await startInstallation(t);
  await visit(api, { viewport: WIDE, expect: FAILED_REQUEST }, async (page) => {
    await until('the chart', async () => (await inkIn(page, 'temperature')) > 100);
    api.outage.cut = true;
    await page.locator(`.row[data-name="${SILO}"]`).click();
    await until('the reason', async () =>
      /store is unavailable/i.test(await textOf(page, '.chart[data-metric="level"] .no-data')),
    );
    api.outage.cut = false;
    await until('the chart again', async () => (await inkIn(page, 'level')) > 100);
    await until('the banner to go', async () => !(await page.locator('#banner').isVisible()));
  });
});

for (const viewport of [WIDE, PHONE]) {
  test(`an empty store shows how a sensor is connected, until it reports, at ${viewport.width}`, async (t) => {
    const api = await startApi(t);
    api.ingest.addresses = [{ port: 1884, tls: false, local: false, login: 'one' }];
    await visit(api, { viewport }, async (page) => {
      const ways = page.locator('.first-steps details');
      await until('the ways', async () => (await ways.count()) === 6);
      assert.match(await textOf(page, '#sensor-list'), /No sensor has reported yet/);
      await ways.filter({ hasText: 'Tasmota' }).locator('summary').click();
      const text = await ways.filter({ hasText: 'Tasmota' }).innerText();
      assert.match(text, /MqttHost 127\.0\.0\.1; MqttPort 1884; MqttUser USER/);
      await page.getByRole('button', { name: 'Add the route - preset: tasmota' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
      await until('the route', () => api.ingest.routes.length === 1);
      await api.ingest.commit([fresh('desk', 'temperature', 21.5)]);
      await until('the chart', () => page.locator('.chart[data-metric="temperature"]').isVisible());
      assert.equal(await ways.count(), 0);
    });
  });
}

test('the page explains that an address has no readings', async (t) => {
  const api = await startApi(t);
  for (const hash of ['#/sensor/%E0%A4%A', '#/sensor/nobody/here']) {
    await visit(api, { viewport: WIDE, hash }, async (page) => {
      await until('the words', async () => /No readings/.test(await textOf(page, '#sensor-facts')));
      await until('the ledger', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    });
  }
});
