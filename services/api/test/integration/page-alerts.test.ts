import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { ATTACK, HOT, SILO, startInstallation, textOf, visit } from '../browser.ts';
import { until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

test('the page lists alerts as they begin and end, and counts the active ones beside the state', async (t) => {
  const api = await startInstallation(t);
  await visit(api, { viewport: { width: 1366, height: 768 } }, async (page) => {
    await until('the page', async () => (await page.locator('#alerts').count()) === 1);
    assert.ok(!(await page.locator('#alerts').isVisible()), 'without rules there is no list');
    api.ingest.alerts = [HOT];
    await page.reload();
    await until('the count', async () => (await textOf(page, '#alert-count')) === '1 alert');
    const row = '#alert-list li:first-child';
    const text = (await textOf(page, row)).replaceAll(/\s+/g, ' ');
    assert.match(text, /critical.*site-1\/boiler\/probe-1.*temperature 31\.50 is above 30.*since/);
    assert.equal(await textOf(page, '#alerts-sum'), '1 active, 1 critical');
    await page.locator(`${row} a`).click();
    await until('its charts', async () => (await textOf(page, '#sensor-title')).includes('probe-1'));
    api.ingest.alerts = [
      {
        ...HOT,
        id: '1'.repeat(24),
        kind: 'quiet',
        device: SILO,
        metric: null,
        value: null,
        limit: 900,
        rule: ATTACK,
      },
      { ...HOT, state: 'ended', ended: '2026-11-21T15:00:00.000000Z', reason: 'cleared' },
    ];
    await until('the other alert', async () => (await textOf(page, row)).includes('no reading for 15 min'));
    assert.match(await textOf(page, '#alert-list li:last-child'), /ended/);
    api.ingest.isEvaluating = false;
    await until('the warning', async () =>
      (await textOf(page, '#alerts-sum')).startsWith('No ingest process'),
    );
  });
});

test('on a phone the top is one line of whole words, also with alerts and a lost connection', async (t) => {
  const api = await startInstallation(t);
  api.ingest.alerts = Array.from({ length: 12 }, (_, n) => ({ ...HOT, id: String(n).padStart(24, '0') }));
  await visit(api, { viewport: { width: 390, height: 844 } }, async (page) => {
    await until('the count', async () => (await page.locator('#alert-count').isVisible()) === true);
    await page.evaluate(`
      document.querySelector('#state span').textContent = 'Reconnecting';
      document.querySelector('#rate').textContent = '61,000';`);
    for (const selector of ['#state span', '#alert-count', '#rate', '.vitals dt:visible', '.brand svg']) {
      const { x, y, width, height } = (await page.locator(selector).first().boundingBox())!;
      assert.ok(height < 30, `${selector} has several lines: ${height} pixels`);
      // What has no place is below the top, and cut off.
      assert.ok(x >= 0 && (x + width <= 390 || y >= 56), `${selector} is cut: ${x} to ${x + width}`);
    }
    assert.equal(await page.evaluate(`document.querySelector('.top').scrollWidth`), 390);
  });
});

test('on a phone the count in the top leads to the list', async (t) => {
  const api = await startInstallation(t);
  api.ingest.alerts = [HOT];
  await visit(api, { viewport: { width: 360, height: 640 } }, async (page) => {
    await until('the count', async () => (await page.locator('#alert-count').isVisible()) === true);
    await page.locator('#alert-count').click();
    await until('the list', async () => page.locator('#alert-list li').first().isVisible());
    const { right } = await page.evaluate(() => {
      // biome-ignore lint/suspicious/noExplicitAny: runs in the page
      const { document } = globalThis as any;
      return { right: document.documentElement.scrollWidth };
    });
    assert.ok(right <= 360, `the page is ${right} pixels wide`);
  });
});
