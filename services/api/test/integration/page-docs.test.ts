import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';
const DELIVER = '#operations-readings-deliverReadings';
const INSERT = '#operations-records-insertRecord';

/** Waits until the schema of an operation's body is shown and contains these words. */
async function checkBodySchema(page: Page, operation: string, words: readonly string[]): Promise<void> {
  const body = `${operation} .opblock-section-request-body`;
  await page.click(`${body} .tab li:last-child button`);
  for (const word of words) {
    await until(`${word} in the schema`, async () => (await textOf(page, body)).includes(word));
  }
}

test('the page to try requests shows every operation and all schemas of bodies, and uses this server only', async (t) => {
  const api = await startApi(t);
  const paths: Record<string, Record<string, { operationId?: string }>> = (
    await api.call('GET', '/openapi.json')
  ).body.paths;
  await visit(api, { hash: 'docs/try#/readings/deliverReadings', colorScheme: 'dark' }, async (page) => {
    await page.waitForSelector(`${DELIVER} .opblock-section-request-body`);
    const ids = Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId }) => operationId ?? []),
    );
    for (const id of ids) assert.equal(await page.locator(`.opblock[id$="-${id}"]`).count(), 1, id);
    await checkBodySchema(page, DELIVER, ['device', 'metric', 'boot', 'seq', 'ISO 8601']);
    await page.click(`${INSERT} .opblock-summary-control`);
    await page.waitForSelector(`${INSERT} .opblock-section-request-body`);
    await checkBodySchema(page, INSERT, ['fields', 'field0, field1']);
    const isDark = () => page.locator('html.dark-mode').count();
    assert.equal(await isDark(), 1);
    await page.emulateMedia({ colorScheme: 'light' });
    await until('the light colours', async () => (await isDark()) === 0);
  });
});

test('"Try it out" delivers a reading with the API token, and is refused without it', async (t) => {
  const api = await startApi(t, { config: { httpListen: '0.0.0.0', apiToken: TOKEN } });
  const local = { ...api, url: api.url.replace('0.0.0.0', '127.0.0.1') };
  const status = `${DELIVER} .live-responses-table tbody .response-col_status`;
  const refused = /the server responded with a status of 401/;
  await visit(local, { hash: 'docs/try#/readings/deliverReadings', expect: refused }, async (page) => {
    await page.click(`${DELIVER} .try-out__btn`);
    await page.click(`${DELIVER} .execute`);
    await until('the refusal', async () => (await textOf(page, status)).startsWith('401'));
    await page.click('.btn.authorize');
    await page.fill('.auth-container input', TOKEN);
    await page.click('.auth-btn-wrapper .authorize');
    await page.click('.btn-done');
    await page.click(`${DELIVER} .execute`);
    await until('the answer', async () => (await textOf(page, status)).startsWith('202'));
  });
  assert.equal(api.ingest.delivered.length, 1);
  const query = new URLSearchParams(api.ingest.delivered[0]!.url.split('?')[1]);
  assert.equal(query.get('device'), 'site-3/boiler/probe-7');
});
