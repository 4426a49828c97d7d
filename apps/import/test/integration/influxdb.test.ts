import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startInfluxDb } from '@tidegauge/lab/influxdb';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { compileInfluxNames } from '@tidegauge/readings';
import { openStore } from '@tidegauge/storage';
import { influxFile } from '../../src/sources/influxdb.ts';
import { imported, linesOf, pathOf } from '../imports.ts';

const started = await startOrSkip('influxdb', startInfluxDb);
const skip = 'skip' in started ? started.skip : false;
// The test is skipped if there is no server.
const influxdb = ('server' in started ? started.server : null)!;
after(() => influxdb?.stop());

const FIRST = 1_700_000_000;
const POINTS = 2000;

test('imports what InfluxDB 1.8 exports: the values that its queries return', { skip }, async () => {
  await influxdb.query('create database home');
  await influxdb.query('create retention policy "a year" on home duration 5200w replication 1');
  const write = async (lines: readonly string[], policy = 'autogen') => {
    const query = new URLSearchParams({ db: 'home', rp: policy });
    const response = await fetch(`${influxdb.url}/write?${query}`, {
      method: 'POST',
      body: lines.join('\n'),
    });
    assert.equal(response.status, 204, await response.text());
  };
  const values = Array.from({ length: POINTS }, (_, i) => Math.sin(i) * 10 ** ((i % 600) - 300));
  await write(
    values.map(
      (value, i) => `weather,host=pi,room=a\\ b temperature=${value},count=${i}i ${FIRST + i}000000000`,
    ),
  );
  await write([
    `weather,host=pi,room=a\\ b text="two\nlines, \\"quoted\\" = \\\\",ok=true ${FIRST}000001000`,
    `we\\,ird\\ na\\=me,ho\\=st=pï f\\ 1=9007199254740993i,u=-0 ${FIRST}000000000`,
  ]);
  await write([`weather,host=pi,room=a\\ b temperature=1 ${FIRST}000000000`], 'a year');
  const path = pathOf('influxdb-1.8.lp');
  await influxdb.exportTo(path);

  const store = await openStore('sqlite::memory:');
  const options = { precision: 'ns', names: compileInfluxNames(), database: null, templates: [] } as const;
  const { counts, tally } = await imported(store, (received) => influxFile(path, options, received));
  assert.deepEqual([counts.readings, counts.written, counts.repeated], [2 * POINTS + 5, 2 * POINTS + 5, 0]);
  assert.deepEqual(tally.toDocument().refused, {});
  const lines = await linesOf(store);
  const rows = await influxdb.query('select temperature from autogen.weather', 'home');
  assert.equal(rows.length, POINTS);
  for (const [time, value] of rows) {
    const text = `home/pi/room:a~20b weather.temperature ${String(time).replace('Z', '.000000Z')} ${JSON.stringify(value)}`;
    assert.ok(lines.includes(text), text);
  }
  assert.ok(
    lines.includes(
      'home/pi/room:a~20b weather.text 2023-11-14T22:13:20.000001Z "two\\nlines, \\"quoted\\" = \\\\"',
    ),
  );
  assert.equal(
    lines.filter((line) => line.startsWith('home/a~20year/pi/room:a~20b weather.temperature ')).length,
    1,
  );
  await store.close();
});
