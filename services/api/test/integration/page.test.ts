import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { ATTACK, fresh, inkIn, PROBE, SILO, startInstallation, textOf, visit } from '../browser.ts';
import { until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

test('the page lists the sensors by site, with values and ages, and follows them live', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    const probe = page.locator(`.row[data-name="${PROBE}"]`);
    await until('the value of the probe', async () => /temperature \d+\.\d+/.test(await probe.innerText()));
    assert.deepEqual(await page.locator('.sensor-list h3').allInnerTexts(), [
      'site-1\n1 sensor',
      'site-2\n1 sensor',
    ]);
    await until('the feed', () => api.ingest.listeners === 1);
    await until('the state', async () => (await textOf(page, '#state')) === 'Live');

    await api.ingest.commit([fresh(PROBE, 'temperature', 77.25), fresh('site-9/new/one', 'flow', 3)]);
    await until('the live value', async () => (await probe.innerText()).includes('77.25'));
    assert.match(await probe.innerText(), /now/);
    await until('the new sensor', async () => (await page.locator('.row').count()) === 3);
    assert.equal(await textOf(page, '#sensor-count'), '3');
  });
});

test('the charts of the first sensor draw history and grow with live readings', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    await until('the line', async () => (await inkIn(page, 'temperature')) > 100);
    assert.equal(await textOf(page, '#sensor-title'), PROBE);
    // Measured quantities come before the state of the board.
    assert.deepEqual(await page.locator('.chart h3').allInnerTexts(), ['temperature', 'battery']);
    const label = page.locator('.chart[data-metric="temperature"] .plot');
    await until('the feed', () => api.ingest.listeners === 1);
    await api.ingest.commit([fresh(PROBE, 'temperature', 55.5), fresh(PROBE, 'humidity', 40)]);
    await until('the live point', async () =>
      /to 55\.50, now 55\.50/.test((await label.getAttribute('aria-label')) ?? ''),
    );
    await until('the new metric', async () => (await page.locator('.chart').count()) === 3);

    await page.getByRole('button', { name: '1 h', exact: true }).click();
    await until('the hour', async () =>
      /the last hour, from/.test((await label.getAttribute('aria-label')) ?? ''),
    );
    await page.reload();
    await until('the hour again', async () =>
      /the last hour, from/.test((await label.getAttribute('aria-label')) ?? ''),
    );
    await page.locator(`.row[data-name="${SILO}"]`).click();
    await until('the other sensor', async () => (await textOf(page, '#sensor-title')) === SILO);
    await until('its line', async () => (await inkIn(page, 'level')) > 100);
  });
});

test('the ledger shows whether it is balanced', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    await until('the balance', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    const shown = page.locator('#equation > div:visible');
    const figures = (await shown.allInnerTexts()).join(' ').replace(/\s+/g, ' ');
    assert.equal(figures, 'received 361 stored 360 duplicate 0 quarantined 1 spooled 0 in flight 0');
    assert.equal(await textOf(page, '#written'), '', 'too few readings for a figure');
    for (const count of ['stored', 'received'] as const) api.ingest.counts[count] += 3640;
    api.ingest.writtenBytes = 44_000;
    await until('a figure', async () =>
      /^Ingest wrote 11 bytes to disk per stored reading$/.test(await textOf(page, '#written')),
    );
    assert.match(await textOf(page, '.stage[data-stage="end_to_end"]'), /1\.9 ms to 12 ms/);
    api.ingest.trouble = 'database or disk is full: free some space';
    await until('the trouble', async () => (await textOf(page, '#balance')) === '✗ Not all is stored');
    assert.equal(await textOf(page, '#state'), 'Not all stored');
    assert.match(await textOf(page, '#banner'), /cannot be stored wait\. Database or disk is full: free/);
    api.ingest.trouble = null;
    await until('the end of it', async () => (await textOf(page, '#state')) === 'Live');
    assert.equal(await textOf(page, '#balance'), '✓ Balanced');
    api.ingest.counts.received += 3;
    await until('the imbalance', async () => (await textOf(page, '#balance')).includes('Does not add up'));
    api.ingest.connected = false;
    await until('the banner', async () => /not connected to the broker/.test(await textOf(page, '#banner')));
  });
});

