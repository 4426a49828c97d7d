import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from '@tidegauge/process';
import { launchChromium } from '../../src/chromium.ts';
import { findProgram } from '../../src/debian.ts';
import { startOrSkip } from '../../src/unavailable.ts';

const ip = await startOrSkip('ip', () => findProgram('ip', 'iproute2'));
const chromium = await startOrSkip('chromium', () => findProgram('chromium', 'chromium'));
const skip =
  'skip' in ip ? ip.skip : 'skip' in chromium ? chromium.skip : process.getuid?.() !== 0 && 'needs root';

/** More than Chromium sends at once to one server, so that some wait for a connection. */
const REQUESTS = 12;

/** The answers to requests of a page, while the machine gets an address and loses it again. */
async function answers(t: TestContext, steadyNetwork: boolean): Promise<string[]> {
  const { server: program } = ip as { server: string };
  const change = async (...args: string[]) => void (await runProgram(program, args));
  const [own, peer] = [`tg${process.pid}a`, `tg${process.pid}b`];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const answer = () => response.setHeader('Content-Type', 'text/html').end('answered');
    if (request.url === '/') answer();
    else waiting.push(answer);
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
  while (waiting.length === 0) await delay(10);
  await change('link', 'add', own, 'type', 'veth', 'peer', 'name', peer);
  t.after(() => change('link', 'delete', own));
  await change('link', 'set', peer, 'up');
  // An address of RFC 2544, section C.2.2: no network uses it.
  await change('address', 'add', '198.18.254.1/32', 'dev', own);
  await change('link', 'set', own, 'up');
  // Until Chromium notices it, which takes it half a second.
  const deadline = performance.now() + (steadyNetwork ? 2000 : 20_000);
  while (performance.now() < deadline && !(await page.evaluate('globalThis.hasAborted === true')))
    await delay(50);
  const answering = setInterval(() => {
    for (const answer of waiting.splice(0)) answer();
  }, 10);
  return found.finally(() => clearInterval(answering));
}

test('requests of a browser with a steady network survive a change of addresses', { skip }, async (t) => {
  assert.deepEqual(await answers(t, true), Array(REQUESTS).fill('answered'));
});

test('without it, the browser aborts requests', { skip }, async (t) => {
  assert.ok((await answers(t, false)).includes('aborted'));
});
