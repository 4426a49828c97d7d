import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { ReadingValue } from '@tidegauge/readings';
import { changeKeys, newKey } from '@tidegauge/service';
import type { Locator, Page } from 'playwright-core';
import { fresh, inkIn, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { type Api, startApi, until } from '../harness.ts';
import {
  drag,
  figure,
  moveFingers,
  PHONE,
  rangeOf,
  settled,
  startWithPast,
  TEMPERATURE,
  WIDE,
} from '../history-page.ts';

// Annotations and readings marked as wrong, in the history and in the charts of a sensor.

const test = await testWith('chromium', findChromium);

const TEXT = 'Heating <b>serviced</b>';
const click = (button: Locator) => button.click();
/** How a part of the chart is chosen, and a button is used. The Enter key chooses the middle. */
const INPUTS = [
  ['the mouse', (page: Page) => drag(page, 0.25, 0.5), click],
  ['touch', (page: Page) => moveFingers(page, [0.25], [0.5]), click],
  ['the keyboard', (page: Page) => page.keyboard.press('Enter'), (button: Locator) => button.press('Enter')],
] as const;

interface Note {
  readonly device: string | null;
  readonly from: string;
  readonly to: string | null;
  readonly text: string;
}

async function notesOf(api: Api): Promise<readonly Note[]> {
  const { body } = await api.call('GET', `/v1/annotations?device=${PROBE}`);
  return body.annotations;
}

/** The values of the readings that are no usual ones. */
async function outliersOf(api: Api): Promise<readonly ReadingValue[]> {
  const found: ReadingValue[] = [];
  for await (const { value } of api.store.readings.range({
    device: PROBE,
    metric: 'temperature',
    limit: 10_000,
  }))
    if (typeof value === 'string' || value > 50) found.push(value);
  return found;
}

/** Pixels of a canvas that have about the colour of a variable of the style sheet. */
function inkOf(page: Page, selector: string, variable: string): Promise<number> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('${selector}');
    if (canvas === null) return 0;
    const colour = getComputedStyle(document.documentElement).getPropertyValue('${variable}').trim();
    const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
    const { width, height } = canvas;
    const copy = Object.assign(document.createElement('canvas'), { width, height });
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at + 3] > 100 && wanted.every((value, n) => Math.abs(data[at + n] - value) < 12)) count++;
    return count;
  })()`) as Promise<number>;
}

for (const viewport of [WIDE, PHONE]) {
  for (const [name, choose, use] of INPUTS) {
    test(`at ${viewport.width} pixels ${name} adds, changes and deletes an annotation`, async (t) => {
      const api = await startWithPast(t);
      const { from, to, query } = rangeOf(48);
      await visit(api, { viewport, hash: `#/history?${TEMPERATURE}&${query}` }, async (page) => {
        await settled(page);
        const annotate = page.locator('#history-annotate');
        await use(annotate);
        assert.equal(await annotate.getAttribute('aria-pressed'), 'true');
        await page.keyboard.press('Escape');
        assert.equal(await annotate.getAttribute('aria-pressed'), 'false');
        await use(annotate);
        await choose(page);
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Text').fill(TEXT);
        await use(dialog.getByRole('button', { name: 'Save' }));
        await until('the annotation', async () => (await notesOf(api)).length === 1);
        const [note] = await notesOf(api);
        assert.deepEqual([note!.device, note!.text], [PROBE, TEXT]);
        const share = (time: string) => (Date.parse(time) / 1000 - from) / (to - from);
        const isSpan = name !== 'the keyboard';
        assert.ok(Math.abs(share(note!.from) - (isSpan ? 0.25 : 0.5)) < 0.01, note!.from);
        if (isSpan) assert.ok(Math.abs(share(note!.to!) - 0.5) < 0.01, note!.to!);
        else assert.equal(note!.to, null);

        const row = page.locator('#history-notes li');
        await until('its row', async () => (await row.count()) === 1);
        assert.ok((await row.innerText()).includes(TEXT));
        await until('its line', async () => (await inkOf(page, '#history-plot canvas', '--note')) > 50);
        await page.locator('#history-flags button').click();
        const id = await row.getAttribute('data-id');
        const focused = () => page.evaluate('document.activeElement.dataset.id');
        await until('the row with the focus', async () => (await focused()) === id);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width);

        await use(row.getByRole('button', { name: /^Edit/ }));
        await dialog.getByLabel('Text').fill('Pump replaced');
        await use(dialog.getByRole('button', { name: 'Save' }));
        await until('the other text', async () => /Pump replaced/.test(await row.innerText()));
        const undo = page.locator('#history-said').getByRole('button', { name: 'Undo' });
        await use(undo);
        await until('the first text', async () => (await row.innerText()).includes(TEXT));
        await use(row.getByRole('button', { name: /^Delete/ }));
        await until('no annotation', async () => (await row.count()) === 0);
        assert.deepEqual(await notesOf(api), []);
        await use(undo);
        await until('the annotation again', async () => (await row.count()) === 1);
        assert.deepEqual(await notesOf(api), [note]);
      });
    });
  }
}

