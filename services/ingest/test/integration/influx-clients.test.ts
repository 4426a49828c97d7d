import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { installPythonPackages } from '@tidegauge/lab/python-packages';
import { startOrSkip, testWith } from '@tidegauge/lab/unavailable';
import { ProgramError, runProgram } from '@tidegauge/process';
import { startIngestWithApi } from '../ingest-with-api.ts';
import { storedReadings } from './helpers.ts';

// The Python packages `influxdb` and `influxdb-client`, which Home Assistant's integration uses, write to the API.

const FOLDER = fileURLToPath(new URL('../influx-clients/', import.meta.url));
const TIME = Date.UTC(2026, 10, 21, 14, 0, 0, 250) * 1000;
const python = await startOrSkip('influx-clients', () =>
  installPythonPackages('influx-clients', `${FOLDER}requirements.txt`),
);
const test = await testWith('influx-clients', async () => {
  if ('skip' in python) throw new Error(python.skip);
});

const write = (version: string, api: string, key: string) => {
  const { hostname, port } = new URL(api);
  return runProgram((python as { server: string }).server, [`${FOLDER}write.py`, version, hostname, port], {
    env: { KEY: key },
    timeoutMs: 60_000,
  });
};

for (const version of ['1', '2']) {
  test(`the Python client of InfluxDB ${version} writes as Home Assistant does`, async (context) => {
    const { api, ingest, store, writeKey } = await startIngestWithApi(context, {
      INFLUX_DEVICE: '{db}/{domain}.{entity_id}',
      INFLUX_METRIC: '{field}',
    });
    await write(version, api, writeKey);
    const found = await storedReadings(store, [
      'home/sensor.living_room_temperature',
      'home/light.desk_lamp',
    ]);
    assert.deepEqual(
      Object.fromEntries(found.map(({ device, metric, value }) => [`${device} ${metric}`, value])),
      {
        'home/sensor.living_room_temperature value': 21.5,
        'home/sensor.living_room_temperature friendly_name_str': 'Living room, "north"',
        'home/sensor.living_room_temperature battery': 97,
        'home/light.desk_lamp value': 1,
        'home/light.desk_lamp state': 'on',
        'home/light.desk_lamp supported': 1,
        'home/light.desk_lamp count': 3,
      },
    );
    assert.deepEqual([...new Set(found.map(({ time }) => time))], [TIME]);
    assert.equal((await ingest.ledger()).readings.quarantined, 0);

    // With the wrong key the client raises the error that the integration reports.
    await assert.rejects(
      write(version, api, 'a-wrong-key-of-some-length'),
      (error) => error instanceof ProgramError && /401/.test(error.message),
    );
  });
}
