import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { now } from '@tidegauge/readings';
import type { Page } from 'playwright-core';
import { fresh, inkIn, PROBE, SILO, textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';
import {
  DAY,
  drag,
  figure,
  moveFingers,
  OTHER,
  PHONE,
  pointAt,
  rangeOf,
  rowsOf,
  type Span,
  SURFACE,
  settled,
  startWithPast,
  TEMPERATURE,
  WIDE,
} from '../history-page.ts';

// The history view: times, lines, comparison and files, by mouse, touch and keyboard.

const test = await testWith('chromium', findChromium);

const FAILED_REQUEST = /Failed to load resource.* 503/;
/** A script that takes the clipboard away, as for a page without TLS. */
const NO_CLIPBOARD = `Object.defineProperty(navigator, 'clipboard', { value: undefined });`;

/** The times in the address, seconds. */
function spanOf(page: Page): Span {
  const query = new URLSearchParams(page.url().split('?')[1]);
  const [from, to] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? '') / 1000);
  return { from: from!, to: to! };
}

/** Does something, waits until the address has another view, and returns its times. */
async function after(page: Page, act: () => Promise<unknown>): Promise<Span> {
  const before = page.url();
  await act();
  await until('another address', () => page.url() !== before);
  await settled(page);
  return spanOf(page);
}

/** Fails unless two times or lengths are within a hundredth of the time that was shown, which pixels cause. */
function assertNear(found: number, expected: number, shown: number): void {
  assert.ok(Math.abs(found - expected) <= shown / 100, `${found} is not about ${expected}`);
}

/** Waits until a time or length of the view is near. The address follows each move of a finger or of the mouse. */
async function untilNear(
  page: Page,
  of: (span: Span) => number,
  expected: number,
  shown: number,
): Promise<void> {
  const distance = () => Math.abs(of(spanOf(page)) - expected);
  await until(`about ${expected}`, () => distance() <= shown / 100);
  await settled(page);
}

/** The largest part of the upper half of the chart that one column of pixels covers, near a share of the width. */
function inkAt(page: Page, share: number): Promise<number> {
  return page.evaluate(`(() => {
    const surface = document.querySelector('${SURFACE}');
    const canvas = document.querySelector('#history-plot canvas');
    const ratio = canvas.width / canvas.clientWidth;
    const middle = Math.round((surface.offsetLeft + ${share} * surface.offsetWidth) * ratio);
    const height = Math.round(canvas.height / 2);
    // A copy in memory: Chromium warns of readbacks from the graphics card.
    const area = Object.assign(document.createElement('canvas'), { width: 9, height });
    const copy = area.getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 4 - middle, 0);
    let most = 0;
    for (let x = 0; x <= 8; x++) {
      const { data } = copy.getImageData(x, 0, 1, height);
      let count = 0;
      for (let at = 3; at < data.length; at += 4) if (data[at] > 0) count++;
      most = Math.max(most, count / height);
    }
    return most;
  })()`) as Promise<number>;
}

test('ranges have exact figures and draw every peak, and a link restores the view', async (t) => {
  const api = await startWithPast(t);
  await visit(api, { viewport: WIDE, hash: `#/history?${TEMPERATURE}` }, async (page) => {
    await settled(page);
    await until('a last day without a peak', async () => (await figure(page, 'max')) < 22);
    for (const [label, last] of [
      ['7 d', '7d'],
      ['1 y', '1y'],
      ['All', 'all'],
    ] as const) {
      const button = page.locator('#history-ranges').getByRole('button', { name: label, exact: true });
      await after(page, () => button.click());
      assert.ok(page.url().includes(`last=${last}`), page.url());
      assert.equal(await button.getAttribute('aria-pressed'), 'true');
      await until('the peak', async () => (await figure(page, 'max')) === 95);
    }
    const { body } = await api.call(
      'GET',
      `/v1/readings/aggregate?device=${PROBE}&metric=temperature&from=1970-01-01T00:00:00Z&bucket=99999d`,
    );
    assert.equal((await figure(page, 'mean')).toFixed(2), body.buckets[0].mean.toFixed(2));
    // The first reading is ten days ago.
    await until('the column of the peak', async () => (await inkAt(page, 1 - 100 / 240)) > 0.6);
    assert.ok((await inkAt(page, 0.2)) < 0.3, 'other columns are low');

    const { query } = rangeOf(48);
    await page.goto(`${api.url}/#/history?${TEMPERATURE}&s=${SILO}/level&${query}&compare=day&zone=utc`);
    await until('four lines', async () => (await rowsOf(page).count()) === 4);
    await settled(page);
    const [address, shown] = [page.url(), await textOf(page, '#history-span')];
    assert.match(shown, /\(UTC\)$/);
    await page.reload();
    await settled(page);
    assert.equal(page.url(), address);
    assert.equal(await textOf(page, '#history-span'), shown);
    assert.equal(await page.locator('#history-compare').inputValue(), 'day');
  });
});

