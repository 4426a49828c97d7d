import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { inkIn, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { type Api, until } from '../harness.ts';

// The limits of alert rules in the charts of a sensor.

const test = await testWith('chromium', findChromium);

const RULE = { device: PROBE, metric: 'temperature', above: 20.5, clear: 20.3, severity: 'critical' };
const SAID = '#sensor-said';

function handleOf(page: Page, name: string) {
  return page.locator('.chart[data-metric="temperature"]').getByRole('slider', { name });
}

function ruleOf(api: Api): Record<string, unknown> {
  return api.ingest.entries.rules.get('hot') as Record<string, unknown>;
}

for (const width of [1366, 390]) {
  test(`at ${width} pixels a limit is dragged, moved by the keyboard, and restored`, async (t) => {
    const api = await startInstallation(t);
    api.ingest.entries.rules.set('hot', RULE);
    const hash = `#/sensor/${PROBE}`;
    await visit(api, { viewport: { width, height: 844 }, hash }, async (page) => {
      await until('the chart', async () => (await inkIn(page, 'temperature')) > 20);
      const handle = handleOf(page, 'Rule hot, above');
      await until('the limit', async () => await handle.isVisible());
      assert.equal(await handle.getAttribute('aria-valuenow'), '20.5');
      await until('its place', async () => /^above 20\.50/.test(await handle.innerText()));
      const { x, y, height } = (await handle.boundingBox())!;
      assert.ok(height >= 24);
      await page.mouse.move(x + 20, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + 20, y + height / 2 + 40, { steps: 4 });
      await page.mouse.up();
      await until('the change', async () => (ruleOf(api).above as number) < 20.5);
      const { above, clear } = ruleOf(api) as { above: number; clear: number };
      assert.equal(Number((above - clear).toPrecision(6)), 0.2);
      assert.deepEqual({ ...ruleOf(api), above: 20.5, clear: 20.3 }, RULE);
      await until('what was done', async () => (await textOf(page, SAID)).includes(`above ${above} now`));
      await page.locator(SAID).getByRole('button', { name: 'Undo' }).click();
      await until('the limit again', async () => (await handle.getAttribute('aria-valuenow')) === '20.5');
      assert.deepEqual(ruleOf(api), RULE);

      await handle.press('ArrowUp');
      await handle.press('ArrowUp');
      await handle.press('Escape');
      assert.equal(await handle.getAttribute('aria-valuenow'), '20.5');
      await handle.press('ArrowUp');
      await handle.press('Enter');
      await until('the change', async () => (ruleOf(api).above as number) > 20.5);
      // A limit above the values shown stays at the edge of the chart.
      await handle.press('PageUp');
      await until('the second change', async () => (ruleOf(api).above as number) > 21.4);
      await until('the edge', async () => (await handle.innerText()).startsWith('▲ above'));
      assert.equal(await page.evaluate("document.activeElement?.getAttribute('role')"), 'slider');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    });
  });
}

test('a change that is refused restores the line, and the reason is shown', async (t) => {
  const api = await startInstallation(t);
  api.ingest.entries.rules.set('hot', RULE);
  api.ingest.intercept = ({ method }, response) => {
    if (method !== 'PUT') return false;
    const detail = 'The rule cannot be used: no value is between both.';
    response
      .writeHead(422, { 'Content-Type': 'application/problem+json' })
      .end(JSON.stringify({ type: 'about:blank', title: 'Not valid', status: 422, detail }));
    return true;
  };
  const options = { hash: `#/sensor/${PROBE}`, expect: /Failed to load resource.* 422/ };
  await visit(api, options, async (page) => {
    const handle = handleOf(page, 'Rule hot, above');
    await handle.press('ArrowDown');
    await handle.press('Enter');
    await until('the reason', async () => /no value is between both/.test(await textOf(page, SAID)));
    await until('the limit', async () => (await handle.getAttribute('aria-valuenow')) === '20.5');
  });
});
