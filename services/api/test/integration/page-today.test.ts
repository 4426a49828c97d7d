import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { now } from '@tidegauge/readings';
import { fresh, PROBE, SILO, startInstallation, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

// The card with today's figures of the sensors of a site.

const test = await testWith('chromium', findChromium);
const PHONE = { width: 390, height: 844 };

/** A zone in which it is noon, so that readings of the last minutes are of today. The names have the opposite sign. */
function zoneAtNoon(): string {
  const behind = new Date().getUTCHours() - 12;
  return `Etc/GMT${behind < 0 ? '-' : '+'}${Math.abs(behind)}`;
}

test('today has the figures of each sensor of a site for a metric, and counts quiet sensors', async (t) => {
  const api = await startInstallation(t);
  const other = 'site-1/boiler/probe-2';
  await api.ingest.commit([fresh(other, 'temperature', 50, 900), fresh(other, 'temperature', 10, 800)]);
  const { body } = await api.call('GET', `/v1/readings/groups?by=device&metric=temperature&prefix=${PROBE}`);
  await visit(api, { viewport: PHONE, hash: '#/today', timeZone: zoneAtNoon() }, async (page) => {
    const rows = page.locator('#overview-rows tr');
    const cell = (row: number, name: string) => rows.nth(row).locator(`.${name}`).innerText();
    await until('the sensors', async () => (await rows.count()) === 2);
    await until('the figures', async () => (await cell(1, 'max')) === '50');
    assert.equal(await page.evaluate(`document.documentElement.scrollWidth`), 390);
    assert.deepEqual([await cell(1, 'min'), await cell(1, 'mean')], ['10', '30']);
    await until('the age', async () => /^10\s+1\d min ago$/.test(await cell(1, 'now')));
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

test('a sensor is quiet by its own interval, which is learned from its readings', async (t) => {
  const api = await startApi(t);
  const every = (device: string, seconds: number, latest: number, together = 1) =>
    Array.from({ length: 60 }, (_, n) => {
      const ago = latest + Math.floor(n / together) * seconds;
      return { ...fresh(device, 'temperature', n, ago), time: now() - (ago + n) * 1e6 };
    });
  await api.ingest.commit([
    ...every('hourly', 3600, 3000),
    ...every('hourly-in-batches', 3600, 3000, 10),
    ...every('hourly-gone', 3600, 4 * 3600),
    ...every('minutely', 60, 3000),
    ...every('reporting', 60, 0),
    fresh('once', 'temperature', 1, 3000),
  ]);
  await visit(api, { viewport: { width: 1366, height: 900 } }, async (page) => {
    const quiet = async (selector: string) =>
      (await page.locator(`${selector}[data-quiet="true"]`).allInnerTexts()).map(
        (text) => text.split(/\s/)[0],
      );
    await until('the quiet ones', async () => (await quiet('.row')).length === 2);
    assert.deepEqual(await quiet('.row'), ['hourly-gone', 'minutely']);
    await until('them in the table', async () => (await quiet('#overview-rows tr')).length === 2);
    await api.ingest.commit([fresh('minutely', 'temperature', 1)]);
    await until('one to be back', async () => (await quiet('.row')).join() === 'hourly-gone');
  });
});

test('today begins with the metric of most sensors, and a site with one that it has', async (t) => {
  const api = await startApi(t);
  const names = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5'];
  await api.ingest.commit([
    ...names.flatMap((name) => [fresh(name, 'temperature', 20), fresh(name, 'battery', 3)]),
    ...['a/1', 'b/1', 'b/2'].map((name) => fresh(name, 'battery', 3)),
    fresh('b/1', 'acidity', 7),
  ]);
  await visit(api, { viewport: PHONE, hash: '#/today' }, async (page) => {
    const rows = page.locator('#overview-rows tr');
    await until('the sensors', async () => (await rows.count()) === 5);
    assert.equal(await page.locator('#overview-metric').inputValue(), 'temperature');
    await page.locator('#overview-site').selectOption('b');
    await until('the other site', async () => (await rows.count()) === 1);
    assert.equal(await page.locator('#overview-metric').inputValue(), 'acidity');
  });
});
