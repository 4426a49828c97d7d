import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, startMosquitto, temporaryDirectory } from '@tidegauge/lab';
import { installNpmProgram } from '@tidegauge/lab/npm-program';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startProcess, waitUntil } from '@tidegauge/process';
import { NODE, ROOT } from '../../setup.js';
import { startPipeline } from '../embedded/pipeline-process.ts';
import { assertComplete, assertSendsAgain, sequencesOf } from './sequences.ts';

const VERSION = '5.0.7';
const OUTAGE_MS = 3000;
const WAIT = { timeoutMs: 60_000 };
const DEVICE = 'site-1/node-red';

// Its 280 packages (117 MB) are no dependency of this project, and no part of its lock file.
const installed = await startOrSkip('node-red', () => installNpmProgram('node-red', VERSION));
const broker = await startOrSkip('mosquitto', () => findProgram('mosquitto', 'mosquitto'));
const skip = 'skip' in broker ? broker.skip : 'skip' in installed ? installed.skip : false;
const folder = temporaryDirectory('node-red');
after(() => folder.remove());

interface FlowNode {
  readonly id: string;
  readonly type: string;
}

/** The flow of the example, which measures every 0.2 s and publishes to a port. */
function flowFor(port: number): FlowNode[] {
  const flow: FlowNode[] = JSON.parse(
    readFileSync(join(ROOT, 'examples/sensors/node-red/flow.json'), 'utf8'),
  );
  const changes: Readonly<Record<string, object>> = {
    inject: { repeat: '0.2' },
    'mqtt-broker': { port: `${port}` },
  };
  return flow.map((node) => ({ ...node, ...changes[node.type] }));
}

test('the Node-RED flow keeps readings over an outage of the broker', { skip }, async (context) => {
  const mosquitto = await startMosquitto({ persistence: true, directory: join(folder.path, 'mosquitto') });
  context.after(() => mosquitto.stop());
  const { api } = await startPipeline(context, '--no-sim', '--broker', mosquitto.url);
  writeFileSync(join(folder.path, 'flows.json'), JSON.stringify(flowFor(mosquitto.port)));
  const settings = {
    flowFile: 'flows.json',
    // No editor and no HTTP port.
    httpAdminRoot: false,
    httpNodeRoot: false,
    mqttReconnectTime: 500,
    telemetry: { enabled: false, updateNotification: false },
  };
  writeFileSync(join(folder.path, 'settings.js'), `module.exports = ${JSON.stringify(settings)};`);
  const program = join((installed as { server: string }).server, 'red.js');
  const nodeRed = startProcess({
    command: NODE,
    args: [program, '--userDir', folder.path],
    cwd: folder.path,
  });
  context.after(() => nodeRed.stop());

  const stored = () => sequencesOf(api, DEVICE);
  await waitUntil(
    () => `a reading of Node-RED: ${nodeRed.log()}`,
    async () => (await stored()).length > 0,
    WAIT,
  );
  await mosquitto.stop();
  const from = Date.now();
  await delay(OUTAGE_MS);
  const until = Date.now();
  await mosquitto.restart();
  const arrived = async () => ((await stored()).at(-1)?.at ?? 0) > until + 500;
  await waitUntil('readings after the outage', arrived, WAIT);
  await assertSendsAgain(api, mosquitto.url, DEVICE);
  await nodeRed.stop();
  assertComplete(await stored(), from, until, DEVICE);
});
