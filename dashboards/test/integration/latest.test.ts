import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { latest } from '../../src/dashboards/latest.ts';
import type { OpenTsdbTarget } from '../../src/opentsdb.ts';
import { panelsOf } from '../../src/queries.ts';

const NOON = Date.UTC(2026, 10, 21, 12);
const TOKEN = 'the-token-of-grafana';

const reading = (device: string, metric: string, minute: number, value: number | string): Reading => ({
  device,
  metric,
  time: NOON * 1000 + minute * 60e6,
  value,
  received: NOON * 1000,
  boot: null,
  seq: null,
  quality: 'ok',
});

const READINGS = [
  reading('site-1/boiler', 'temperature', 1, 20),
  reading('site-1/boiler', 'temperature', 3, 21.5),
  reading('site-1/boiler', 'temperature', 2, 19),
  reading('site-1/boiler', 'state', 2, 'open'),
  reading('site-2/pump', 'temperature', 4, 5),
  reading('site-2/pump', 'temperature', 90, 6),
  // Positions, in the names of OwnTracks and of Meshtastic.
  reading('jane/phone', 'lat', 1, 48.8),
  reading('jane/phone', 'lat', 2, 48.85833),
  reading('jane/phone', 'lon', 2, 2.29513),
  reading('2130636288', 'latitude', 3, 20.8759687),
  reading('2130636288', 'longitude', 3, -156.5037665),
];

interface Choice {
  readonly metric: string;
  readonly device: string;
}

interface Answer {
  readonly tags: Readonly<Record<string, string>>;
  readonly dps: Readonly<Record<string, number>>;
}

/** The texts of variables, as Grafana inserts them: several values have | between them. */
function filledIn(text: string, { metric, device }: Choice): string {
  return text.replaceAll('$metric', metric).replaceAll('$device', device);
}

function targetsOf(title: string): readonly OpenTsdbTarget[] {
  const panel = panelsOf(latest).find((one) => one.title === title);
  const targets = (panel?.targets ?? []) as unknown as readonly OpenTsdbTarget[];
  assert.ok(targets.length > 0, `no panel ${title} with a query`);
  return targets;
}

/** The request of Grafana 11.6 for a query, an hour from noon in intervals of 30 minutes: its `convertTargetToQuery`. */
function requestOf(target: OpenTsdbTarget, choice: Choice): object {
  const tags = Object.entries(target.tags).map(([key, text]) => [key, filledIn(text, choice)]);
  const query = {
    metric: filledIn(target.metric, choice),
    aggregator: target.aggregator,
    downsample: `30m-${target.downsampleAggregator}`,
    tags: Object.fromEntries(tags),
  };
  const times = { start: NOON, end: NOON + 3_599_999 };
  return { ...times, queries: [query], msResolution: true, globalAnnotations: true, showQuery: true };
}

async function startApi(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegauge-latest-'));
  const url = `sqlite:${join(folder, 'test.db')}`;
  const store = await openStore(url);
  await store.devices.register([...new Set(READINGS.map(({ device }) => device)), 'site-3/lost']);
  await store.readings.write(READINGS);
  await store.close();
  const api = await startApiProcess({
    STORE: url,
    INGEST: 'http://127.0.0.1:1',
    HTTP_LISTEN: '0.0.0.0',
    API_TOKEN: 'another-token-of-the-api',
    READ_TOKEN: TOKEN,
  });
  context.after(async () => {
    await api.stop();
    await rm(folder, { recursive: true });
  });
  return api.url.replace('0.0.0.0', '127.0.0.1');
}

test('Latest shows the readings of a store through the API, with a token that can only read', async (context) => {
  const url = await startApi(context);
  const headers = {
    Authorization: `Basic ${Buffer.from(`grafana:${TOKEN}`).toString('base64')}`,
    'Content-Type': 'application/json',
  };
  const send = async (path: string, body?: object) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(url + path, { headers, ...init });
    assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
    return response.json();
  };
  const panel = async (title: string, choice: Choice) => {
    const [target] = targetsOf(title);
    const answers = (await send('/api/query', requestOf(target!, choice))) as readonly Answer[];
    return answers.map(({ tags, dps }) => [tags.device, Object.values(dps)]);
  };

  const all = { metric: 'temperature', device: '*' };
  // The table has all devices, whatever is chosen for the chart.
  assert.deepEqual(await panel('Latest values', { ...all, device: 'site-1/boiler' }), [
    ['site-1/boiler', [21.5]],
    ['site-2/pump', [5]],
  ]);
  // Grafana makes rows of two series or more. A single device has two, because the panel has two queries.
  assert.deepEqual(
    targetsOf('Latest values').map(({ refId }) => refId),
    ['A', 'B'],
  );
  assert.deepEqual(await panel('Values', all), [
    ['site-1/boiler', [20.166666666666668]],
    ['site-2/pump', [5]],
  ]);
  assert.equal((await panel('Values', { ...all, device: 'site-1/boiler' })).length, 1);
  assert.equal((await panel('Values', { ...all, device: 'site-1/boiler|site-2/pump' })).length, 2);
  assert.deepEqual(await panel('Values', { ...all, metric: 'state' }), []);

  // The map has the newest position of each device, whatever is chosen.
  const positions: unknown[] = [];
  for (const target of targetsOf('Positions')) {
    const answers = (await send('/api/query', requestOf(target, all))) as readonly Answer[];
    for (const { tags, dps } of answers)
      positions.push([target.alias.replace('$tag_device', tags.device!), Object.values(dps).at(-1)]);
  }
  assert.deepEqual(positions, [
    ['latitude jane/phone', 48.85833],
    ['latitude 2130636288', 20.8759687],
    ['longitude jane/phone', 2.29513],
    ['longitude 2130636288', -156.5037665],
  ]);

  // The choices of the variables.
  const queries = (latest.templating.list ?? []).map(({ name, query }) => [name, query]);
  assert.deepEqual(queries, [
    ['datasource', 'opentsdb'],
    ['metric', 'metrics()'],
    ['device', 'tag_values(*, device)'],
  ]);
  assert.deepEqual(await send('/api/suggest?type=metrics&q=&max=1000'), [
    ...['lat', 'latitude', 'lon', 'longitude', 'state', 'temperature'],
  ]);
  const lookup = `/api/search/lookup?m=${encodeURIComponent('*{device=*}')}&limit=1000`;
  const { results } = (await send(lookup)) as { results: readonly Answer[] };
  // One for each series. Grafana removes repeated values.
  assert.deepEqual(
    [...new Set(results.map(({ tags }) => tags.device))],
    ['2130636288', 'jane/phone', 'site-1/boiler', 'site-2/pump'],
  );

  const refused = await fetch(`${url}/v1/devices/site-1/boiler`, { method: 'DELETE', headers });
  assert.equal(refused.status, 403);
});