test('the mouse zooms and moves, buttons do the same, and Back returns to the view before', async (t) => {
  const api = await startWithPast(t);
  const { from, to, query } = rangeOf(48);
  const length = to - from;
  await visit(api, { viewport: WIDE, hash: `#/history?${TEMPERATURE}&${query}` }, async (page) => {
    await settled(page);
    const first = page.url();
    const middle = await pointAt(page, 0.5);
    await page.mouse.move(middle.x, middle.y);
    const wheeled = await after(page, () => page.mouse.wheel(0, -240));
    assertNear(wheeled.to - wheeled.from, length / 2, length);
    assertNear((wheeled.from + wheeled.to) / 2, (from + to) / 2, length);

    const dragged = await after(page, () => drag(page, 0.25, 0.5));
    assertNear(dragged.from, wheeled.from + length / 8, length);
    assertNear(dragged.to, wheeled.from + length / 4, length);

    await page.keyboard.down('Shift');
    await drag(page, 0.25, 0.75);
    await untilNear(page, ({ from }) => from, dragged.from - length / 16, length);
    await page.keyboard.up('Shift');
    assertNear(spanOf(page).to, dragged.to - length / 16, length);

    await page.goBack();
    await until('the view before', () => spanOf(page).from === dragged.from);
    await page.goBack();
    await page.goBack();
    await until('the first view', () => page.url() === first);
    await settled(page);
    await page.goForward();
    await until('the zoomed view', () => spanOf(page).from === wheeled.from);

    for (const [name, start, end] of [
      ['Zoom out', from, to],
      ['Earlier', from - length / 4, to - length / 4],
      ['Later', from, to],
      ['Zoom in', from + length / 4, to - length / 4],
    ] as const) {
      const shown = await after(page, () => page.getByRole('button', { name, exact: true }).click());
      assertNear(shown.from, start, length);
      assertNear(shown.to, end, length);
    }
    await page.getByRole('button', { name: 'Go to…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Go to' });
    await dialog.getByLabel('From').fill('2026-01-02T03:04:05');
    const gone = await after(page, () => dialog.getByRole('button', { name: 'Show' }).click());
    assertNear(gone.to - gone.from, length / 2, length);
    assert.match(await textOf(page, '#history-span'), /2026/);
    const words = () => textOf(page, '#history-none');
    await until('the words', async () => /No readings in this time/.test(await words()));
    assert.equal(await figure(page, 'max'), Number.NaN);
  });
});

test('the keyboard zooms, moves, and reads all lines at the cursor', async (t) => {
  const api = await startWithPast(t);
  const { from, to, query } = rangeOf(48);
  const length = to - from;
  const hash = `#/history?${TEMPERATURE}&s=${SILO}/level&${query}`;
  await visit(api, { viewport: WIDE, hash }, async (page) => {
    await settled(page);
    await page.locator(SURFACE).focus();
    const press = (key: string) => after(page, () => page.keyboard.press(key));
    assertNear((await press('+')).from, from + length / 4, length);
    assertNear((await press('-')).from, from, length);
    assertNear((await press('ArrowLeft')).from, from - length / 4, length);
    assertNear((await press('ArrowRight')).from, from, length);
    assertNear((await press('Home')).from, Math.floor(now() / 1e6) - 10 * DAY, length);
    await press('End');
    assert.match(page.url(), /last=2d/);
    await press('-');
    assert.match(page.url(), /last=4d/, 'it still ends now');

    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Shift+ArrowLeft');
    assert.match(await textOf(page, '#history-at'), /^At .*\d/);
    const spoken = (await page.locator('#history-read').textContent()) ?? '';
    assert.match(spoken, new RegExp(`temperature of ${PROBE}: (19|20|21)\\..*level of ${SILO}: \\d`));
    for (const row of await rowsOf(page).all()) assert.match(await row.locator('.at').innerText(), /^\d/);
    await page.keyboard.press('Escape');
    assert.equal(await textOf(page, '#history-at'), '');
  });
});

