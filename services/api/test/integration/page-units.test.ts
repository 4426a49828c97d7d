import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { fresh, inkIn, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

test('values have their unit in the list and beside the chart, also when a live value replaces them', async (t) => {
  const api = await startInstallation(t);
  const metric = 'temperature';
  await api.store.readings.setUnits([{ device: PROBE, metric, unit: 'Cel' }]);
  await visit(api, { viewport: { width: 1366, height: 768 } }, async (page) => {
    const chart = `.chart[data-metric="${metric}"]`;
    await until('the chart', async () => (await inkIn(page, metric)) > 100);
    await until('its unit', async () => (await textOf(page, `${chart} h3`)) === `${metric}, °C`);
    await api.ingest.commit([fresh(PROBE, metric, 37.5)]);
    await until(
      'the live value',
      async () => (await textOf(page, `${chart} .reading b`)) === '37.50\u00a0°C',
    );
    const row = `.row[data-name="${PROBE}"] .values`;
    await until('the row', async () => ((await textOf(page, row)) ?? '').includes('37.50\u00a0°C'));
    assert.match(
      (await page.locator(`${chart} .plot`).getAttribute('aria-label')) ?? '',
      /now [\d.]+\u00a0°C$/,
    );
    // A unit that the page learns while it is open.
    await api.store.readings.setUnits([{ device: PROBE, metric, unit: 'x"<b>' }]);
    await page.reload();
    await until('the other unit', async () => (await textOf(page, `${chart} h3`)) === `${metric}, x"<b>`);
  });
});
