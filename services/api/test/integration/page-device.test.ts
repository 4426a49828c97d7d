import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { openDialog, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const HASH = `#/sensor/${PROBE}`;
const LABEL = 'Boiler <b>flow</b>';

async function openEditor(page: Page) {
  await until('the title', async () => (await textOf(page, '#sensor-title')) === PROBE);
  return (await openDialog(page, '#edit-sensor', 'Edit the sensor')).dialog;
}

for (const width of [1366, 390]) {
  test(`at ${width} pixels a sensor gets a label, a site, a position and a unit, and the change is undone`, async (t) => {
    const api = await startInstallation(t);
    const known = { site: null, city: 'Faro', kind: null, year: 2019 };
    const before = { name: PROBE, ...known, attributes: { floor: 2 } };
    await api.store.devices.put(before);
    await visit(api, { viewport: { width, height: 844 }, hash: HASH }, async (page) => {
      const dialog = await openEditor(page);
      await dialog.getByLabel('Label').fill(LABEL);
      await dialog.getByLabel('Site').fill('Cellar');
      await dialog.getByLabel('City').fill('');
      await dialog.getByLabel('Latitude').fill('38.5');
      await dialog.getByLabel('Unit of temperature').fill('Cel');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await until('the mistake', async () => /has a latitude and a longitude/.test(await dialog.innerText()));
      assert.deepEqual(await api.store.devices.get(PROBE), before, 'a mistake changes nothing');
      await dialog.getByLabel('Longitude').fill('-8.25');
      await page.keyboard.press('Enter');
      await until('the label', async () => (await textOf(page, '#sensor-title')) === LABEL);
      assert.deepEqual(await api.store.devices.get(PROBE), {
        ...before,
        site: 'Cellar',
        city: null,
        attributes: { floor: 2, label: LABEL, lat: 38.5, lon: -8.25 },
      });
      assert.match(await textOf(page, '#sensor-facts'), new RegExp(`^${PROBE} · Cellar · since 2019`));
      const unit = async () => await textOf(page, '.chart[data-metric="temperature"] h3');
      await until('the unit', async () => (await unit()) === 'temperature, °C');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);

      await page.getByRole('button', { name: 'Undo' }).click();
      await until('the name', async () => (await textOf(page, '#sensor-title')) === PROBE);
      assert.deepEqual(await api.store.devices.get(PROBE), before);
    });
    await visit(api, { viewport: { width, height: 844 } }, async (page) => {
      await api.store.devices.patch(PROBE, { site: 'Cellar', attributes: { label: LABEL } });
      await page.reload();
      const row = page.locator(`.row[data-name="${PROBE}"] .name`);
      await until('the row', async () => (await row.innerText()) === LABEL);
      await page.locator('#search').fill('flow');
      await until('the search', async () => (await page.locator('.row').count()) === 1);
      const heading = await page.locator('.sensor-list h3').innerText();
      assert.match(heading.replaceAll(/\s+/g, ' '), /^Cellar 1 sensor$/);
    });
  });
}

test('without a change nothing is stored, and with an unavailable store the dialog stays open', async (t) => {
  const api = await startInstallation(t);
  const expect = /Failed to load resource.* 503/;
  await visit(api, { viewport: { width: 1366, height: 844 }, hash: HASH, expect }, async (page) => {
    const dialog = await openEditor(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await until('the end', async () => (await page.locator('dialog').count()) === 0);
    assert.equal(await textOf(page, '#sensor-said'), '');
    const again = await openEditor(page);
    await again.getByLabel('Label').fill('Flow');
    api.outage.cut = true;
    await again.getByRole('button', { name: 'Save' }).click();
    await until('the reason', async () => /not accept connections/.test(await again.innerText()));
    api.outage.cut = false;
    await again.getByRole('button', { name: 'Save' }).click();
    await until('the label', async () => (await textOf(page, '#sensor-title')) === 'Flow');
  });
});
