import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { cleanName } from '@tidegauge/readings';
import type { Page } from 'playwright-core';
import { ATTACK, fresh, inkIn, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const WIDE = { width: 1366, height: 900 };

/** The accessible name of an element in Chromium, from its attributes or its content. */
async function accessibleName(page: Page, selector: string): Promise<string> {
  const session = await page.context().newCDPSession(page);
  try {
    const { result } = await session.send('Runtime.evaluate', {
      expression: `document.querySelector(${JSON.stringify(selector)})`,
    });
    const { nodes } = await session.send('Accessibility.queryAXTree', { objectId: result.objectId! });
    return String(nodes[0]?.name?.value ?? '')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(' ,', ',');
  } finally {
    await session.detach();
  }
}

/** The text of an element for a screen reader: its exposed text nodes, in order. */
async function spokenText(page: Page, selector: string): Promise<string> {
  const session = await page.context().newCDPSession(page);
  try {
    const { result } = await session.send('Runtime.evaluate', {
      expression: `document.querySelector(${JSON.stringify(selector)})`,
    });
    const { nodes } = await session.send('Accessibility.queryAXTree', { objectId: result.objectId! });
    const texts = nodes.filter(({ ignored, role }) => !ignored && role?.value === 'StaticText');
    return texts
      .map(({ name }) => String(name?.value ?? ''))
      .join('')
      .replaceAll('\u00a0', ' ');
  } finally {
    await session.detach();
  }
}

test('a screen reader receives values, ages and names as separate words', async (t) => {
  const api = await startInstallation(t);
  await api.ingest.commit([fresh('site-3/door', 'open', 1, 60), fresh('site-3/door', 'count', 1, 11 * 60)]);
  await visit(api, { viewport: WIDE, hash: '#/sensor/site-3/door' }, async (page) => {
    const card = '.chart[data-metric="open"] .reading';
    await until('the age', async () => /1 min ago/.test(await textOf(page, card)));
    assert.match(await spokenText(page, card), /^1, measured 1 min ago$/);
    assert.match(await spokenText(page, '.chart[data-metric="count"] .reading'), /^1, measured 11 min ago$/);
    const row = await accessibleName(page, '.row[data-name="site-3/door"]');
    assert.match(row, /^door, heard 1 min ago, count 1, open 1$/);
    assert.match(await accessibleName(page, '.sensor-list h3'), /^site-1 1 sensor$/);
    await until('the ledger', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    assert.match(
      await spokenText(page, '.stage[data-stage="travel"] .figures'),
      /^median 0\.90 ms, 99th percentile 6\.2 ms$/,
    );
    assert.match(await spokenText(page, '.stage[data-stage="travel"] .label'), /^Travel \w/);
    const item = await accessibleName(page, '#quarantine summary');
    assert.match(
      item,
      /malformed, sensors\/site-1\/boiler\/probe-1\/temperature, \d\d:\d\d:\d\d, expected a number/,
    );
  });
});

test('names that differ are shown differently, in every part of the page and at every width', async (t) => {
  const api = await startApi(t);
  const long = 'pumping-station-of-the-eastern-quarter-'.repeat(2);
  const names = ['begin', 'end'].map((word) => `site-1/${long}${word}/${long}sensor`);
  const metrics = ['front', 'back'].map((side) => `temperature-below-the-third-shelf-from-the-${side}-left`);
  for (const name of names) await api.ingest.commit(metrics.map((metric) => fresh(name, metric, 20)));
  for (const name of names) api.ingest.refuse(`sensors/${name}/x`, 'malformed', 'no number', 'x');
  api.ingest.gaps = {
    devices: 2,
    missing: 2,
    duplicates: 0,
    givenUp: 0,
    unjudged: 0,
    list: names.map((device) => ({
      device,
      boot: 'a',
      highest: 9,
      missing: 1,
      ranges: [[3, 3]],
      givenUp: 0,
      duplicates: 0,
    })),
    truncated: false,
  };
  for (const width of [1366, 800, 390]) {
    await visit(api, { viewport: { width, height: 844 } }, async (page) => {
      await until('the list', async () => (await page.locator('.row').count()) === 2);
      await differ(page, '.row .name');
      assert.match(await accessibleName(page, '.row'), /begin/);
      if (width < 1000) await page.locator('.row').first().click();
      await until('the charts', async () => (await page.locator('.chart').count()) === 2);
      await differ(page, '.chart h3');
      if (width < 1000) await page.goto(`${api.url}/#/pipeline`);
      await until('the quarantine', async () => (await page.locator('#quarantine li').count()) === 2);
      await differ(page, '#quarantine .topic');
      await differ(page, '#gaps li span:first-child');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    });
  }
});

test('a value with marks of direction leaves the words after it as they are', async (t) => {
  const api = await startApi(t);
  await api.ingest.commit([fresh('a', 'note', '\u202eon', 90)]);
  await visit(api, { viewport: WIDE, hash: '#/sensor/a' }, async (page) => {
    await until('the age', async () => /min ago/.test(await textOf(page, '.chart .reading')));
    const [minute, ago] = await page.evaluate<number[]>(`(() => {
      const text = document.querySelector('.chart .reading').lastElementChild.firstChild;
      return [0, text.length - 1].map((at) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().x;
      });
    })()`);
    assert.ok(minute! < ago!, 'the age is from left to right');
  });
});

test('a long name of a site does not widen the page', async (t) => {
  const api = await startApi(t);
  const site = 'W'.repeat(200);
  await api.store.devices.put({ name: 'a', site, city: null, kind: null, year: null, attributes: {} });
  await api.ingest.commit([fresh('a', 'temperature', 21.5)]);
  await visit(api, { viewport: WIDE, hash: '#/today' }, async (page) => {
    await until('the sites', async () => (await page.locator('#overview-site option').count()) === 2);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), WIDE.width);
    // The word beside the list keeps its line.
    const label = page.locator('#overview-site').locator('..');
    const [around, inside] = [await label.boundingBox(), await page.locator('#overview-site').boundingBox()];
    assert.equal(around!.height, inside!.height);
  });
});

