import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, startMosquitto, temporaryDirectory } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { freePort, startProcess, waitUntil } from '@tidegauge/process';
import type { LedgerDocument } from '@tidegauge/readings';
import { PYTHON, ROOT, setUpPython } from '../../setup.js';
import { startPipeline } from '../embedded/pipeline-process.ts';
import { assertComplete, assertSendsAgain, sequencesOf } from './sequences.ts';

// The sensors of examples/sensors that keep readings while the broker is unavailable: against a whole pipeline, with a
// real broker that is stopped and started again during the run.

const SENSORS = join(ROOT, 'examples/sensors');
const OUTAGE_MS = 4000;
const WAIT = { timeoutMs: 40_000 };

const client = await startOrSkip('mosquitto_pub', () => findProgram('mosquitto_pub', 'mosquitto-clients'));
const found = await startOrSkip('mosquitto', () => findProgram('mosquitto', 'mosquitto'));
const skip = 'skip' in found ? found.skip : 'skip' in client ? client.skip : false;
const folder = temporaryDirectory('buffered-sensors');
after(() => folder.remove());

/** What the kernel would show: files below /sys, with their content. */
const SYSFS: Readonly<Record<string, string>> = {
  'class/hwmon/hwmon0/name': 'coretemp\n',
  'class/hwmon/hwmon0/temp1_input': '48250\n',
  'class/hwmon/hwmon0/temp1_label': 'Package id 0\n',
  'class/hwmon/hwmon0/fan1_input': '1200\n',
  'class/hwmon/hwmon0/pwm1': '128\n',
  'bus/iio/devices/iio:device0/name': 'bme280\n',
  'bus/iio/devices/iio:device0/in_pressure_input': '101.325000000\n',
  'bus/iio/devices/iio:device0/in_voltage0_raw': '512\n',
  'bus/iio/devices/iio:device0/in_voltage_scale': '3.222656250\n',
  'bus/iio/devices/iio:device0/in_temp_raw': '-100\n',
  'bus/iio/devices/iio:device0/in_temp_offset': '500\n',
  'bus/iio/devices/iio:device0/in_temp_scale': '62.5\n',
  'bus/w1/devices/w1_bus_master1/w1_master_name': 'w1_bus_master1\n',
  // From the kernel's documentation of w1_therm.
  'bus/w1/devices/28-00000abcdef0/w1_slave':
    '72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n',
  'bus/w1/devices/28-00000abcdef1/w1_slave':
    '50 05 4b 46 7f ff 0c 10 1c : crc=1c YES\n50 05 4b 46 7f ff 0c 10 1c t=85000\n',
  'bus/w1/devices/28-00000abcdef2/w1_slave':
    '72 01 4b 46 7f ff 0e 10 56 : crc=57 NO\n72 01 4b 46 7f ff 0e 10 56 t=23125\n',
};

