import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@tidegauge/lab/chromium';
import { testWith } from '@tidegauge/lab/unavailable';
import type { CauseDocument } from '@tidegauge/readings';
import { changeKeys, newKey, withKey } from '@tidegauge/service';
import { ATTACK, textOf, visit } from '../browser.ts';
import { startApi, until } from '../harness.ts';

const test = await testWith('chromium', findChromium);

const WIDE = { width: 1366, height: 900 };
const TOKEN = 'a-long-and-random-token';

function cause(id: string, more: Partial<CauseDocument>): CauseDocument {
  return {
    reason: 'unknown_topic',
    route: null,
    topic: 'zigbee2mqtt/{device}',
    count: 3,
    last: {
      id,
      topic: 'zigbee2mqtt/lamp',
      detail: 'it matches no route',
      received: '2026-11-21T14:00:00.000000Z',
    },
    fix: 'add a route: - preset: zigbee2mqtt',
    proposals: [{ preset: 'zigbee2mqtt' }, { topic: 'zigbee2mqtt/{device}' }],
    ...more,
  };
}

test('an administrator sees why messages are in quarantine, explains one, and adds a route', async (t) => {
  const api = await startApi(t);
  api.ingest.refuse('zigbee2mqtt/lamp', 'unknown_topic', 'it matches no route', '{"state":"ON"}');
  api.ingest.causes = [
    cause('ingest-1.1', {}),
    cause('ingest-1.1', {
      reason: 'malformed',
      route: 'default',
      topic: 'sensors/{device}',
      proposals: [],
      fix: null,
    }),
  ];
  api.ingest.explanation = {
    topic: 'zigbee2mqtt/lamp',
    route: null,
    device: null,
    metric: null,
    total: 0,
    readings: [],
    ignored: [],
    error: { reason: 'unknown_topic', message: 'it matches no route', position: null },
    fix: 'add a route: - preset: zigbee2mqtt',
    proposals: [{ preset: 'zigbee2mqtt' }],
  };
  for (const width of [1366, 390]) {
    api.ingest.routes.length = 0;
    api.ingest.explained.length = 0;
    await visit(api, { viewport: { width, height: 900 }, hash: '#/pipeline' }, async (page) => {
      const unknown = page.locator('#unknown-topics li');
      await until(
        'the causes',
        async () => (await unknown.count()) === 1 && (await page.locator('#causes details').count()) === 1,
      );
      assert.match(await textOf(page, '#causes'), /malformed.*the sender must change/s);
      await unknown.locator('summary').click();
      await unknown.getByRole('button', { name: /^Explain the newest/ }).click();
      await until('the explanation', async () => /matches no route/.test(await textOf(page, '#explained')));
      assert.deepEqual(api.ingest.explained[0], {
        topic: 'zigbee2mqtt/lamp',
        payload: '{"state":"ON"}',
        encoding: 'text',
      });
      await page
        .locator('#explained')
        .getByRole('button', { name: 'Try it with - preset: zigbee2mqtt' })
        .click();
      await until('the trial', () => api.ingest.explained.length === 2);
      assert.deepEqual((api.ingest.explained[1] as { route: unknown }).route, { preset: 'zigbee2mqtt' });

      await unknown.getByRole('button', { name: 'Add the route - preset: zigbee2mqtt' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add this route?' });
      assert.match(await dialog.innerText(), /- preset: zigbee2mqtt is added at the end of the routes file/);
      await dialog.getByRole('button', { name: 'Add' }).click();
      await until('the result', async () => /route was added/.test(await textOf(page, '#causes-said')));
      assert.deepEqual(api.ingest.routes, [{ route: { preset: 'zigbee2mqtt' } }]);
      assert.equal(await unknown.locator('details').getAttribute('open'), '', 'it stays open');
      await page
        .locator('#explained')
        .getByRole('button', { name: /^Add the route/ })
        .click();
      await dialog.getByRole('button', { name: 'Add' }).click();
      await until('the second result', async () =>
        /route was added/.test(await textOf(page, '#explain-said')),
      );
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    });
  }
});

test('a refusal of ingest is shown, and nothing is added without a confirmation', async (t) => {
  const api = await startApi(t);
  api.ingest.refuse('zigbee2mqtt/lamp', 'unknown_topic', 'it matches no route', 'x');
  api.ingest.causes = [cause('ingest-1.1', {})];
  api.ingest.intercept = (request, response) => {
    if (request.url !== '/routes') return false;
    const detail = 'the routes file routes.yml cannot be written: EROFS: it is mounted read-only.';
    response.writeHead(409).end(JSON.stringify({ title: 'Routes file not writable', detail }));
    return true;
  };
  await visit(api, { viewport: WIDE, expect: /Failed to load resource.* 409/ }, async (page) => {
    const row = page.locator('#unknown-topics li');
    await until('the cause', async () => (await row.locator('summary').count()) === 1);
    await row.locator('summary').click();
    const add = row.getByRole('button', { name: 'Add the route - topic: zigbee2mqtt/{device}' });
    await add.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await until('the question to go', async () => (await page.locator('dialog').count()) === 0);
    assert.equal(api.ingest.routes.length, 0);
    await add.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await until('the refusal', async () => /cannot be written/.test(await textOf(page, '#causes-said')));
  });
});

test('topics, payloads and explanations that are markup stay text', async (t) => {
  const api = await startApi(t);
  api.ingest.refuse(ATTACK, 'unknown_topic', ATTACK, `\u0007${ATTACK}`);
  const proposals = [{ topic: `${ATTACK}/{device}` }];
  api.ingest.causes = [
    cause('ingest-1.1', {
      topic: ATTACK,
      fix: ATTACK,
      proposals,
      last: { id: 'ingest-1.1', topic: ATTACK, detail: ATTACK, received: '2026-11-21T14:00:00.000000Z' },
    }),
    cause('ingest-1.1', { reason: ATTACK, route: ATTACK, topic: '"><script>attacked=1</script>' }),
  ];
  const time = '2026-11-21T14:00:00.000000Z';
  api.ingest.explanation = {
    topic: ATTACK,
    route: { name: ATTACK, topic: ATTACK, format: ATTACK, preset: ATTACK },
    device: ATTACK,
    metric: ATTACK,
    total: 1,
    readings: [
      { device: ATTACK, metric: ATTACK, time, value: ATTACK, received: time, quality: 'ok', unit: ATTACK },
    ],
    ignored: [{ field: ATTACK, reason: ATTACK }],
    error: { reason: ATTACK, message: ATTACK, position: ATTACK },
    fix: ATTACK,
    proposals,
  };
  await visit(api, { viewport: WIDE }, async (page) => {
    const row = page.locator('#unknown-topics li');
    await until('the cause', async () => (await row.locator('summary').count()) === 1);
    await row.locator('summary').click();
    await row.getByRole('button', { name: /^Explain the newest/ }).click();
    await until('the explanation', async () => (await page.locator('#explained td').count()) === 5);
    assert.equal(
      await page.locator('#explain-encoding').inputValue(),
      'base64',
      'a text field would change it',
    );
    const { payload } = api.ingest.explained[0] as { payload: string };
    assert.equal(Buffer.from(payload, 'base64').toString(), `\u0007${ATTACK}`);
    await row.getByRole('button', { name: /^Add the route/ }).click();
    await until('the question', async () => (await textOf(page, 'dialog')).includes(ATTACK));
    assert.ok((await textOf(page, '#explained')).includes(ATTACK));
    assert.equal(await page.locator('main img, main script, dialog img, dialog script').count(), 0);
    assert.equal(await page.evaluate('window.attacked'), undefined);
  });
});

test('who is no administrator sees neither causes nor the form, and they appear after a sign-in', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-page-explain-'));
  t.after(() => rm(directory, { recursive: true }));
  const apiKeys = join(directory, 'keys.json');
  const made = newKey(
    { name: 'reader', scopes: ['read', 'write'], devices: null, expires: null },
    Date.now(),
  );
  changeKeys(apiKeys, (keys) => withKey(keys, made.key, Date.now()));
  const api = await startApi(t, { config: { apiToken: TOKEN, apiKeys, openReads: false } });
  api.ingest.refuse('zigbee2mqtt/lamp', 'unknown_topic', 'it matches no route', 'x');
  api.ingest.causes = [cause('ingest-1.1', {})];
  const asked: string[] = [];
  api.ingest.intercept = ({ url }) => {
    asked.push(url!);
    return false;
  };
  for (const [key, isAdmin] of [
    [made.text, false],
    [TOKEN, true],
  ] as const) {
    await visit(api, { viewport: WIDE, expect: /Failed to load resource.* 401/ }, async (page) => {
      const dialog = page.getByRole('dialog', { name: 'Sign in' });
      await dialog.getByLabel('Key').fill(key);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await until(
        'the quarantine',
        async () => (await page.locator('#quarantine li[data-id]').count()) === 1,
      );
      if (isAdmin)
        await until('the cause', async () => (await page.locator('#unknown-topics summary').count()) === 1);
      assert.equal(await page.locator('.explain').isVisible(), isAdmin);
      assert.equal(asked.includes('/quarantine/causes'), isAdmin);
    });
  }
});