test('on a phone two fingers zoom and move, one finger reads, and everything fits', async (t) => {
  const api = await startWithPast(t);
  const { from, to, query } = rangeOf(48);
  const length = to - from;
  for (const colorScheme of ['light', 'dark'] as const) {
    const hash = `#/history?${TEMPERATURE}&s=${SILO}/level&${query}`;
    await visit(api, { viewport: PHONE, colorScheme, hash }, async (page) => {
      await settled(page);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width);
      await page.locator(SURFACE).scrollIntoViewIfNeeded();
      await moveFingers(page, [0.4, 0.6], [0.2, 0.8]);
      await untilNear(page, (span) => span.to - span.from, length / 3, length);
      const apart = spanOf(page);
      assertNear((apart.from + apart.to) / 2, (from + to) / 2, length);
      await moveFingers(page, [0.3, 0.5], [0.5, 0.7]);
      await untilNear(page, (span) => span.from, apart.from - length / 15, length);
      const moved = spanOf(page);
      assertNear(moved.to, apart.to - length / 15, length);
      await moveFingers(page, [0.3], [0.6]);
      await until('the time', async () => /^At /.test(await textOf(page, '#history-at')));
      assert.deepEqual(spanOf(page), moved);
      // The tab returns to the view.
      await page.getByRole('link', { name: 'Sensors', exact: true }).click();
      await until('the list', async () => !(await page.locator('#history').isVisible()));
      await page.getByRole('link', { name: 'History', exact: true }).click();
      await until('the view again', () => spanOf(page).from === moved.from);
    });
  }
});

test('lines are added by sensor and by site, compared with an earlier period, and removed', async (t) => {
  const api = await startWithPast(t);
  await visit(api, { viewport: WIDE, hash: `#/sensor/${PROBE}` }, async (page) => {
    await until('the charts', async () => (await page.locator('.chart').count()) === 1);
    await page.locator('#open-history').click();
    await until('its line', async () => (await rowsOf(page).count()) === 1);
    assert.equal(await page.locator('#charts').isVisible(), false);
    await page.locator('#history-ranges').getByRole('button', { name: '6 h', exact: true }).click();
    const add = async (site: string, sensor: string, metric: string) => {
      await page.getByRole('button', { name: 'Add a line…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add a line' });
      const field = (index: number) => dialog.locator('select').nth(index);
      await field(0).selectOption({ value: site });
      await field(1).selectOption({ value: sensor });
      await field(2).selectOption({ value: metric });
      await after(page, () => dialog.getByRole('button', { name: 'Add', exact: true }).click());
    };
    await add('site-2', SILO, 'level');
    await add('site-1', '', 'temperature');
    await until('three lines', async () => (await rowsOf(page).count()) === 3);
    assert.match(page.url(), /g=temperature\/site-1/);
    await after(page, () => page.locator('#history-compare').selectOption('day'));
    await until('six lines', async () => (await rowsOf(page).count()) === 6);
    await until('the level', async () => (await figure(page, 'last', 2)) < 0.1);
    // The level was one more a day before.
    await until('the level before', async () => Math.abs((await figure(page, 'last', 3)) - 1) < 0.1);
    assert.match(await rowsOf(page).nth(3).innerText(), /level, the day before/);
    // Of a site, the other sensors stay.
    const remove = (name: string) =>
      after(page, () => page.getByRole('button', { name: `Remove ${name}`, exact: true }).click());
    await remove(`temperature of ${PROBE}`);
    await until('four lines', async () => (await rowsOf(page).count()) === 4);
    assert.doesNotMatch(page.url(), /g=/);
    assert.match(await rowsOf(page).nth(2).innerText(), /probe-2/);
    await remove(`temperature of ${OTHER}`);
    await page.getByRole('button', { name: `Remove level of ${SILO}`, exact: true }).click();
    await until('the words', async () => /add a sensor/.test(await textOf(page, '#history-none')));
  });
});

