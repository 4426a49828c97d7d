import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PROBE, startInstallation, visit } from '../browser.ts';

test('the page downloads the readings of the sensor that is shown', async (t) => {
  const api = await startInstallation(t);
  await visit(api, { hash: `#/sensor/${PROBE}` }, async (page) => {
    await page.waitForSelector('.chart-grid canvas');
    const styles = await page.evaluate(`['#export', '#quarantine-replay'].map((selector) => {
      const { font, border, borderRadius, padding } = getComputedStyle(document.querySelector(selector));
      return JSON.stringify({ font, border, borderRadius, padding });
    })`);
    const [exporting, other] = styles as string[];
    assert.equal(exporting, other, 'the button looks as the others do');
    await page.click('#export');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('dialog button[type=submit]'),
    ]);
    assert.equal(download.suggestedFilename(), 'readings.csv');
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    assert.equal(lines.length, 241);
    assert.ok(lines.slice(1).every((line) => line.startsWith(`${PROBE},`)));
  });
});