test('content that does not fit is cut visibly', async (t) => {
  const api = await startApi(t);
  const site = `the-${'very-'.repeat(20)}long-site`;
  for (const [name, lon] of [
    ['a', -9],
    ['b', 9],
  ] as const) {
    const attributes = { lat: 40, lon };
    await api.store.devices.put({
      name,
      site: `${site}-${name}`,
      city: null,
      kind: null,
      year: null,
      attributes,
    });
  }
  await api.ingest.commit(Array.from({ length: 15 }, (_, n) => fresh('a', `metric-${n}`, n)));
  await visit(api, { viewport: WIDE, hash: '#/sensor/a' }, async (page) => {
    await until('the map', async () => (await page.locator('#map a').count()) === 2);
    const map = (await page.locator('#map').boundingBox())!;
    for (const text of await page.locator('#map text').all()) {
      const { x, width } = (await text.boundingBox())!;
      assert.ok(x >= map.x && x + width <= map.x + map.width, await text.innerHTML());
    }
    assert.match(
      (await page.locator('#map text').allTextContents()).join(),
      /^the-very-….*site-a,the-very-….*site-b$/,
    );
    assert.match(
      (await page.locator('#map title').allTextContents()).join(),
      new RegExp(`${site}-a: 1 sensor`),
    );
    assert.match(await textOf(page, '.row[data-name="a"]'), /\+12 more/);
    await until('the charts', async () => (await page.locator('.chart').count()) === 12);
    assert.match(await textOf(page, '#charts-cut'), /^3 more metrics are not drawn/);
    const drawn = await page.locator('.chart h3').allTextContents();
    assert.deepEqual(
      drawn,
      Array.from({ length: 12 }, (_, n) => `metric-${n}`),
    );
  });
});

test('names are shown as their sender wrote them, and as text', async (t) => {
  const [site, sensor, metric] = [`Bäder & ${ATTACK}`, 'Living Room', 'T (°C)'];
  const device = `${cleanName(site)}/${cleanName(sensor)}`;
  const api = await startApi(t);
  await api.ingest.commit([fresh(device, cleanName(metric), 21)]);
  const hash = `#/sensor/${device}`;
  await visit(api, { viewport: { width: 390, height: 844 }, hash }, async (page) => {
    const title = page.locator('#sensor-title');
    await until('the title', async () => (await title.innerText()) === `${site}/${sensor}`);
    assert.equal(await title.getAttribute('title'), device);
    await until('the chart', async () => (await page.locator('.chart h3').allTextContents())[0] === metric);
    // Beside the title there is no place for buttons.
    const [above, below] = await Promise.all([
      title.boundingBox(),
      page.locator('#open-history').boundingBox(),
    ]);
    assert.ok(above!.width > 250 && above!.y + above!.height <= below!.y);
    await page.getByRole('link', { name: 'Back to the sensors' }).click();
    await until('the site', async () => (await textOf(page, '.sensor-list h3')).startsWith(site));
    assert.match(await textOf(page, '.row'), /^Living Room/);
    await page.locator('#search').fill('living room');
    assert.equal(await page.locator('.row').count(), 1);
    assert.equal(await page.evaluate('window.attacked'), undefined);
  });
});

