import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, startMosquitto, temporaryDirectory } from '@tidegauge/lab';
import { buildOnce } from '@tidegauge/lab/build-once';
import { installPythonPackages } from '@tidegauge/lab/python-packages';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { runProgram, startProcess, waitUntil } from '@tidegauge/process';
import { ROOT } from '../../setup.js';
import { startPipeline } from '../embedded/pipeline-process.ts';
import { assertComplete, assertSendsAgain, sequencesOf } from './sequences.ts';

// The program for microcontrollers in MicroPython's Unix port (from PyPI), with umqtt.simple as `mip` installs it.

const OUTAGE_MS = 3000;
const WAIT = { timeoutMs: 60_000 };
const DEVICE = 'site-1/roof';
const MICROPYTHON = ['-m', 'micropython_unix'];

/** What a board has and a computer does not have. */
const BOARD: Readonly<Record<string, string>> = {
  'network.py': `STA_IF = 0
class WLAN:
    def __init__(self, interface): pass
    def active(self, on): pass
    def isconnected(self): return True
`,
  'ntptime.py': 'def settime(): pass\n',
  'esp32.py': 'def mcu_temperature(): return 48.25\n',
};

const installed = await startOrSkip('micropython', async () => {
  const python = await installPythonPackages('micropython', join(ROOT, 'scripts/test/micropython.txt'));
  const library = await buildOnce('micropython-umqtt/simple', async (directory) => {
    mkdirSync(directory);
    const mip = [...MICROPYTHON, '-m', 'mip', 'install', '--target', directory, 'umqtt.simple'];
    await runProgram(python, mip, { timeoutMs: 60_000 });
    // mip reports a failure with the exit code 0.
    readFileSync(join(directory, 'umqtt/simple.mpy'));
  });
  return { python, library };
});
const broker = await startOrSkip('mosquitto', () => findProgram('mosquitto', 'mosquitto'));
const skip = 'skip' in broker ? broker.skip : 'skip' in installed ? installed.skip : false;
const folder = temporaryDirectory('micropython');
after(() => folder.remove());

/** The program with the address of the broker, and a measurement every 0.2 s. */
function programFor(port: number): string {
  const text = readFileSync(join(ROOT, 'examples/sensors/micropython/main.py'), 'utf8');
  const changed = text
    .replace("'192.0.2.11'", "'127.0.0.1'")
    .replace("roof/temperature', 10,", "roof/temperature', 0.2,")
    .replace('BROKER, keepalive', `BROKER, port=${port}, keepalive`);
  assert.match(changed, new RegExp(`'127.0.0.1'.* 0.2,[\\s\\S]*port=${port}`));
  return changed;
}

test('the program in MicroPython keeps readings over an outage of the broker', { skip }, async (context) => {
  const { python, library } = (installed as { server: { python: string; library: string } }).server;
  const mosquitto = await startMosquitto({ persistence: true, directory: join(folder.path, 'mosquitto') });
  context.after(() => mosquitto.stop());
  const { api } = await startPipeline(context, '--no-sim', '--broker', mosquitto.url);
  for (const [name, text] of Object.entries(BOARD)) writeFileSync(join(folder.path, name), text);
  writeFileSync(join(folder.path, 'main.py'), programFor(mosquitto.port));
  const board = startProcess({
    command: python,
    args: [...MICROPYTHON, 'main.py'],
    cwd: folder.path,
    env: { MICROPYPATH: `${library}:.frozen` },
  });
  context.after(() => board.stop());

  const stored = () => sequencesOf(api, DEVICE);
  await waitUntil(
    () => `a reading of MicroPython: ${board.log()}`,
    async () => (await stored()).length > 0,
    WAIT,
  );
  await mosquitto.stop();
  const from = Date.now();
  await delay(OUTAGE_MS);
  const until = Date.now();
  await mosquitto.restart();
  const arrived = async () => ((await stored()).at(-1)?.at ?? 0) > until + 500;
  await waitUntil(() => `readings after the outage: ${board.log()}`, arrived, WAIT);
  await assertSendsAgain(api, mosquitto.url, DEVICE);
  await board.stop();
  assertComplete(await stored(), from, until, DEVICE);
});
