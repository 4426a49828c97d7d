import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { startInstallation, textOf, visit } from '../browser.ts';
import { type Api, startApi, until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const WIDE = { width: 1366, height: 900 };
const TOKEN = 'a-long-and-random-token';

const said = (page: Page) => textOf(page, '#quarantine-said');
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });

function refuseMany(api: Api, malformed: number, invalid: number): void {
  for (let n = 0; n < malformed; n++)
    api.ingest.refuse(`sensors/probe-${n}/x`, 'malformed', 'no number', 'x');
  for (let n = 0; n < invalid; n++)
    api.ingest.refuse(`sensors/probe-${n}/y`, 'invalid_time', 'too late', 'y');
}

test('a message is replayed, stays when it fails again, and is discarded after a confirmation', async (t) => {
  const api = await startInstallation(t);
  await visit(api, { viewport: WIDE }, async (page) => {
    const items = page.locator('#quarantine li[data-id]');
    await until('the item', async () => (await items.count()) === 1);
    await items.locator('summary').click();
    await items.getByRole('button', { name: /^Replay/ }).click();
    await until('the result', async () => /failed again, so it stays/.test(await said(page)));
    assert.equal(await items.count(), 1);
    assert.equal(await items.locator('details').getAttribute('open'), '', 'it stays open');

    await items.getByRole('button', { name: /^Discard/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Discard this message?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await until('the question to go', async () => (await page.locator('dialog').count()) === 0);
    assert.equal(api.ingest.quarantine.length, 1);
    await items.getByRole('button', { name: /^Discard/ }).click();
    // A key that is pressed once too often must not discard anything.
    await page.keyboard.press('Enter');
    await until('the question to go', async () => (await page.locator('dialog').count()) === 0);
    assert.equal(api.ingest.quarantine.length, 1);

    api.ingest.isCured = () => true;
    await items.getByRole('button', { name: /^Replay/ }).click();
    await until('the result', async () => /Replayed: 1 reading stored/.test(await said(page)));
    await until('the empty list', async () => (await items.count()) === 0);
    assert.equal(await page.locator('#quarantine-tools').isVisible(), false);

    api.ingest.refuse('sensors/other/x', 'malformed', 'no number', 'x');
    await until('the next item', async () => (await items.count()) === 1);
    await items.locator('summary').click();
    await items.getByRole('button', { name: /^Discard/ }).click();
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await until('the result', async () => /was discarded/.test(await said(page)));
    assert.equal(api.ingest.quarantine.length, 0);
    assert.equal(await items.count(), 0);
  });
});

test('many messages are replayed and discarded by reason, with counts, at every width', async (t) => {
  const api = await startApi(t);
  for (const width of [1366, 800, 390]) {
    api.ingest.quarantine.length = 0;
    refuseMany(api, 40, 15);
    api.ingest.isCured = ({ topic }) => topic !== 'sensors/probe-3/x';
    api.ingest.stepItems = 8;
    await visit(api, { viewport: { width, height: 844 }, hash: '#/pipeline' }, async (page) => {
      await until('the count', async () => /^55 messages kept$/.test(await textOf(page, '#quarantine-sum')));
      await page.locator('#quarantine-reason').selectOption({ label: 'malformed (40)' });
      await button(page, 'Replay all 40').click();
      await until('the result', async () =>
        /^39 replayed \(39 readings stored\)\. 1 failed again and stays in quarantine\.$/.test(
          await said(page),
        ),
      );
      assert.equal(api.ingest.quarantine.length, 16);
      await until('the list', async () => (await page.locator('#quarantine li[data-id]').count()) === 1);
      await page.locator('#quarantine-reason').selectOption('');
      await button(page, 'Discard all 16…').click();
      // A message that arrives while the dialog is open is not discarded.
      await new Promise((resolve) => setTimeout(resolve, 5));
      api.ingest.refuse('sensors/late/x', 'malformed', 'no number', 'x');
      assert.match(await textOf(page, 'dialog'), /cannot be undone/);
      await page.getByRole('dialog').getByRole('button', { name: 'Discard 16 messages' }).click();
      await until('the result', async () => /^16 discarded\.$/.test(await said(page)));
      assert.deepEqual(
        api.ingest.quarantine.map(({ topic }) => topic),
        ['sensors/late/x'],
      );
      await until('the rest', async () => /^1 message kept$/.test(await textOf(page, '#quarantine-sum')));
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    });
  }
});

test('a change requires a sign-in once, and a wrong key is reported', async (t) => {
  const api = await startApi(t, { config: { apiToken: TOKEN } });
  refuseMany(api, 2, 0);
  api.ingest.isCured = () => true;
  await visit(api, { viewport: WIDE, expect: /Failed to load resource.* 401/ }, async (page) => {
    await until('the list', async () => (await page.locator('#quarantine li[data-id]').count()) === 2);
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await button(page, 'Replay all 2').click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await until('the refusal', async () => /Nothing was changed/.test(await said(page)));
    await page.locator('#quarantine summary').first().click();
    await page
      .locator('#quarantine')
      .getByRole('button', { name: /^Replay/ })
      .first()
      .click();
    await dialog.getByLabel('Key').fill('wrong');
    await page.keyboard.press('Enter');
    await until('the complaint', async () => /token or key is wrong/.test(await dialog.innerText()));
    await dialog.getByLabel('Key').fill(TOKEN);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await until('the result', async () => /Replayed/.test(await said(page)));
    await button(page, 'Replay all 1').click();
    await until('the second result', async () => /^1 replayed/.test(await said(page)));
    assert.equal(api.ingest.quarantine.length, 0);
    // The page keeps nothing, and its scripts cannot read the cookie.
    assert.equal(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
      '[{},{},""]',
    );
  });
});

test('an open item stays open and in place while others arrive', async (t) => {
  const api = await startApi(t);
  refuseMany(api, 12, 0);
  await visit(api, { viewport: WIDE }, async (page) => {
    const items = page.locator('#quarantine li[data-id]');
    await until('the list', async () => (await items.count()) === 10);
    await button(page, 'Show more').click();
    await until('all of it', async () => (await items.count()) === 12);
    const read = page.locator('li[data-id="ingest-1.5"]');
    await read.locator('summary').click();
    await until('the payload', async () => (await read.locator('.payload').innerText()) === 'x');
    api.ingest.refuse('sensors/late/x', 'malformed', 'no number', 'x');
    await until('the new one', async () => (await items.first().innerText()).includes('sensors/late/x'));
    assert.equal(await read.locator('details').getAttribute('open'), '');
    assert.equal(await page.evaluate('document.activeElement.closest("li")?.dataset.id'), 'ingest-1.5');
  });
});

test('a replay that fails midway reports the reason and the work done before', async (t) => {
  const api = await startApi(t);
  refuseMany(api, 10, 0);
  api.ingest.isCured = () => true;
  api.ingest.stepItems = 4;
  let steps = 0;
  api.ingest.intercept = ({ method, url }, response) => {
    if (method !== 'POST' || !url!.startsWith('/quarantine/replay') || ++steps === 1) return false;
    const problem = { title: 'Cannot store now', detail: 'the store is unavailable' };
    response.writeHead(503, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem));
    return true;
  };
  await visit(api, { viewport: WIDE, expect: /Failed to load resource.* 503/ }, async (page) => {
    await until('the list', async () => (await page.locator('#quarantine li[data-id]').count()) === 10);
    await button(page, 'Replay all 10').click();
    await until('the result', async () =>
      /^4 replayed \(4 readings stored\)\. the store is unavailable/.test(await said(page)),
    );
    await until('the rest', async () => /^6 messages kept$/.test(await textOf(page, '#quarantine-sum')));
    assert.equal(await button(page, 'Replay all 6').isEnabled(), true);
  });
});
