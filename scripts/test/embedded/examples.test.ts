import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram, temporaryDirectory } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { NODE, PYTHON, ROOT, setUpPython } from '../../setup.js';
import { startPipeline } from './pipeline-process.ts';

// Runs the programs of examples/sensors against a whole pipeline.

const run = promisify(execFile);
const SENSORS = join(ROOT, 'examples/sensors');
const WAIT_MS = 20_000;

const client = await startOrSkip('mosquitto_pub', () => findProgram('mosquitto_pub', 'mosquitto-clients'));
const skip = 'skip' in client ? client.skip : false;

/** The latest value of each metric of a device, when there are as many metrics as expected. */
async function latest(api: string, device: string, metrics: number): Promise<Record<string, unknown>> {
  const url = `${api}/v1/readings/latest?device=${device}`;
  for (const deadline = Date.now() + WAIT_MS; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const { readings = [] } = (await (await fetch(url)).json()) as {
      readings?: { metric: string; value: unknown }[];
    };
    if (readings.length >= metrics || Date.now() > deadline)
      return Object.fromEntries(readings.map(({ metric, value }) => [metric, value]));
  }
}

const SCRIPTS: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>> = {
  'plain.sh': { 'site-1/greenhouse': { temperature: 21.5 } },
  'json.sh': { 'site-1/greenhouse': { temperature: 21.5, humidity: 48, door: 'closed' } },
  'senml.sh': { 'site-1/meter/boiler': { temperature: 64.2, flow: 0.8, open: 1 } },
  'gateway.sh': {
    'site-1/gateway/pump': { rpm: 900, running: 1 },
    'site-1/gateway/tank': { level: 0.73 },
  },
};

test('the examples of sensors store their readings', async (context) => {
  const { api, mqttPort } = await startPipeline(context, '--no-sim');
  const path = 'server' in client ? `${join(client.server, '..')}:${process.env.PATH}` : process.env.PATH;
  const env = { ...process.env, PATH: path, PORT: `${mqttPort}`, API: api };

  for (const [script, devices] of Object.entries(SCRIPTS)) {
    await context.test(script, { skip }, async () => {
      await run(join(SENSORS, script), { env });
      for (const [device, values] of Object.entries(devices)) {
        assert.deepEqual(await latest(api, device, Object.keys(values).length), values);
      }
    });
  }

  await context.test('http.sh prints that its reading is stored', async () => {
    const { stdout } = await run(join(SENSORS, 'http.sh'), { env });
    assert.deepEqual(JSON.parse(stdout), { received: 1, stored: 1, duplicate: 0, quarantined: 0 });
    assert.deepEqual(await latest(api, 'site-1/pond', 1), { ph: 7.4 });
  });

  await context.test('sensor.mjs numbers its readings and ends when all are acknowledged', async () => {
    // All are published before it has connected.
    const settings = { BROKER_URL: `mqtt://127.0.0.1:${mqttPort}`, COUNT: '3', INTERVAL_MS: '1' };
    const bounds = { timeout: WAIT_MS, killSignal: 'SIGKILL' } as const;
    await run(NODE, [join(SENSORS, 'sensor.mjs')], { env: { ...env, ...settings }, ...bounds });
    const url = `${api}/v1/readings?device=site-1/server&order=asc`;
    let readings: { seq: number; boot: string }[] = [];
    // The broker acknowledges before ingest has stored the reading.
    for (const deadline = Date.now() + WAIT_MS; readings.length < 3 && Date.now() < deadline; ) {
      ({ readings } = (await (await fetch(url)).json()) as { readings: typeof readings });
    }
    assert.deepEqual(
      readings.map(({ seq }) => seq),
      [0, 1, 2],
    );
    assert.equal(new Set(readings.map(({ boot }) => boot)).size, 1);
  });

  await context.test('real_sensor.py publishes the temperature of a Raspberry Pi', async () => {
    await setUpPython();
    const folder = temporaryDirectory('examples');
    try {
      const thermometer = join(folder.path, 'temp');
      writeFileSync(thermometer, '48250\n');
      const settings = { DEVICE: 'site-1/pi', THERMOMETER: thermometer, PERIOD: '0.1' };
      const program = join(ROOT, 'sensors-sim/examples/real_sensor.py');
      const sensor = spawn(PYTHON, [program], { env: { ...env, ...settings }, stdio: 'ignore' });
      try {
        assert.deepEqual(await latest(api, 'site-1/pi', 1), { temperature: 48.25 });
      } finally {
        sensor.kill('SIGTERM');
        await once(sensor, 'exit');
      }
    } finally {
      folder.remove();
    }
  });

  await context.test('no message of an example is quarantined', async () => {
    const { items } = (await (await fetch(`${api}/v1/quarantine`)).json()) as { items: unknown[] };
    assert.deepEqual(items, []);
  });
});

test('ingest accepts the settings of the example for one board', async () => {
  const lines = readFileSync(join(ROOT, 'examples/one-board/ingest.env'), 'utf8').split('\n');
  const settings = Object.fromEntries(
    lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split('=', 2) as [string, string]),
  );
  assert.ok(Object.keys(settings).length >= 2);
  const program = join(ROOT, 'services/ingest/src/main.ts');
  const { stdout } = await run(NODE, [program, '--print-config'], { env: { ...process.env, ...settings } });
  for (const name of Object.keys(settings)) assert.match(stdout, new RegExp(`^${name}=`, 'm'));
});
