import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { Page } from 'playwright-core';
import { openDialog, PROBE, startInstallation, textOf, visit } from '../browser.ts';
import { until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const TOKEN = 'a-long-and-random-token';
const HASH = `#/sensor/${PROBE}`;

async function openAlerts(page: Page) {
  await until('the title', async () => (await textOf(page, '#sensor-title')) === PROBE);
  const { dialog } = await openDialog(page, '#edit-alerts', 'Alerts');
  return { dialog, said: () => dialog.locator('.said').innerText() };
}

for (const width of [1366, 390]) {
  test(`at ${width} pixels a rule is added with a suggested time, changed, deleted and restored`, async (t) => {
    const api = await startInstallation(t);
    const { rules } = api.ingest.entries;
    await visit(api, { viewport: { width, height: 844 }, hash: HASH }, async (page) => {
      const { dialog, said } = await openAlerts(page);
      await until('the list', async () => /No rule concerns this sensor/.test(await dialog.innerText()));
      await dialog.getByRole('button', { name: 'Add a rule…' }).click();
      const form = page.getByRole('dialog', { name: 'Add a rule' });
      await form.getByLabel('Metric').selectOption('temperature');
      await form.getByLabel('Limit').fill('30.5');
      await form.getByLabel('It ends at').fill('28');
      await form.getByLabel('Severity').selectOption('critical');
      await form.getByLabel('Limit').press('Enter');
      await until('the rule', async () => /temperature above 30.5, critical/.test(await dialog.innerText()));
      const above = { device: PROBE, metric: 'temperature', above: 30.5, clear: 28, severity: 'critical' };
      const name = 'site-1-boiler-probe-1-temperature-above';
      assert.deepEqual([...rules], [[name, above]]);

      await dialog.getByRole('button', { name: 'Add a rule…' }).click();
      await form.getByLabel('Condition').selectOption('quiet');
      // It reports every second, so the least time is suggested.
      await until('the time', async () => (await form.getByLabel('Time, such').inputValue()) === '5m');
      await form.getByRole('button', { name: 'Save' }).click();
      await until('the rule', async () => /no reading for 5m/.test(await dialog.innerText()));
      assert.deepEqual(rules.get('site-1-boiler-probe-1-quiet'), {
        device: PROBE,
        quiet: '5m',
        severity: 'warning',
      });

      await dialog.getByRole('button', { name: `Edit the rule ${name}` }).click();
      const changed = page.getByRole('dialog', { name: 'Edit the rule' });
      await changed.getByLabel('Limit').fill('31');
      await changed.getByRole('button', { name: 'Save' }).click();
      await until('the change', async () => /temperature above 31,/.test(await dialog.innerText()));
      assert.deepEqual(rules.get(name), { ...above, above: 31 });

      await dialog.getByRole('button', { name: `Delete the rule ${name}` }).click();
      await until('the end', async () => /was deleted/.test(await said()));
      assert.equal(rules.has(name), false);
      await dialog.getByRole('button', { name: 'Undo' }).click();
      await until('the rule again', async () => /temperature above 31,/.test(await dialog.innerText()));
      assert.deepEqual(rules.get(name), { ...above, above: 31 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    });
  });
}

test('a receiver is added, tested, and deleted after a question', async (t) => {
  const api = await startInstallation(t);
  const { receivers } = api.ingest.entries;
  await visit(api, { viewport: { width: 390, height: 844 }, hash: HASH }, async (page) => {
    const { dialog, said } = await openAlerts(page);
    await until('the list', async () => /on this page only/.test(await dialog.innerText()));
    await dialog.getByRole('button', { name: 'Add a receiver…' }).click();
    const form = page.getByRole('dialog', { name: 'Add a receiver' });
    await form.getByLabel('Kind').selectOption('telegram');
    await form.getByLabel('Name').fill('family');
    await form.getByLabel('Token of the bot').fill('12:hidden');
    await form.getByLabel('Chat').fill('-100');
    await form.getByRole('button', { name: 'Save' }).click();
    await until('the receiver', async () => /family: telegram/.test(await dialog.innerText()));
    assert.deepEqual([...receivers], [['family', { kind: 'telegram', token: '12:hidden', chat: '-100' }]]);
    assert.doesNotMatch(await page.content(), /12:hidden/);
    await dialog.getByRole('button', { name: 'Send a test message to family' }).click();
    await until('the test', async () => /family accepted the test message/.test(await said()));
    assert.deepEqual(api.ingest.tested, ['family']);
    await dialog.getByRole('button', { name: 'Delete the receiver family' }).click();
    const question = page.getByRole('dialog', { name: 'Delete the receiver family?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(receivers.size, 1);
    await dialog.getByRole('button', { name: 'Delete the receiver family' }).click();
    await question.getByRole('button', { name: 'Delete' }).click();
    await until('the end', async () => /family was deleted/.test(await said()));
    assert.equal(receivers.size, 0);
  });
});

test('without a login the rules are shown, and cannot be changed until the visitor signs in', async (t) => {
  const api = await startInstallation(t, { apiToken: TOKEN });
  api.ingest.entries.rules.set('hot', { metric: 'temperature', above: 30, severity: 'warning' });
  const expect = /Failed to load resource.* 401/;
  await visit(api, { viewport: { width: 1366, height: 844 }, hash: HASH, expect }, async (page) => {
    const { dialog, said } = await openAlerts(page);
    const login = page.getByRole('dialog', { name: 'Sign in' });
    await until('the question', async () => /API key, which the administrator/.test(await login.innerText()));
    await login.getByRole('button', { name: 'Cancel' }).click();
    await until('the reason', async () => (await said()) === 'Sign in to see and change this.');
    assert.match(await dialog.innerText(), /temperature above 30/);
    assert.deepEqual(await dialog.getByRole('button').allInnerTexts(), ['Close']);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await openAlerts(page);
    await login.getByLabel('Key').fill(TOKEN);
    await page.keyboard.press('Enter');
    await until('the rule', () => dialog.getByRole('button', { name: 'Edit the rule hot' }).isVisible());
  });
});