for (const viewport of [WIDE, PHONE]) {
  for (const [name, choose, use] of INPUTS) {
    test(`at ${viewport.width} pixels ${name} marks readings as wrong, and restores them`, async (t) => {
      const api = await startWithPast(t);
      await visit(api, { viewport, hash: `#/history?${TEMPERATURE}&last=7d` }, async (page) => {
        const peak = page.locator('#history-rows .max button');
        await until('the peak', async () => /^95\s°C$/.test(await peak.innerText()));
        await settled(page);
        await use(peak);
        const dialog = page.getByRole('dialog', { name: 'Readings' });
        const rows = dialog.locator('tbody tr');
        await until('the peak alone', async () => (await rows.count()) === 1);
        assert.match(await rows.innerText(), /95\s°C/);
        await use(rows.getByRole('button', { name: /^Mark 95/ }));
        await until('the cross', async () => (await rows.locator('s').count()) === 1);
        assert.deepEqual(await outliersOf(api), ['{"wrong":95}']);
        await use(dialog.getByRole('button', { name: 'Close' }));
        await until('figures without it', async () => (await figure(page, 'max')) < 22);

        await use(page.locator('#history-readings'));
        await choose(page);
        await until('readings', async () => (await rows.count()) > 2);
        const said = dialog.locator('.said');
        if (name === 'the keyboard') {
          await use(rows.first().getByRole('button', { name: /^Mark/ }));
          await until('its mark', async () => (await outliersOf(api)).length === 2);
          await use(rows.first().getByRole('button', { name: /^Restore/ }));
          await until('the number again', async () => (await outliersOf(api)).length === 1);
          return;
        }
        // The peak is at 0.4 of the time shown.
        await use(dialog.getByRole('button', { name: 'Restore', exact: true }));
        await until('the number again', async () => /^1 reading was restored/.test(await said.innerText()));
        assert.deepEqual(await outliersOf(api), [95]);
        await dialog.getByLabel('Above').fill('50');
        await use(dialog.getByRole('button', { name: 'Mark as wrong', exact: true }));
        await until('the mark', async () => /^1 reading was marked as wrong/.test(await said.innerText()));
        assert.deepEqual(await outliersOf(api), ['{"wrong":95}']);
        await use(dialog.getByRole('button', { name: 'Undo' }));
        await until('the number', async () => /was undone/.test(await said.innerText()));
        assert.deepEqual(await outliersOf(api), [95]);
        await use(dialog.getByRole('button', { name: 'Close' }));
        await until('the peak again', async () => (await figure(page, 'max')) === 95);
      });
    });
  }
}

