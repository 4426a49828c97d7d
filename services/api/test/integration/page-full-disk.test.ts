import assert from 'node:assert/strict';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium } from '@tidegauge/lab/chromium';
import { mountSmallDisk, type SmallDisk } from '@tidegauge/lab/small-disk';
import { testWith } from '@tidegauge/lab/unavailable';
import { freePort } from '@tidegauge/process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

// The real ingest with its store, spool and quarantine on one small disk, as on a card.

const found: { disk?: SmallDisk } = {};
const test = await testWith('tmpfs', async () => {
  await findChromium();
  found.disk = await mountSmallDisk(8 * 1024 * 1024);
});
test.after(() => found.disk?.remove());

test('the page names a full disk, and makes no other claim until readings are stored again', {
  timeout: 120_000,
}, async (t) => {
  const { path } = found.disk!;
  const storeUrl = `sqlite:${join(path, 'store.db')}`;
  const listen = { LISTEN: `mqtt://127.0.0.1:${await freePort()}` };
  const ingest = await startIngestProcess({ STORE: storeUrl, DATA_DIR: path, ...listen });
  t.after(() => ingest.kill());
  const api = await startApi(t, { storeUrl, ingest: [ingest.url] });
  const send = (value: string) =>
    fetch(`${ingest.url}/readings?device=site/a&metric=t`, { method: 'POST', body: value });
  assert.equal((await send('20')).status, 202);
  await visit(api, {}, async (page) => {
    await until('the state', async () => (await textOf(page, '#state')) === 'Live');
    await until('the balance', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    const ballast = join(path, 'ballast');
    const { bavail, bsize } = statfsSync(path);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    const waiting = send('21');
    await until('the state of the store', async () => (await textOf(page, '#state')) === 'Not all stored');
    assert.match(await textOf(page, '#banner'), /cannot be stored wait\. The disk is full: free some space/);
    assert.doesNotMatch(await textOf(page, 'body'), /\bLive\b|Balanced/);
    rmSync(ballast);
    assert.equal((await waiting).status, 202);
    await until('the state again', async () => (await textOf(page, '#state')) === 'Live');
    await until('the balance again', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    assert.equal(await page.locator('#banner').isVisible(), false);
  });
});
