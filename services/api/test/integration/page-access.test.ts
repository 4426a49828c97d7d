import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { readKeys } from '@tidegauge/service';
import { openDialog, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

// Keys of the API, and passwords of sensors, on the live page.

const test = await testWith('chromium', findChromium);

const PIPELINE = { viewport: { width: 390, height: 844 }, hash: '#/pipeline' };

async function start(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegauge-page-access-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const apiKeys = join(folder, 'keys.json');
  const api = await startApi(t, { config: { apiKeys } });
  return { api, keys: () => readKeys(apiKeys)?.keys ?? [] };
}

test('the first key signs the visitor in, others are made and revoked, and a text is shown once', async (t) => {
  const { api, keys } = await start(t);
  // The page reads again what a visitor without a login may not read any more.
  await visit(api, { ...PIPELINE, expect: /Failed to load resource.* 40[19]/ }, async (page) => {
    const { dialog, has } = await openDialog(page, '#manage-keys', 'Keys');
    await has(/No key\. Everybody/);
    const make = async (name: string, scopes: string) => {
      await dialog.getByRole('button', { name: 'Make a key…' }).click();
      const form = page.getByRole('dialog', { name: 'Make a key' });
      await form.getByLabel('What it is for').fill(name);
      await form.getByLabel('It may').selectOption(scopes);
      await form.getByRole('button', { name: 'Make' }).click();
      return form;
    };
    const refused = await make('grafana', 'read');
    await until('the reason', async () => /scope admin first/.test(await refused.innerText()));
    await refused.getByRole('button', { name: 'Cancel' }).click();
    await make('me', 'admin');
    const shown = page.getByRole('dialog', { name: 'The key me' });
    await until('the key', async () => await shown.isVisible());
    assert.match(await shown.getByLabel('Key').inputValue(), /^tg_[0-9a-f]{10}_[0-9a-f]{48}$/);
    await shown.getByRole('button', { name: 'Done' }).click();
    await has(/me: admin, all sensors/);
    await until('the session', async () => await page.locator('#sign-out').isVisible());
    await make('grafana', 'read');
    const second = page.getByRole('dialog', { name: 'The key grafana' });
    const text = await second.getByLabel('Key').inputValue();
    await page.keyboard.press('Escape');
    await has(/grafana: read, all sensors/);
    assert.equal((await page.content()).includes(text), false);
    await dialog.getByRole('button', { name: 'Revoke the key grafana' }).click();
    const question = page.getByRole('dialog', { name: 'Revoke the key grafana?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(keys().at(-1)!.revoked, null);
    await dialog.getByRole('button', { name: 'Revoke the key grafana' }).click();
    await question.getByRole('button', { name: 'Revoke' }).click();
    await has(/grafana: read, all sensors, revoked/);
    assert.notEqual(keys().at(-1)!.revoked, null);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  });
});

test('a login of a sensor is added, gets a new password, and is removed after a question', async (t) => {
  const { api } = await start(t);
  const passwords = api.ingest.passwords!;
  await visit(api, { ...PIPELINE, expect: /Failed to load resource.* 409/ }, async (page) => {
    const { dialog, has } = await openDialog(page, '#manage-passwords', 'Passwords of sensors');
    await has(/No sensor has a login/);
    const add = async () => {
      await dialog.getByRole('button', { name: 'Add a login…' }).click();
      const form = page.getByRole('dialog', { name: 'Add a login' });
      await form.getByLabel('Name').fill('site-3');
      await page.keyboard.press('Enter');
      return form;
    };
    await add();
    const shown = page.getByRole('dialog', { name: 'The password of site-3' });
    const first = await shown.getByLabel('Password').inputValue();
    assert.equal(passwords.get('site-3'), first);
    await shown.getByRole('button', { name: 'Done' }).click();
    await has(/site-3 can log in/);
    const again = await add();
    await until('the refusal', async () => /Login exists/.test(await again.innerText()));
    await again.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByRole('button', { name: 'New password of site-3' }).click();
    const renewal = page.getByRole('dialog', { name: 'Make a new password of site-3?' });
    await renewal.getByRole('button', { name: 'Make' }).click();
    const second = await shown.getByLabel('Password').inputValue();
    assert.notEqual(second, first);
    assert.equal(passwords.get('site-3'), second);
    await shown.getByRole('button', { name: 'Done' }).click();
    await dialog.getByRole('button', { name: 'Remove the login site-3' }).click();
    const question = page.getByRole('dialog', { name: 'Remove the login site-3?' });
    await question.getByRole('button', { name: 'Remove' }).click();
    await has(/site-3 was removed/);
    assert.equal(passwords.size, 0);
  });
});