test('quarantine shows the reason and the payload, and data from a sensor stay text', async (t) => {
  const api = await startInstallation(t);
  await api.store.devices.put({
    name: 'x',
    site: ATTACK,
    city: null,
    kind: ATTACK,
    year: null,
    attributes: {},
  });
  await api.ingest.commit([fresh('x', 'note', ATTACK)]);
  await visit(api, { hash: '#/sensor/x' }, async (page) => {
    await until('the item', async () => (await page.locator('#quarantine li').count()) === 1);
    const item = page.locator('#quarantine li');
    assert.match(await item.innerText(), /malformed/);
    await item.locator('summary').click();
    await until('the payload', async () => (await item.locator('.payload').innerText()) === ATTACK);
    await until('the text value', async () => (await textOf(page, '.chart .reading')).includes(ATTACK));
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.evaluate('window.attacked'), undefined);
  });
});

test('the banner reports a lost feed, and disappears when the feed is back', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    await until('the state', async () => (await textOf(page, '#state')) === 'Live');
    assert.equal(await page.locator('#banner').isVisible(), false);
    await page.context().setOffline(true);
    api.live.close();
    await until('the cut', async () => (await textOf(page, '#state')) === 'Reconnecting');
    assert.equal(await page.locator('#banner').isVisible(), true);
    await page.context().setOffline(false);
    await until('the feed to be back', async () => (await textOf(page, '#state')) === 'Live');
    await until('the banner to go', async () => !(await page.locator('#banner').isVisible()));
  });
});

test('on a phone one view at a time fits 390 pixels, and Back returns to the list', async (t) => {
  const api = await startInstallation(t);
  await api.ingest.commit([fresh(`long/${'name-'.repeat(30)}/x`, 'm'.repeat(60), 'text '.repeat(200))]);
  await visit(api, { viewport: { width: 390, height: 844 } }, async (page) => {
    const fits = async (view: string) => {
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, view);
    };
    await until('the list', async () => (await page.locator('.row').count()) === 3);
    await fits('sensors');
    assert.equal(await page.locator('#charts').isVisible(), false);
    for (const row of await page.locator('.row').all()) {
      const name = await row.getAttribute('data-name');
      await row.click();
      await until('the sensor', async () => (await textOf(page, '#sensor-title')) === name);
      await until('its chart', async () => (await page.locator('.chart').count()) > 0);
      await fits(name!);
      await page.getByRole('link', { name: 'Back to the sensors' }).click();
      await until('the list alone', async () => !(await page.locator('#charts').isVisible()));
    }
    await page.getByRole('link', { name: 'Pipeline' }).click();
    // The text of a hidden view can be read too, so it does not show that the view is open.
    await until('the view', () => page.locator('#balance').isVisible());
    await until('the ledger', async () => (await textOf(page, '#balance')) === '✓ Balanced');
    assert.equal(
      await page.locator('#equation > div:visible').count(),
      6,
      'filtered is left out without a filter',
    );
    await fits('pipeline');
  });
});

test('a sensor is found and its charts are opened with the keyboard only', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    await until('the list', async () => (await page.locator('.row').count()) === 2);
    await page.locator('#search').focus();
    await page.keyboard.type('silo');
    await until('the match alone', async () => (await page.locator('.row').count()) === 1);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await until('its charts', async () => (await textOf(page, '#sensor-title')) === SILO);
    await page.keyboard.press('ArrowUp');
    assert.equal(await page.evaluate('document.activeElement.id'), 'search');
  });
});

