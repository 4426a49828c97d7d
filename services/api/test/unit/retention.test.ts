import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../harness.ts';

test('rules of retention are read, tried and replaced, unless they have changed since', async (t) => {
  const api = await startApi(t);
  api.ingest.deletable = 12;
  const rules = [{ devices: 'site-3', metrics: ['noise'], keep: 'raw:7d' }];
  const { body: preview } = await api.call('POST', '/v1/retention/preview', { body: { rules } });
  assert.deepEqual([preview.rules[0].readings, preview.isComplete], [12, true]);
  assert.deepEqual(api.ingest.retention, []);
  const put = (body: object) => api.call('PUT', '/v1/retention', { body });
  const { body } = await put({ rules, before: [] });
  assert.deepEqual([body.rules, body.others, body.last, body.unreachable], [rules, 'raw:forever', null, []]);
  assert.equal((await put({ rules: [], before: [] })).status, 409);
  assert.deepEqual((await api.call('GET', '/v1/retention')).body.rules, rules);
  for (const wrong of [
    {},
    { rules: [{}] },
    { rules: [{ keep: '30 days!' }] },
    { rules: [{ keep: 'raw:1d', devices: '../a' }] },
    { rules: [{ keep: 'raw:1d', metrics: [] }] },
    { rules: [{ keep: 'raw:1d', other: 1 }] },
  ])
    assert.equal((await put(wrong)).status, 400, JSON.stringify(wrong));
});
