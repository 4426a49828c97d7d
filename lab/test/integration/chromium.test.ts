import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runProgram, waitUntil } from '@tidegauge/process';
import { findChromium, launchChromium } from '../../src/chromium.ts';
import { findProgram } from '../../src/debian.ts';
import { startOrSkip } from '../../src/unavailable.ts';

const ip = await startOrSkip('ip', () => findProgram('ip', 'iproute2'));
const chromium = await startOrSkip('chromium', findChromium);
const skip =
  'skip' in ip ? ip.skip : 'skip' in chromium ? chromium.skip : process.getuid?.() !== 0 && 'needs root';

/** More than Chromium sends at once to one server, so that some wait for a connection. */
const REQUESTS = 12;
const TIMEOUT_MS = 20_000;

/** The answers to requests of a page that the server answers after the machine has got an address. */
async function answers(t: TestContext, steadyNetwork: boolean): Promise<string[]> {
  const { server: program } = ip as { server: string };
  const change = async (...args: string[]) => void (await runProgram(program, args));
  const [own, peer] = [`tg${process.pid}a`, `tg${process.pid}b`];
  const changed = Promise.withResolvers<void>();
  let received = 0;
  const server = createServer(async (request, response) => {
    if (request.url === '/slow') {
      received += 1;
      await changed.promise;
    }
    response.setHeader('Content-Type', 'text/html').end('answered');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const browser = await launchChromium({ steadyNetwork });
  t.after(() => browser.close());
  const page = await browser.context.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const read = `fetch('/slow', { cache: 'no-store' }).then((response) => response.text(), fail)`;
  await page.evaluate(`fail = () => { hasAborted = true; return 'aborted'; }`);
  const found = page.evaluate<string[]>(`Promise.all(Array.from({ length: ${REQUESTS} }, () => ${read}))`);
  await waitUntil('a request', () => received > 0, { timeoutMs: TIMEOUT_MS });
  await change('link', 'add', own, 'type', 'veth', 'peer', 'name', peer);
  t.after(() => change('link', 'delete', own));
  await change('link', 'set', peer, 'up');
  // An address of RFC 2544, section C.2.2: no network uses it.
  await change('address', 'add', '198.18.254.1/32', 'dev', own);
  await change('link', 'set', own, 'up');
  // Chromium notices it within half a second.
  const hasAborted = () => page.evaluate<boolean>('globalThis.hasAborted === true');
  if (steadyNetwork) await delay(2000);
  else await waitUntil('an aborted request', hasAborted, { timeoutMs: TIMEOUT_MS });
  changed.resolve();
  return found;
}

test('requests of a browser with a steady network survive a change of addresses', { skip }, async (t) => {
  assert.deepEqual(await answers(t, true), Array(REQUESTS).fill('answered'));
});

test('without it, the browser aborts requests', { skip }, async (t) => {
  assert.ok((await answers(t, false)).includes('aborted'));
});
