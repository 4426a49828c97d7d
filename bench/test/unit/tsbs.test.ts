import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  compareFigures,
  influxFigures,
  openTsdbBody,
  openTsdbFigures,
  parseQuery,
  queriesIn,
} from '../../src/tsbs/queries.ts';

// Queries as TSBS's generator writes them.
const TOGETHER =
  "SELECT max(usage_user), max(usage_system) from cpu where (hostname = 'host_3' or hostname = 'host_9') and time >= '2016-01-01T02:16:22Z' and time < '2016-01-01T02:18:22Z' group by time(1m)";
const EACH =
  "SELECT mean(usage_user) from cpu where time >= '2016-01-01T00:10:00Z' and time < '2016-01-01T02:10:00Z' group by time(1h),hostname";
const HOUR = Date.UTC(2016, 0, 1, 1);

test('queries of TSBS are found in its binary output', () => {
  const path = (influxQl: string) => `\x04/query?${new URLSearchParams({ q: influxQl })}\x02\xff`;
  const found = queriesIn(`\x1f\uFFFDHTTP${path(TOGETHER)}\x00${path(EACH)}`);
  assert.deepEqual(
    found.map(({ influxQl }) => influxQl),
    [TOGETHER, EACH],
  );
  assert.throws(() => queriesIn('nothing'), /no queries/);
});

test('queries of TSBS become requests of OpenTSDB', () => {
  const together = parseQuery(TOGETHER);
  assert.deepEqual(together.metrics, ['usage_user', 'usage_system']);
  assert.deepEqual(openTsdbBody(together), {
    start: Date.UTC(2016, 0, 1, 2, 16, 22),
    end: Date.UTC(2016, 0, 1, 2, 18, 22) - 1,
    msResolution: true,
    queries: ['cpu.usage_user', 'cpu.usage_system'].map((metric) => ({
      aggregator: 'max',
      metric,
      downsample: '1m-max',
      filters: [{ type: 'literal_or', tagk: 'device', filter: 'host_3|host_9', groupBy: false }],
    })),
  });
  const { queries } = openTsdbBody(parseQuery(EACH)) as { queries: object[] };
  assert.deepEqual(queries, [
    {
      aggregator: 'avg',
      metric: 'cpu.usage_user',
      downsample: '1h-avg',
      filters: [{ type: 'wildcard', tagk: 'device', filter: '*', groupBy: true }],
    },
  ]);
  for (const other of [
    'SELECT * from cpu group by "hostname" order by time desc limit 1',
    EACH.replace(',hostname', ''),
    TOGETHER.replace('time(1m)', 'time(5m)'),
  ])
    assert.throws(() => parseQuery(other), /another form/);
});

test('answers are compared in whole intervals', () => {
  const query = parseQuery(EACH);
  const influx = (value: number) =>
    influxFigures(
      JSON.stringify({
        results: [
          {
            series: [
              {
                name: 'cpu',
                tags: { hostname: 'host_0' },
                columns: ['time', 'mean'],
                values: [
                  ['2016-01-01T00:00:00Z', 1],
                  ['2016-01-01T01:00:00Z', value],
                  ['2016-01-01T02:00:00Z', null],
                ],
              },
            ],
          },
        ],
      }),
      query,
    );
  const tsdb = (values: Readonly<Record<string, number>>) =>
    openTsdbFigures(
      JSON.stringify([{ metric: 'cpu.usage_user', tags: { device: 'host_0' }, dps: values }]),
      query,
    );
  const complete = { [HOUR]: 0.3, [HOUR + 3_600_000]: 9 };
  assert.equal(compareFigures(influx(0.1 + 0.2), tsdb(complete), query), 1);
  assert.throws(() => compareFigures(influx(0.31), tsdb(complete), query), /differ: host_0 usage_user at/);
  assert.throws(() => compareFigures(influx(0.3), tsdb({}), query), /missing/);
  assert.throws(() => compareFigures(tsdb({}), influx(0.3), query), /0 and 1 figures/);
  assert.throws(() => compareFigures(tsdb({}), tsdb({}), query), /0 and 0 figures/);
  assert.throws(() => influxFigures('{"results":[{"error":"too slow"}]}', query), /too slow/);
});

test('a query of some hosts has one series for each metric', () => {
  const query = parseQuery(TOGETHER);
  const time = '2016-01-01T02:17:00Z';
  const influx = influxFigures(
    JSON.stringify({ results: [{ series: [{ name: 'cpu', values: [[time, 5, 7]] }] }] }),
    query,
  );
  const dps = (value: number) => ({ [Date.parse(time)]: value });
  const tsdb = openTsdbFigures(
    JSON.stringify([
      { metric: 'cpu.usage_user', tags: {}, aggregateTags: ['device'], dps: dps(5) },
      { metric: 'cpu.usage_system', tags: { prefix: 'x' }, dps: dps(7) },
    ]),
    query,
  );
  assert.equal(compareFigures(influx, tsdb, query), 2);
});
