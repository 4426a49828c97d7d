import { now, type Reading } from '@tidegauge/readings';
import type { Locator, Page } from 'playwright-core';
import { fresh, PROBE, SILO } from './browser.ts';
import { type Api, startApi, until } from './harness.ts';

// What tests of the history view share.

export const WIDE = { width: 1366, height: 768 };
export const PHONE = { width: 390, height: 844 };
const HOUR = 3600;
export const DAY = 24 * HOUR;
export const OTHER = 'site-1/boiler/probe-2';
export const SURFACE = '#history-surface';
export const TEMPERATURE = `s=${PROBE}/temperature`;

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Ten days with a reading every ten minutes, and one peak 100 hours ago. */
export async function startWithPast(t: Parameters<typeof startApi>[0]): Promise<Api> {
  const api = await startApi(t);
  const past: Reading[] = [];
  for (let ago = 10 * DAY; ago > 0; ago -= 600) {
    past.push(fresh(PROBE, 'temperature', 20 + Math.sin(ago / 20_000), ago));
    past.push(fresh(OTHER, 'temperature', 30, ago));
    past.push(fresh(SILO, 'level', ago / DAY, ago));
  }
  past.push(fresh(PROBE, 'temperature', 95, 100 * HOUR + 1));
  await api.ingest.commit(past);
  await api.store.readings.setUnits([{ device: PROBE, metric: 'temperature', unit: 'Cel' }]);
  return api;
}

/** Resolves when nothing that is shown is being read. */
export async function settled(page: Page): Promise<void> {
  await until('the chart and its figures', async () => {
    const busy = await page.locator('#history [aria-busy="true"]').count();
    return busy === 0 && (await page.locator('#history-rows tr').count()) > 0;
  });
}

/** Times that ended an hour ago, and their query. */
export function rangeOf(hours: number): Span & { readonly query: string } {
  const to = Math.floor(now() / 1e6) - HOUR;
  const from = to - hours * HOUR;
  const text = (seconds: number) => new Date(1000 * seconds).toISOString().replace('.000Z', 'Z');
  return { from, to, query: `from=${text(from)}&to=${text(to)}` };
}

/** A figure in a row of the table. */
export async function figure(page: Page, name: string, row = 0): Promise<number> {
  return Number.parseFloat(await page.locator('#history-rows tr').nth(row).locator(`.${name}`).innerText());
}

/** A point of the chart, by the share of its width. */
export async function pointAt(
  page: Page,
  share: number,
): Promise<{ readonly x: number; readonly y: number }> {
  const { x, y, width, height } = (await page.locator(SURFACE).boundingBox())!;
  return { x: x + share * width, y: y + height / 2 };
}

export async function drag(page: Page, from: number, to: number): Promise<void> {
  const [start, end] = [await pointAt(page, from), await pointAt(page, to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, start.y);
  await page.mouse.move(end.x, end.y);
  await page.mouse.up();
}

/** Touches two places, by shares of the width, and moves both fingers. */
export async function moveFingers(
  page: Page,
  before: readonly number[],
  later: readonly number[],
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const points = async (shares: readonly number[]) =>
    Promise.all(shares.map(async (share, id) => ({ id, ...(await pointAt(page, share)) })));
  const between = before.map((share, index) => (share + later[index]!) / 2);
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 });
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: await points(before) });
  for (const shares of [between, later])
    await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: await points(shares) });
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await session.detach();
}

export function rowsOf(page: Page): Locator {
  return page.locator('#history-rows tr');
}
