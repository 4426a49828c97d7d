import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { BACKUP_TOKEN, startBackupPort } from '../backup-port.ts';
import { openDialog, startInstallation, visit } from '../browser.ts';
import { until } from '../harness.ts';

// The backups of the store on the live page.

const test = await testWith('chromium', findChromium);

test('the last backup and the last verified restore are shown, and a backup is made', async (t) => {
  const { url, state } = await startBackupPort(t);
  const api = await startInstallation(t, { backup: url, backupToken: BACKUP_TOKEN });
  await visit(api, { viewport: { width: 390, height: 844 }, hash: '#/pipeline' }, async (page) => {
    const { dialog, has } = await openDialog(page, '#manage-backups', 'Backups');
    await has(/1,200 readings, 4 MiB/);
    await has(/No restore was verified yet/);
    const button = dialog.getByRole('button', { name: 'Back up now' });
    await button.press('Enter');
    await has(/A backup is being made/);
    assert.equal(await button.isDisabled(), true);
    const [first] = state.backups;
    state.backups = [{ ...first!, readings: 1300, verified: '2026-11-22T02:00:00.000Z' }, first!];
    state.total = 2;
    state.isRunning = false;
    await has(/1,300 readings, 4 MiB, verified/);
    await has(/The last verified restore: /);
    await until('the button', async () => !(await button.isDisabled()));
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  });
});

test('without a backup service the dialog explains how one is used', async (t) => {
  const api = await startInstallation(t);
  const options = { hash: '#/pipeline', expect: /Failed to load resource.* 409/ };
  await visit(api, options, async (page) => {
    await page.locator('#manage-backups').click();
    const dialog = page.getByRole('dialog', { name: 'Backups', exact: true });
    await until('the way', async () => /name its address in BACKUP/.test(await dialog.innerText()));
  });
});