/** Fails unless each element shows all of its text, and the first two texts differ. */
async function differ(page: Page, selector: string): Promise<void> {
  const elements = await page.locator(selector).all();
  assert.equal(elements.length, 2, selector);
  const texts = await Promise.all(elements.map((each) => each.innerText()));
  assert.notEqual(texts[0], texts[1], selector);
  for (const each of elements) {
    const cut = await each.evaluate(
      ({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth,
    );
    assert.equal(cut, false, `${selector} is cut`);
  }
}

test('every label of a time axis is within its chart, at any time and in any time format', async (t) => {
  const api = await startInstallation(t);
  // Records each text that is drawn on a canvas, with its left and right edges.
  const script = `
    globalThis.drawn = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
      const width = this.measureText(text).width;
      const { a, e } = this.getTransform();
      const shift = { center: width / 2, right: width, end: width }[this.textAlign] ?? 0;
      const left = (x - shift) * a + e;
      if (text !== '') drawn.push({ text, left, right: left + width * a, room: this.canvas.width, y });
      return fillText.call(this, text, x, y, ...more);
    };`;
  for (const width of [800, 390]) {
    await visit(
      api,
      // Times with 12 hours have the longest labels.
      { viewport: { width, height: 844 }, hash: `#/sensor/${PROBE}`, script, locale: 'en-US' },
      async (page) => {
        // Without the Date header the page keeps its own clock.
        await page.route('**/v1/**', async (route) => {
          if (route.request().url().includes('/v1/live')) return route.continue();
          const response = await route.fetch();
          const { date: _, ...headers } = response.headers();
          await route.fulfill({ response, headers });
        });
        await until('the line', async () => (await inkIn(page, 'temperature')) > 100);
        const start = Date.now();
        for (let step = 0; step < 8; step++) {
          await page.evaluate('drawn.length = 0');
          await page.clock.setFixedTime(start + (step + 1) * 4000);
          const label = /\d:\d\d/;
          await until('new labels', async () =>
            label.test(JSON.stringify(await page.evaluate('drawn.map(({ text }) => text)'))),
          );
          const drawn = (await page.evaluate('drawn')) as {
            text: string;
            left: number;
            right: number;
            room: number;
            y: number;
          }[];
          for (const { text, left, right, room } of drawn) {
            assert.ok(left >= 0 && right <= room, `${text} from ${left} to ${right} of ${room}`);
          }
          const times = drawn.filter(({ text }) => label.test(text));
          for (const [index, { text, left, y }] of times.entries()) {
            const before = times[index - 1];
            if (before === undefined || before.y !== y || before.left > left) continue;
            assert.ok(before.right < left, `${before.text} runs into ${text}`);
          }
        }
      },
    );
  }
});

test('a delay beyond the axis of the stages ends at the edge and is marked', async (t) => {
  const api = await startInstallation(t);
  // The delays after a reading that is three days old.
  api.ingest.stages = { travel: [700, 800], end_to_end: [0.004, 800], store: [12, 95] };
  for (const width of [1366, 390]) {
    await visit(api, { viewport: { width, height: 844 }, hash: '#/pipeline' }, async (page) => {
      await until('the ledger', async () => (await textOf(page, '#balance')) === '✓ Balanced');
      for (const [stage, words] of [
        ['travel', /11 min to over 13 min/],
        ['end_to_end', /4\.0 ms to over 13 min/],
        ['store', /12 s to 1 min 35 s/],
      ] as const) {
        const figures = `.stage[data-stage="${stage}"] .figures`;
        await until(`${stage}: ${words}`, async () => words.test(await textOf(page, figures)));
        const track = (await page.locator(`.stage[data-stage="${stage}"] .track`).boundingBox())!;
        const bar = (await page.locator(`.stage[data-stage="${stage}"] .track i`).boundingBox())!;
        assert.ok(bar.x >= track.x - 0.5, stage);
        assert.ok(bar.x + bar.width <= track.x + track.width + 0.5, `${stage} runs off`);
        assert.ok(bar.width >= 4, `${stage} cannot be seen`);
        const beyond = page.locator(`.stage[data-stage="${stage}"] .track`);
        assert.equal(await beyond.getAttribute('data-beyond'), 'true');
      }
      const inside = page.locator('.stage[data-stage="queue"] .track');
      assert.equal(await inside.getAttribute('data-beyond'), 'false');
    });
  }
});

test('counts that restart with ingest are shown with their start time', async (t) => {
  const api = await startInstallation(t);
  api.ingest.gaps = {
    devices: 1,
    missing: 0,
    duplicates: 0,
    givenUp: 0,
    unjudged: 0,
    list: [],
    truncated: false,
  };
  await visit(api, { viewport: WIDE }, async (page) => {
    await until('the ledger', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    assert.match(await textOf(page, '#ledger-since'), /^since .*21 Nov.*\d\d:\d\d/);
    assert.match(await textOf(page, '#gaps-sum'), /since .*21 Nov/);
    // The stages show that they are of a recent time window.
    assert.equal(await textOf(page, '#stages-span'), 'in the last minute');
    api.ingest.stageSeconds = 7.9;
    await until('a shorter window', async () => (await textOf(page, '#stages-span')) === 'in the last 7 s');
    const none = [null, null] as const;
    api.ingest.stages = { travel: none, queue: none, store: none, ack: none, end_to_end: none };
    await until('silence', async () => (await textOf(page, '#stages-span')) === 'no reading in the last 7 s');
    assert.match(await textOf(page, '.stage[data-stage="store"] .figures'), /– to –/);
  });
});
