import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AlertDocument } from '@tidegauge/readings';
import { FakeIngest } from '../fake-ingest.ts';
import { startApi } from '../harness.ts';

const TOKEN = 'a-long-and-random-token';

function alert(n: number, more: Partial<AlertDocument> = {}): AlertDocument {
  return {
    id: n.toString(16).padStart(24, '0'),
    rule: 'hot',
    severity: 'warning',
    state: 'active',
    kind: 'above',
    device: `site-${n % 3}/probe-${n}`,
    metric: 'temperature',
    limit: 30,
    value: 31,
    since: '2026-11-21T14:00:00.000000Z',
    raised: '2026-11-21T14:00:00.000000Z',
    ended: null,
    reason: null,
    ...more,
  };
}

test('without rules there are no alerts, and the answer shows that there is no file', async (t) => {
  const api = await startApi(t);
  const { status, body } = await api.call('GET', '/v1/alerts');
  assert.equal(status, 200);
  assert.deepEqual(body, {
    configured: false,
    evaluating: false,
    rules: 0,
    active: { info: 0, warning: 0, critical: 0 },
    alerts: [],
    next: null,
    unreachable: [],
  });
});

test('alerts have pages, and a cursor belongs to its query', async (t) => {
  const api = await startApi(t);
  api.ingest.alerts = [
    ...Array.from({ length: 25 }, (_, n) => alert(n)),
    alert(25, { kind: 'quiet', metric: null, value: null, since: null, severity: 'info' }),
    alert(26, { state: 'ended', ended: '2026-11-21T15:00:00.000000Z', reason: 'cleared' }),
  ];
  const found: string[] = [];
  let cursor = '';
  do {
    const { body } = await api.call('GET', `/v1/alerts?limit=10${cursor}`);
    assert.deepEqual(body.active, { info: 1, warning: 25, critical: 0 });
    found.push(...body.alerts.map(({ id }: AlertDocument) => id));
    cursor = body.next === null ? '' : `&cursor=${encodeURIComponent(body.next)}`;
  } while (cursor !== '');
  assert.deepEqual(
    found,
    api.ingest.alerts.map(({ id }) => id),
  );
  const { body } = await api.call('GET', '/v1/alerts?limit=1&device=site-1');
  assert.equal(body.alerts[0].device, 'site-1/probe-1');
  for (const other of ['', '&device=site-2', '&device=site-1&state=active', '&device=site-1&rule=hot']) {
    const path = `/v1/alerts?cursor=${encodeURIComponent(body.next)}${other}`;
    assert.equal((await api.call('GET', path)).status, 400, other);
  }
  for (const wrong of ['limit=0', 'state=new', 'severity=warn', 'rule=a/b', 'device=/', 'cursor=x']) {
    assert.equal((await api.call('GET', `/v1/alerts?${wrong}`)).status, 400, wrong);
  }
});

test('of several ingest processes the one that evaluates the rules answers, and one that is down is listed', async (t) => {
  const others: string[] = [];
  const api = await startApi(t, { ingest: others });
  const [idle, active] = [await FakeIngest.start(api.store, 'a'), await FakeIngest.start(api.store, 'b')];
  t.after(() => Promise.all([idle.stop(), active.stop()]));
  others.push(idle.url, active.url, 'http://127.0.0.1:1');
  idle.alerts = [];
  idle.isEvaluating = false;
  active.alerts = [alert(1)];
  const { body } = await api.call('GET', '/v1/alerts');
  assert.equal(body.evaluating, true);
  assert.equal(body.alerts.length, 1);
  assert.equal(body.unreachable.length, 1);
  await active.stop();
  const without = (await api.call('GET', '/v1/alerts')).body;
  assert.deepEqual([without.configured, without.evaluating, without.alerts], [true, false, []]);
  await idle.stop();
  assert.equal((await api.call('GET', '/v1/alerts')).status, 503);
});

test('rules are added, replaced, listed and deleted', async (t) => {
  const api = await startApi(t);
  const rule = {
    device: 'site-3',
    metric: 'temperature',
    above: 80,
    clear: 75,
    for: '5m',
    severity: 'critical',
  };
  const put = (body: object) => api.call('PUT', '/v1/alerts/rules/boiler-hot', { body });
  for (const replaced of [false, true]) {
    const { status, body } = await put(rule);
    assert.equal(status, 200);
    assert.deepEqual(body, { instances: [{ instance: 'ingest-1', replaced }], unreachable: [] });
  }
  const { body } = await api.call('GET', '/v1/alerts/rules');
  assert.deepEqual(body, { rules: [{ name: 'boiler-hot', ...rule }], trouble: null, unreachable: [] });
  for (const [wrong, path] of [
    [{ ...rule, above: 'x' }, '/body/above'],
    [{ ...rule, for: '5' }, '/body/for'],
    [{ ...rule, name: 'other' }, '/body/name'],
  ] as const)
    assert.equal((await put(wrong)).body.errors[0].path, path);
  assert.equal((await api.call('DELETE', '/v1/alerts/rules/boiler-hot')).status, 200);
  assert.equal((await api.call('DELETE', '/v1/alerts/rules/boiler-hot')).status, 404);
  assert.equal((await api.call('DELETE', '/v1/alerts/rules/a%20b')).status, 400);
});

test('receivers are added, tested and deleted, and no answer has their secrets', async (t) => {
  const api = await startApi(t, { config: { apiToken: TOKEN } });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const call = (method: string, path: string, sent?: object) =>
    api.call(method, `/v1/${path}`, { body: sent, headers });
  const entry = { kind: 'ntfy', url: 'https://ntfy.sh/a-topic', token: 'tk_hidden' };
  const added = await call('PUT', 'alerts/receivers/phone', entry);
  assert.equal(added.status, 200);
  assert.deepEqual(api.ingest.entries.receivers.get('phone'), entry);
  const { body: listed } = await call('GET', 'alerts/receivers');
  assert.deepEqual([listed.receivers[0].name, listed.receivers[0].kind], ['phone', 'ntfy']);
  assert.equal((await call('POST', 'alerts/receivers/phone/test')).status, 204);
  assert.deepEqual(api.ingest.tested, ['phone']);
  assert.equal((await call('POST', 'alerts/receivers/nobody/test')).status, 404);
  assert.equal((await call('PUT', 'alerts/receivers/a', { kind: 'sms' })).status, 400);
  assert.equal((await call('DELETE', 'alerts/receivers/phone')).status, 200);
  const { body: audit } = await call('GET', 'audit');
  const done = audit.entries.filter(({ outcome }: { outcome: string }) => outcome === 'done');
  assert.deepEqual(
    done.map(({ action }: { action: string }) => action),
    ['deleteAlertReceiver', 'testAlertReceiver', 'putAlertReceiver'],
  );
  assert.doesNotMatch(JSON.stringify([added.body, listed, audit]), /tk_hidden|a-topic/);
});
