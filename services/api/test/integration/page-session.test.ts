import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { changeKeys, newKey } from '@tidegauge/service';
import { fresh, PROBE, SILO, textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';
import { TEMPERATURE } from '../history-page.ts';

const test = await testWith('chromium', findChromium);

const WIDE = { width: 1366, height: 900 };
const TOKEN = 'a-long-and-random-token';
const REFUSED = /Failed to load resource.* 40[13]/;

test('beyond loopback the page signs in, stays signed in after a reload, and signs out', async (t) => {
  const started = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: TOKEN } });
  const api = { ...started, url: started.url.replace('0.0.0.0', '127.0.0.1') };
  await api.ingest.commit([fresh(PROBE, 'temperature', 20)]);
  await visit(api, { viewport: WIDE, expect: REFUSED }, async (page) => {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    const list = () => textOf(page, '#sensor-list');
    await until('the dialog', async () => await dialog.isVisible());
    assert.doesNotMatch(await list(), /probe-1/);
    await dialog.getByLabel('Key').fill('wrong');
    await page.keyboard.press('Enter');
    await until('the complaint', async () => /is wrong/.test(await dialog.innerText()));
    await dialog.getByLabel('Key').fill(TOKEN);
    await page.keyboard.press('Enter');
    await until('the sensor', async () => /probe-1/.test(await list()));
    await until('the stream', async () => (await textOf(page, '#state')) === 'Live');
    await page.reload();
    await until('the sensor again', async () => /probe-1/.test(await list()));
    assert.equal(await page.evaluate('document.cookie'), '');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await until('the dialog again', async () => await dialog.isVisible());
    assert.doesNotMatch(await list(), /probe-1/);
  });
});

test('with a key of some devices the page shows their sensors, and no ledger', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-page-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { text, key } = newKey({ name: 'a', scopes: ['read'], devices: 'site-1', expires: null }, Date.now());
  changeKeys(join(folder, 'keys.json'), () => [key]);
  const config = { httpListen: '0.0.0.0', apiToken: TOKEN, apiKeys: join(folder, 'keys.json') };
  const api = await startApi(t, { config });
  await api.ingest.commit([fresh(PROBE, 'temperature', 20), fresh(SILO, 'level', 3)]);
  await visit(api, { viewport: WIDE, expect: REFUSED }, async (page) => {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Key').fill(text);
    await page.keyboard.press('Enter');
    await until('the sensor', async () => /probe-1/.test(await textOf(page, '#sensor-list')));
    await until('no ledger', async () => !(await page.locator('.ledger').isVisible()));
    assert.doesNotMatch(await page.locator('body').innerText(), /level-2|silo/);
    assert.equal(await page.locator('#banner').isVisible(), false);
  });
});

/** Holds refusals back until half a second after the sign-in. */
const LATE_REFUSALS = `{
  const { fetch } = window;
  let signedIn;
  const later = new Promise((resolve) => { signedIn = () => setTimeout(resolve, 500); });
  window.fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (init?.method === 'POST' && url === 'v1/session') signedIn();
    if (response.status !== 401) return response;
    window.held = true;
    await later;
    window.refused = true;
    return response;
  };
}`;

test('a refusal that arrives after the sign-in does not request the key again', async (t) => {
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: TOKEN } });
  await api.ingest.commit([fresh(PROBE, 'temperature', 20)]);
  // The history reads before the sign-in.
  const hash = `#/history?${TEMPERATURE}&last=5m`;
  await visit(api, { viewport: WIDE, hash, expect: REFUSED, script: LATE_REFUSALS }, async (page) => {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await until('a refusal', () => page.evaluate('window.held === true'));
    await dialog.getByLabel('Key').fill(TOKEN);
    await page.keyboard.press('Enter');
    await until('its arrival', () => page.evaluate('window.refused === true'));
    await until('the reading', async () => /20/.test(await textOf(page, '#history-rows')));
    assert.equal(await dialog.count(), 0);
  });
});