test('dark and light follow the system, and text has enough contrast', async (t) => {
  const api = await startInstallation(t);
  for (const colorScheme of ['light', 'dark'] as const) {
    await visit(api, { colorScheme }, async (page) => {
      await until('the balance', async () => (await textOf(page, '#balance')) === '✓ Balanced');
      const ground = luminance(await colourOf(page, 'body', 'background-color'));
      assert.ok(colorScheme === 'dark' ? ground < 0.05 : ground > 0.8, `${colorScheme} ground ${ground}`);
      const card = luminance(await colourOf(page, '.card', 'background-color'));
      // WCAG 2.2 success criterion 1.4.3.
      for (const selector of [
        '#ledger-title',
        '#equation dt',
        '#balance',
        '.stage small',
        '.reason',
        '.rows .detail',
      ]) {
        const text = luminance(await colourOf(page, selector, 'color'));
        const contrast = (Math.max(text, card) + 0.05) / (Math.min(text, card) + 0.05);
        assert.ok(contrast >= 4.5, `${selector} in ${colorScheme}: ${contrast.toFixed(2)}`);
      }
    });
  }
});

async function colourOf(page: Page, selector: string, property: string): Promise<number[]> {
  const script = `getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`;
  return ((await page.evaluate(script)) as string).match(/\d+/g)!.slice(0, 3).map(Number);
}

/** Relative luminance, WCAG 2.2. */
function luminance(rgb: readonly number[]): number {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

test('the layout is stable while the page loads, and many readings do not repaint it more often', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    await page.evaluate(`
      globalThis.shift = 0; globalThis.paints = 0;
      new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value; })
        .observe({ type: 'layout-shift', buffered: true });
      new MutationObserver((changes) => { if (changes.length > 0) paints++; })
        .observe(document.getElementById('sensor-list'), { subtree: true, childList: true, characterData: true });`);
    await until('the chart', async () => (await inkIn(page, 'temperature')) > 100);
    await until('the feed', () => api.ingest.listeners === 1);
    await page.evaluate('globalThis.paints = 0');
    const started = performance.now();
    for (let n = 0; n < 100; n++) await api.ingest.commit([fresh(PROBE, 'temperature', n)]);
    await until('the last value', async () =>
      (await textOf(page, `.row[data-name="${PROBE}"]`)).includes('temperature 99'),
    );
    const seconds = (performance.now() - started) / 1000;
    const paints = (await page.evaluate('paints')) as number;
    // Four paints a second, one of which is followed by the ages.
    assert.ok(paints <= 6 * seconds + 3, `${paints} repaints in ${seconds.toFixed(1)} s`);
    const shift = (await page.evaluate('shift')) as number;
    assert.ok(shift < 0.02, `layout shifted by ${shift}`);
  });
});

test('sites with a position are on a map with north up, and link to their sensors', async (t) => {
  const api = await startInstallation(t);
  await visit(api, {}, async (page) => {
    await until('the sensors', async () => (await page.locator('.row').count()) === 2);
    assert.equal(await page.locator('#map-card').isHidden(), true);
  });
  const places = { [PROBE]: { lat: 38.7, lon: -9.1 }, [SILO]: { lat: '41.15', lon: '-8.6' } };
  for (const [name, attributes] of Object.entries(places)) {
    const response = await fetch(`${api.url}/v1/devices/${name}`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ site: name.split('/')[0], attributes }),
    });
    assert.ok(response.ok);
  }
  await visit(api, {}, async (page) => {
    const marks = page.locator('#map a');
    await until('the map', async () => (await marks.count()) === 2);
    assert.deepEqual(await page.locator('#map text').allTextContents(), ['site-1', 'site-2']);
    const [south, north] = await Promise.all(
      [0, 1].map(async (index) => (await marks.nth(index).locator('circle').boundingBox())!),
    );
    assert.ok(north!.y < south!.y && north!.x > south!.x);
    await marks.nth(1).click();
    await until('the sensor of the place', async () => (await textOf(page, '#sensor-title')) === SILO);
  });
});
