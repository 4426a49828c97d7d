import assert from 'node:assert/strict';
import { findProgram } from '@tidegauge/lab/debian';
import { testWith } from '@tidegauge/lab/unavailable';
import { fresh, PROBE, SILO, startInstallation, visit } from '../browser.ts';
import { until } from '../harness.ts';

// The card with today's figures of the sensors of a site.

const test = await testWith('chromium', () => findProgram('chromium', 'chromium'));
const PHONE = { width: 390, height: 844 };

test('today has the figures of each sensor of a site for a metric, and counts quiet sensors', async (t) => {
  const api = await startInstallation(t);
  const other = 'site-1/boiler/probe-2';
  await api.ingest.commit([fresh(other, 'temperature', 50, 900), fresh(other, 'temperature', 10, 800)]);
  const { body } = await api.call('GET', `/v1/readings/groups?by=device&metric=temperature&prefix=${PROBE}`);
  await visit(api, { viewport: PHONE, hash: '#/today' }, async (page) => {
    const rows = page.locator('#overview-rows tr');
    const cell = (row: number, name: string) => rows.nth(row).locator(`.${name}`).innerText();
    await page.locator('#overview-metric').selectOption('temperature');
    await until('the sensors', async () => (await rows.count()) === 2);
    await until('the figures', async () => (await cell(1, 'max')) === '50');
    assert.deepEqual([await cell(1, 'min'), await cell(1, 'mean')], ['10', '30']);
    assert.match(await cell(1, 'now'), /^1\d min ago$/);
    assert.equal(await cell(0, 'max'), body.groups[0].max.toFixed(2));
    assert.match(await page.locator('#overview-sum').innerText(), /^2 sensors · 1 quiet · newest /);
    await page.locator('#overview-site').selectOption('site-2');
    await page.locator('#overview-metric').selectOption('level');
    await until('the other site', async () => (await rows.count()) === 1);
    assert.equal(await rows.locator('th').innerText(), 'silo/level-2');
    await until('its figures', async () => (await cell(0, 'max')) === '12');
    await rows.locator('a').click();
    await until('its charts', async () => (await page.locator('#sensor-title').innerText()) === SILO);
    assert.equal(await page.locator('#overview').isVisible(), false);
  });
});
