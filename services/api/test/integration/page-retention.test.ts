import assert from 'node:assert/strict';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import { openDialog, startInstallation, visit } from '../browser.ts';
import { until } from '../harness.ts';

// The rules of retention on the live page.

const test = await testWith('chromium', findChromium);

for (const width of [1366, 390]) {
  test(`at ${width} pixels a rule is added after its dry run, changed, removed and restored`, async (t) => {
    const api = await startInstallation(t);
    api.ingest.deletable = 1200;
    const options = { viewport: { width, height: 844 }, hash: '#/pipeline' };
    await visit(api, options, async (page) => {
      const { dialog, has } = await openDialog(page, '#manage-retention', 'Retention');
      await has(/No rule\./);
      const add = async (sensor: string, keep: string) => {
        await dialog.getByRole('button', { name: 'Add a rule…' }).click();
        const form = page.getByRole('dialog', { name: 'Add a rule' });
        await form.getByLabel('Sensor, with').fill(sensor);
        await form.getByLabel('Keep').fill(keep);
        await page.keyboard.press('Enter');
      };
      const question = page.getByRole('dialog', { name: 'Use these rules?' });
      await add('', '30d');
      await until('the question', async () => /delete 1,200 readings/.test(await question.innerText()));
      await question.getByRole('button', { name: 'Cancel' }).click();
      assert.deepEqual(api.ingest.retention, []);
      await add('', '30d');
      await question.getByRole('button', { name: 'Delete 1,200 readings' }).click();
      await has(/all sensors: raw:30d/);
      // It would never be used after the rule of all sensors.
      await add('site-3', 'raw:1y');
      await question.getByRole('button', { name: 'Delete' }).click();
      await has(/site-3: raw:1y/);
      const both = [{ devices: 'site-3', keep: 'raw:1y' }, { keep: 'raw:30d' }];
      assert.deepEqual(api.ingest.retention, both);
      await dialog.getByRole('button', { name: 'Remove the rule of all sensors' }).click();
      await question.getByRole('button', { name: 'Delete' }).click();
      await until('the removal', () => api.ingest.retention.length === 1);
      await dialog.getByRole('button', { name: 'Undo' }).click();
      await has(/the earlier ones again/);
      assert.deepEqual(api.ingest.retention, both);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    });
  });
}
