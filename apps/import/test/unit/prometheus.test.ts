import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '@tidegauge/storage';
import {
  PROMETHEUS_DEVICE,
  PROMETHEUS_METRIC,
  parseSample,
  prometheusFile,
  prometheusNames,
} from '../../src/sources/prometheus-text.ts';
import { fileWith, imported, linesOf } from '../imports.ts';

const NAMES = prometheusNames(PROMETHEUS_DEVICE, PROMETHEUS_METRIC);

test('reads the text format with milliseconds and OpenMetrics with seconds', async () => {
  const store = await openStore('sqlite::memory:');
  const path = fileWith(
    'dump.txt',
    [
      '# TYPE up gauge',
      '{__name__="up", instance="pi:9100", job="node"} 1 1700000000123',
      'up{instance="pi:9100",job="node"} 0 1700000060.5',
      'temp{job="node",instance="pi",room="a \\"b\\"\\\\\\n",} -1.5e1 1700000000000 # {trace="x"} 1 2',
      'temp{job="node",instance="pi"} NaN 1700000000000',
      'temp{job="node",instance="pi"} 3',
      'temp{job="node" 3 1700000000000',
      'temp 0x1p-2 1700000000000',
      '# EOF',
    ].join('\n'),
  );
  const { tally } = await imported(store, (received) => prometheusFile(path, NAMES, received));
  assert.deepEqual((await linesOf(store)).toSorted(), [
    'node/instance:pi:9100 up 2023-11-14T22:13:20.123000Z 1',
    'node/instance:pi:9100 up 2023-11-14T22:14:20.500000Z 0',
    'node/pi/room:a~20~22b~22~5C~0A temp 2023-11-14T22:13:20.000000Z -15',
  ]);
  const { skipped, refused } = tally.toDocument();
  assert.equal(Object.values(skipped)[0]?.count, 1);
  assert.deepEqual(
    Object.entries(refused).map(([why, { count }]) => `${count} ${why}`),
    ['1 the sample has no time that can be read', '1 the labels cannot be read', '1 the value is no number'],
  );
  await store.close();
});

test('reads names in quotes, as Prometheus 3 writes them', () => {
  const sample = parseSample('{"room.temp", "a.b"="c"} 1 1700000000000');
  assert.ok(typeof sample === 'object');
  assert.deepEqual(
    [...sample.labels],
    [
      ['__name__', 'room.temp'],
      ['a.b', 'c'],
    ],
  );
});
