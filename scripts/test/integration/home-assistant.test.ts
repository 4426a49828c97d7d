import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { startMosquitto, temporaryDirectory } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { freePorts, runProgram, startProcess, waitUntil } from '@tidegauge/process';
import { buildAddOn } from '../../home-assistant/build-add-on.ts';

const LOGIN = { username: 'addons', password: 'of-the-service' };
const WAIT = { timeoutMs: 60_000, pollMs: 100 };

test('with options.json and the service API it stores what a sender publishes, and serves the page', async (context) => {
  const started = await startOrSkip('mosquitto', () => startMosquitto({ credentials: LOGIN }));
  if ('skip' in started) return context.skip(started.skip);
  const broker = started.server;
  const folder = temporaryDirectory('add-on');
  context.after(async () => {
    await broker.stop();
    folder.remove();
  });
  await buildAddOn(folder.path);
  const data = join(folder.path, 'data');
  await mkdir(data);
  // Home Assistant adds the defaults.
  const options = { presets: ['zigbee2mqtt'], log_level: 'info' };
  await writeFile(join(data, 'options.json'), JSON.stringify(options));
  const supervisor = createServer(({ url, headers }, answer) => {
    const isRight = url === '/services/mqtt' && headers.authorization === 'Bearer of-this-add-on';
    const service = { host: '127.0.0.1', port: broker.port, ssl: false, ...LOGIN };
    answer.writeHead(isRight ? 200 : 403).end(JSON.stringify({ result: 'ok', data: service }));
  }).listen(0, '127.0.0.1');
  await once(supervisor, 'listening');
  context.after(() => supervisor.close());

  const [http, metrics, ingress] = await freePorts(3);
  let output = '';
  const addOn = startProcess({
    command: process.execPath,
    args: [join(folder.path, 'tidegauge', 'run.js')],
    env: {
      SUPERVISOR: `http://127.0.0.1:${(supervisor.address() as AddressInfo).port}`,
      SUPERVISOR_TOKEN: 'of-this-add-on',
      ADDON_DATA: data,
      HTTP_PORT: `${http}`,
      METRICS_PORT: `${metrics}`,
      INGRESS: `${ingress}`,
    },
    stopMs: 60_000,
    onOutput: (text) => {
      output += text;
    },
  });
  context.after(() => addOn.kill());
  const page = `http://127.0.0.1:${ingress}`;
  const ok = async (path: string) => (await fetch(`${page}${path}`).catch(() => null))?.status === 200;
  await waitUntil(
    () => `the page: ${output}`,
    () => !addOn.running || ok('/readyz'),
    WAIT,
  );
  assert.ok(addOn.running, output);
  const login = ['-u', LOGIN.username, '-P', LOGIN.password];
  const message = ['-t', 'zigbee2mqtt/Kitchen', '-q', '1', '-m', '{"temperature":21.5}'];
  await waitUntil(
    () => `the reading: ${output}`,
    async () => {
      await runProgram('mosquitto_pub', ['-h', '127.0.0.1', '-p', `${broker.port}`, ...login, ...message]);
      const answer = await fetch(`${page}/v1/readings/latest?device=Kitchen`);
      const { readings } = (await answer.json()) as { readings?: readonly { readonly value: number }[] };
      return readings?.[0]?.value === 21.5;
    },
    { ...WAIT, pollMs: 500 },
  );
  // As a browser sends a change, under the name of Home Assistant.
  const headers = { host: 'homeassistant.local:8123', origin: 'https://homeassistant.local:8123' };
  // fetch sends its own Host.
  const change = request(`${page}/v1/quarantine/discard`, { method: 'POST', headers }).end();
  const [answer] = (await once(change, 'response')) as [IncomingMessage];
  answer.resume();
  assert.equal(answer.statusCode, 200);
  assert.equal((await addOn.stop()).code, 0, output);
});