test('CSV, picture and link have exactly what is shown', async (t) => {
  const api = await startWithPast(t);
  const options = { viewport: WIDE, hash: `#/history?${TEMPERATURE}&last=7d`, script: NO_CLIPBOARD };
  await visit(api, options, async (page) => {
    await until('the peak', async () => (await figure(page, 'max')) === 95);
    await settled(page);
    const save = async (name: string) => {
      const button = page.locator('#history').getByRole('button', { name, exact: true });
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
    };
    const csv = await save('CSV');
    assert.equal(csv.name, 'history.csv');
    const [head, ...rows] = csv.bytes.toString().trim().split('\r\n');
    assert.equal(head, 'device,metric,unit,period,from,to,count,min,mean,max');
    for (const row of rows) assert.ok(row.startsWith(`${PROBE},temperature,"Cel",,`), row);
    const column = (index: number) => rows.map((row) => Number(row.split(',')[index]));
    assert.equal(Math.max(...column(9)), 95);
    assert.equal(Math.min(...column(7)).toFixed(2), (await figure(page, 'min')).toFixed(2));
    const png = await save('PNG');
    assert.equal(png.name, 'history.png');
    assert.deepEqual([...png.bytes.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);

    await page.getByRole('button', { name: 'Copy link' }).click();
    const dialog = page.getByRole('dialog', { name: 'Link' });
    const link = await dialog.getByLabel('Link').inputValue();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.goto(link);
    await settled(page);
    const { from, to } = spanOf(page);
    assert.equal(Math.round(to - from), 7 * DAY);
    await until('the peak', async () => (await figure(page, 'max')) === 95);
  });
});

test('live readings appear, and an unavailable store is reported until it is back', async (t) => {
  const api = await startWithPast(t);
  const options = { viewport: WIDE, hash: `#/history?${TEMPERATURE}&last=5m`, expect: FAILED_REQUEST };
  await visit(api, options, async (page) => {
    await settled(page);
    await until('the feed', () => api.ingest.listeners === 1);
    await api.ingest.commit([fresh(PROBE, 'temperature', 41.5), fresh(PROBE, 'temperature', 42.5, 5)]);
    const end = await pointAt(page, 1);
    await page.mouse.move(end.x - 2, end.y);
    await until('the live value', async () =>
      /^41\.5/.test(await rowsOf(page).first().locator('.at').innerText()),
    );
    await until('its figures', async () => (await figure(page, 'max')) === 42.5);

    api.outage.cut = true;
    await page.locator('#history-ranges').getByRole('button', { name: '7 d', exact: true }).click();
    await until('the reason', async () => /store is unavailable/i.test(await textOf(page, '#banner')));
    api.outage.cut = false;
    await until('the figures', async () => (await figure(page, 'max')) === 95);
    await until('the banner to go', async () => !(await page.locator('#banner').isVisible()));
  });
});

test('the charts of a slow sensor begin with a range that has readings', async (t) => {
  const api = await startApi(t);
  await api.ingest.commit(
    Array.from({ length: 48 }, (_, n) => fresh('slow', 'temperature', n, 600 + n * 1800)),
  );
  await visit(api, { viewport: WIDE }, async (page) => {
    await until('the line', async () => (await inkIn(page, 'temperature')) > 100);
    const pressed = page.locator('#ranges button[aria-pressed="true"]');
    assert.equal(await pressed.innerText(), '1 h');
    // A choice of the visitor stays, also without readings.
    await page.locator('#ranges').getByRole('button', { name: '5 min', exact: true }).click();
    const words = () => textOf(page, '.chart .no-data');
    await until('the words', async () => /No readings in the last 5 minutes/.test(await words()));
    assert.equal(await pressed.innerText(), '5 min');
  });
});
