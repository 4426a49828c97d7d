import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPrometheus } from '@tidegauge/lab/prometheus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { freePort, waitUntil } from '@tidegauge/process';
import { now } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { prometheusServer } from '../../src/sources/prometheus-remote.ts';
import { PROMETHEUS_DEVICE, PROMETHEUS_METRIC, prometheusNames } from '../../src/sources/prometheus-text.ts';
import { imported, readingsOf } from '../imports.ts';

const port = await freePort();
const started = await startOrSkip('prometheus', () =>
  startPrometheus({ targets: { self: [`127.0.0.1:${port}`] }, port, scrapeMs: 200 }),
);
const skip = 'skip' in started ? started.skip : false;
// The test is skipped if there is no server.
const prometheus = ('server' in started ? started.server : null)!;
after(() => prometheus?.stop());

const MATCH = 'go_goroutines|prometheus_build_info';

test('reads the samples that Prometheus returns to queries', { skip, timeout: 60_000 }, async () => {
  const from = now() - 60_000_000;
  const isScraped = async () =>
    ((await prometheus.query('count_over_time(go_goroutines[1m])'))[0]?.value ?? 0) > 5;
  await waitUntil('some scrapes', isScraped, { timeoutMs: 30_000 });
  const until = now();
  const names = prometheusNames(PROMETHEUS_DEVICE, PROMETHEUS_METRIC);
  const store = await openStore('sqlite::memory:');
  const { counts } = await imported(store, (received) =>
    prometheusServer(prometheus.url, { ...names, from, until, match: MATCH }, received),
  );
  const query = new URLSearchParams({ query: `{__name__=~"${MATCH}"}[2m]`, time: String(until / 1e6) });
  const answer = (await (await fetch(`${prometheus.url}/api/v1/query?${query}`)).json()) as {
    readonly data: {
      readonly result: readonly { readonly values: readonly (readonly [number, string])[] }[];
    };
  };
  const expected = answer.data.result.flatMap(({ values }) =>
    values.map(([time, value]) => `${Math.round(time * 1000)} ${Number(value)}`),
  );
  const found = (await readingsOf(store)).map(({ time, value }) => `${time / 1000} ${value}`);
  assert.ok(counts.written > 5);
  assert.deepEqual(found.toSorted(), expected.toSorted());
  await store.close();
});