/** Each device of the sensors, and the latest value of each of its metrics. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'site-1/coretemp-hwmon0': { Package_id_0: 48.25, fan1: 1200 },
  'site-1/bme280-device0': { pressure: 101.325, voltage0: 1650, temp: 25_000 },
  'site-1/28-00000abcdef0': { temperature: 23.125 },
  'site-1/meter': { voltage: 230.4, power: -1250, frequency: 50.03125 },
  'site-1/board': { temperature: 48.25 },
};

test('a program that finds no sensor prints that at once', async (context) => {
  await setUpPython();
  let output = '';
  const sensor = startProcess({
    command: PYTHON,
    args: [join(SENSORS, 'python/one_wire.py')],
    cwd: folder.path,
    env: { SYSFS: join(folder.path, 'none'), PORT: `${await freePort()}`, PYTHONUNBUFFERED: '' },
    onOutput(text) {
      output += text;
    },
  });
  context.after(() => sensor.stop());
  await waitUntil('the line', () => output.includes('no measurement: no sensor'), WAIT);
});

test('readings survive an outage of the broker, and a full buffer drops the oldest', {
  skip,
}, async (context) => {
  await setUpPython();
  const broker = await startMosquitto({ persistence: true, directory: join(folder.path, 'mosquitto') });
  context.after(() => broker.stop());
  const { api } = await startPipeline(context, '--no-sim', '--broker', broker.url);
  for (const [path, text] of Object.entries(SYSFS)) {
    mkdirSync(join(folder.path, dirname(path)), { recursive: true });
    writeFileSync(join(folder.path, path), text);
  }
  const get = async (path: string) => (await fetch(api + path)).json();
  const run = (name: string, command: string, args: readonly string[], env: Record<string, string> = {}) => {
    const cwd = join(folder.path, name);
    mkdirSync(cwd);
    const sensor = startProcess({
      command,
      args,
      cwd,
      env: {
        PERIOD: '0.2',
        PORT: `${broker.port}`,
        SYSFS: folder.path,
        THERMOMETER: join(folder.path, 'class/hwmon/hwmon0/temp1_input'),
        ...env,
      },
    });
    context.after(() => sensor.stop());
    return sensor;
  };
  const python = (program: string, env?: Record<string, string>, name = program) =>
    run(name, PYTHON, [join(SENSORS, 'python', program)], env);

  const modbusPort = await freePort();
  run('server', PYTHON, [join(ROOT, 'scripts/test/modbus_server.py'), `${modbusPort}`]);
  const sensors = [
    python('hwmon.py'),
    python('iio.py'),
    python('one_wire.py'),
    python('modbus.py', { METER_PORT: `${modbusPort}` }),
    run('shell', join(SENSORS, 'buffered.sh'), [], { TIMEOUT: '1' }),
  ];
  const small = python('hwmon.py', { KEEP: '4', MQTT_USER: 'small' }, 'small');

  const latest = async (device: string) => {
    const { readings } = (await get(`/v1/readings/latest?device=${device}`)) as {
      readings: readonly { metric: string; value: number }[];
    };
    return Object.fromEntries(readings.map(({ metric, value }) => [metric, value]));
  };
  for (const [device, values] of Object.entries(EXPECTED)) {
    const arrived = async () => Object.keys(await latest(device)).length === Object.keys(values).length;
    await waitUntil(`the readings of ${device}`, arrived, WAIT);
    assert.deepEqual(await latest(device), values);
  }

  const sequences = (device: string) => sequencesOf(api, device);
  await broker.stop();
  const from = Date.now();
  await delay(OUTAGE_MS);
  const until = Date.now();
  await broker.restart();
  const devices = [...Object.keys(EXPECTED), 'small/coretemp-hwmon0'];
  for (const device of devices) {
    const arrived = async () => (await sequences(device)).at(-1)!.at > until + 500;
    await waitUntil(`readings of ${device} after the outage`, arrived, WAIT);
  }
  for (const device of ['site-1/coretemp-hwmon0', 'site-1/board'])
    await assertSendsAgain(api, broker.url, device);
  await Promise.all([...sensors, small].map((sensor) => sensor.stop()));
  await waitUntil(
    'an empty queue',
    async () => {
      const { readings } = (await get('/v1/ledger')) as LedgerDocument;
      return readings.inFlight === 0;
    },
    WAIT,
  );

  for (const device of Object.keys(EXPECTED)) {
    assertComplete(await sequences(device), from, until, device);
  }

  // The buffer of the small one held four readings at the end of the outage. Those before were dropped.
  const kept = await sequences('small/coretemp-hwmon0');
  const gaps = kept.filter(({ seq }, index) => index > 0 && seq !== kept[index - 1]!.seq + 1);
  assert.equal(gaps.length, 1);
  assert.ok(gaps[0]!.at > from && gaps[0]!.at > until - 1500, 'the newest readings of the outage are kept');
  const { gaps: listed } = (await get('/v1/ledger')) as LedgerDocument;
  assert.deepEqual(
    listed.list.filter(({ missing }) => missing > 0).map(({ device }) => device),
    ['small/coretemp-hwmon0'],
  );
  const { items } = (await get('/v1/quarantine')) as { items: readonly unknown[] };
  assert.deepEqual(items, []);
});
