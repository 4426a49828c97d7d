import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { unknownDevice } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { httpMessage } from '../../src/raw-message.ts';
import { registerWithSite } from '../../src/register-with-site.ts';
import { testPipeline } from '../test-pipeline.ts';

test('new devices get the first level of their name as site, and known ones stay as they are', async (context) => {
  const directory = temporaryDirectory('register-with-site');
  const store = await openStore(`sqlite:${join(directory.path, 's.db')}`);
  const { pipeline, quarantine, spool } = testPipeline(store, directory.path, 100, undefined, {
    register: (names) => registerWithSite(store.devices, names),
  });
  context.after(async () => {
    await spool.close();
    await store.close();
    quarantine.close();
    directory.remove();
  });
  await store.devices.put({ ...unknownDevice('site-1/known'), city: 'Faro' });
  const devices = ['site-1/known', 'site-1/new', 'site-2/a/b', 'alone'];
  const body = Buffer.from(JSON.stringify(devices.map((device) => ({ device, metric: 'm', v: 1 }))));
  const { stored } = await pipeline.deliver(httpMessage('application/json', new URLSearchParams(), body));
  assert.equal(stored, 4);
  const listed = await store.devices.list({ limit: 10 });
  assert.deepEqual(
    listed.map(({ name, site, city }) => [name, site, city]),
    [
      ['alone', null, null],
      ['site-1/known', null, 'Faro'],
      ['site-1/new', 'site-1', null],
      ['site-2/a/b', 'site-2', null],
    ],
  );
});