for (const viewport of [WIDE, PHONE]) {
  test(`at ${viewport.width} pixels the charts of a sensor have annotations and crossed readings`, async (t) => {
    const api = await startInstallation(t);
    await visit(api, { viewport, hash: `#/sensor/${PROBE}` }, async (page) => {
      await until('the chart', async () => (await inkIn(page, 'temperature')) > 20);
      await page.locator('#annotate-sensor').waitFor();
      await page.locator('#annotate-sensor').press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Text').fill(TEXT);
      await dialog.getByLabel('It concerns').selectOption({ label: 'all sensors' });
      await dialog.getByRole('button', { name: 'Save' }).press('Enter');
      const row = page.locator('#sensor-notes li');
      await until('its row', async () => (await row.count()) === 1);
      assert.match(await row.innerText(), /all sensors/);
      const [note] = await notesOf(api);
      assert.deepEqual([note!.device, note!.text], [null, TEXT]);
      assert.ok(Math.abs(Date.parse(note!.from) - Date.now()) < 60_000, note!.from);
      const canvas = '.chart[data-metric="temperature"] canvas';
      await until('its line', async () => (await inkOf(page, canvas, '--note')) > 20);

      await api.ingest.commit([fresh(PROBE, 'temperature', 850)]);
      const latest = page.locator('.chart[data-metric="temperature"] .reading b');
      await until('the live value', async () => (await latest.innerText()) === '850');
      await page.locator('#sensor-readings').press('Enter');
      const readings = page.getByRole('dialog', { name: 'Readings' });
      await readings.getByLabel('Line').selectOption({ label: `temperature of ${PROBE}` });
      await readings.getByRole('button', { name: /^Mark 850 as wrong/ }).press('Enter');
      await until('the mark', async () => (await outliersOf(api)).length === 1);
      await readings.getByRole('button', { name: 'Close' }).press('Enter');
      await until('the crossed value', async () => (await latest.getAttribute('data-wrong')) !== null);
      await until('the cross', async () => (await inkOf(page, canvas, '--bad')) > 5);
      const summary = page.locator('.chart[data-metric="temperature"] .plot');
      await until(
        'a chart without it',
        async () => !/850/.test((await summary.getAttribute('aria-label')) ?? ''),
      );
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width);
      await page.reload();
      await until('the cross again', async () => (await inkOf(page, canvas, '--bad')) > 5);
      await until('the line again', async () => (await inkOf(page, canvas, '--note')) > 20);
    });
  });
}

test('with a key that may only read, the page shows annotations and changes nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-page-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { text, key } = newKey({ name: 'a', scopes: ['read'], devices: null, expires: null }, Date.now());
  changeKeys(join(folder, 'keys.json'), () => [key]);
  const config = {
    httpListen: '0.0.0.0',
    apiToken: 'a-long-and-random-token',
    apiKeys: join(folder, 'keys.json'),
  };
  const api = await startApi(t, { config });
  await api.ingest.commit([fresh(PROBE, 'temperature', 20, 5), fresh(PROBE, 'annotation', TEXT, 60)]);
  const hash = `#/history?${TEMPERATURE}&last=5m`;
  await visit(api, { viewport: WIDE, hash, expect: /Failed to load resource.* 401/ }, async (page) => {
    const login = page.getByRole('dialog', { name: 'Sign in' });
    await login.getByLabel('Key').fill(text);
    await page.keyboard.press('Enter');
    await until('the annotation', async () => (await textOf(page, '#history-notes')).includes(TEXT));
    assert.equal(await page.locator('#history-annotate').isVisible(), false);
    assert.equal(await page.locator('#history-notes button').first().isVisible(), false);
    await until('the figure', async () => (await figure(page, 'max')) === 20);
    await page.locator('#history-rows .max button').click();
    const dialog = page.getByRole('dialog', { name: 'Readings' });
    await until('the reading', async () => /20/.test(await dialog.locator('tbody').innerText()));
    for (const name of ['Mark as wrong', 'Restore'])
      assert.equal(await dialog.getByRole('button', { name }).isVisible(), false);
  });
});
