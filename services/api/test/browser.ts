import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import { type Browser, startBrowser, type WindowOptions } from '@tidegauge/lab/chromium';
import { type AlertDocument, now, type Reading } from '@tidegauge/readings';
import type { Page } from 'playwright-core';
import { type Api, type ApiOptions, reading, startApi, until } from './harness.ts';

export const PROBE = 'site-1/boiler/probe-1';
export const SILO = 'site-2/silo/level-2';
export const ATTACK = '<img src=x onerror=window.attacked=1>';

/** An active alert of PROBE. */
export const HOT: AlertDocument = {
  id: '0'.repeat(24),
  rule: 'hot',
  severity: 'critical',
  state: 'active',
  kind: 'above',
  device: PROBE,
  metric: 'temperature',
  limit: 30,
  value: 31.5,
  since: '2026-11-21T14:00:00.000000Z',
  raised: '2026-11-21T14:00:00.000000Z',
  ended: null,
  reason: null,
};

/** A reading with a recent time, because the page shows the last minutes. */
export function fresh(device: string, metric: string, value: number | string, secondsAgo = 0): Reading {
  const time = now() - secondsAgo * 1e6;
  return reading(0, { device, metric, value, time, received: time });
}

/** Two sites with two minutes of readings, and one message that could not be stored. */
export async function startInstallation(t: TestContext, config: ApiOptions['config'] = {}): Promise<Api> {
  const api = await startApi(t, { config, live: { ringReadings: 20_000 } });
  const past: Reading[] = [];
  for (let ago = 120; ago > 0; ago--) {
    past.push(fresh(PROBE, 'temperature', 20 + Math.sin(ago / 9), ago));
    past.push(fresh(PROBE, 'battery', 3.7, ago));
    past.push(fresh(SILO, 'level', ago / 10, ago));
  }
  await api.ingest.commit(past);
  api.ingest.refuse(
    `sensors/${PROBE}/temperature`,
    'malformed',
    `expected a number, found ${ATTACK}`,
    ATTACK,
  );
  return api;
}

/** The browser of all visits of a test file. Each has its own window. */
let browser: Promise<Browser> | null = null;
after(async () => (await browser?.catch(() => null))?.close());

/** Opens the page, runs `look`, and closes it. Fails when the page reports errors or sends requests elsewhere. */
export async function visit(
  api: Api,
  options: WindowOptions & {
    readonly hash?: string;
    /** Console messages that the test causes itself. */
    readonly expect?: RegExp;
    /** Runs in the page before its own scripts. */
    readonly script?: string;
  },
  look: (page: Page) => Promise<void>,
): Promise<void> {
  browser ??= startBrowser({ steadyNetwork: true });
  const { context, close } = await (await browser).open(options);
  const complaints: string[] = [];
  try {
    const page = await context.newPage();
    page.on('console', (message) => {
      // Expected in tests that go offline.
      if (message.text().includes('ERR_INTERNET_DISCONNECTED')) return;
      if (options.expect?.test(message.text())) return;
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(api.url)) complaints.push(`requested ${request.url()}`);
    });
    if (options.script !== undefined) await page.addInitScript(options.script);
    await page.goto(`${api.url}/${options.hash ?? ''}`);
    await look(page);
  } catch (error) {
    if (complaints.length > 0) (error as Error).message += `\nThe page reported: ${complaints.join('; ')}`;
    throw error;
  } finally {
    await close();
  }
  assert.deepEqual(complaints, []);
}

/**
 * Opens a dialog by a button and the keyboard, and waits for it.
 *
 * @returns the dialog, and a function that waits for a text in it
 */
export async function openDialog(page: Page, button: string, name: string) {
  // A button appears when the visitor may use it, and a hidden one cannot have the focus.
  await page.locator(button).waitFor();
  await page.locator(button).press('Enter');
  const dialog = page.getByRole('dialog', { name, exact: true });
  await until(`the dialog ${name}`, () => dialog.isVisible());
  const has = (text: RegExp) => until(String(text), async () => text.test(await dialog.innerText()));
  return { dialog, has };
}

export function textOf(page: Page, selector: string): Promise<string> {
  return page.locator(selector).innerText();
}

/** Number of pixels of a chart's canvas that have the colour of its line. */
export function inkIn(page: Page, metric: string): Promise<number> {
  return page.evaluate((metric: string) => {
    // Runs in the page, whose globals have no types here.
    // biome-ignore lint/suspicious/noExplicitAny: see above
    const { document, getComputedStyle } = globalThis as any;
    const canvas = document.querySelector(`.chart[data-metric="${metric}"] canvas`);
    if (canvas === null) return 0;
    const accent = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim();
    const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(accent.slice(at, at + 2), 16));
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) count++;
    }
    return count;
  }, metric);
}
