import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { fresh, inkIn, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { type Api, until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const PATH = '/api/hassio_ingress/9f-x';

/** The API behind a proxy that serves it under a path, as Home Assistant does. Other paths are not found. */
async function underPath(t: TestContext, api: Api): Promise<Api> {
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request;
    if (!url.startsWith(`${PATH}/`)) {
      response.writeHead(404).end();
      return;
    }
    const sent = httpRequest(api.url + url.slice(PATH.length), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    response.on('close', () => sent.destroy());
    request.pipe(sent);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { ...api, url: `http://127.0.0.1:${port}${PATH}` };
}

test('behind a path the page shows history and live readings, and sends changes', async (t) => {
  const api = await startInstallation(t);
  api.ingest.isCured = () => true;
  await visit(await underPath(t, api), {}, async (page) => {
    await until('the line', async () => (await inkIn(page, 'temperature')) > 100);
    await until('the state', async () => (await textOf(page, '#state')) === 'Live');
    await api.ingest.commit([fresh(PROBE, 'temperature', 77.25)]);
    const probe = page.locator(`.row[data-name="${PROBE}"]`);
    await until('the live value', async () => (await probe.innerText()).includes('77.25'));
    await page.click('#quarantine-replay');
    await until('the replay', () => api.ingest.quarantine.length === 0);
  });
});

test('behind a path the reference is shown, and requests are sent there', async (t) => {
  const api = await startInstallation(t);
  const operation = '#operations-devices-listDevices';
  // With a slash at the end, its files would be searched below it.
  for (const docs of ['docs', 'docs/']) {
    await visit(await underPath(t, api), { hash: docs }, async (page) => {
      const link = page.locator('a[href$="/listDevices"]').last();
      assert.equal(await page.evaluate('document.styleSheets.length'), 1);
      await link.click();
      await page.click(`${operation} .try-out__btn`);
      await page.click(`${operation} .execute`);
      const status = `${operation} .live-responses-table tbody .response-col_status`;
      await until('the answer', async () => (await textOf(page, status)).startsWith('200'));
      assert.match(await textOf(page, `${operation} .request-url`), new RegExp(`${PATH}/v1/devices`));
      await page.click('nav a:first-child');
      await until('the page', async () => (await page.locator('#sensor-list').count()) === 1);
    });
  }
});
