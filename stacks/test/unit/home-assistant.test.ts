import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { presetNames } from '@tidegauge/readings';
import { parse } from 'yaml';
import { startProxy } from '../../home-assistant/tidegauge/proxy.js';
import { brokerOf, variablesFrom } from '../../home-assistant/tidegauge/settings.js';
import { ROOT, readVariables } from '../stack-files.ts';

interface AddOn {
  readonly slug: string;
  readonly arch: readonly string[];
  readonly services: readonly string[];
  readonly ingress_port: number;
  readonly watchdog: string;
  readonly timeout: number;
  readonly options: Readonly<Record<string, unknown>>;
  readonly schema: Readonly<Record<string, string | readonly string[]>>;
}

const read = (file: string): string => readFileSync(join(ROOT, 'stacks/home-assistant', file), 'utf8');
const addOn = parse(read('tidegauge/config.yaml')) as AddOn;
/** The types of options that the Supervisor has (supervisor/addons/options.py). */
const ELEMENT = /^(?:bool|email|url|port|str|password|(?:int|float|str|password)\(\d*,\d*\)|list\(.+\))\??$/;
const LOG_LEVEL = { log_level: 'warn' };

test('the description of the add-on follows the rules of the Supervisor', () => {
  assert.match(addOn.slug, /^[-_.A-Za-z0-9]+$/);
  assert.deepEqual(addOn.arch, ['aarch64', 'amd64']);
  for (const service of addOn.services) assert.match(service, /^(?:mqtt|mysql):(?:provide|want|need)$/);
  assert.match(addOn.watchdog, /^https?:\/\/\[HOST\]:\d+\/healthz$/);
  assert.ok(addOn.watchdog.includes(`:${addOn.ingress_port}/`));
  assert.ok(addOn.timeout >= 10 && addOn.timeout <= 300);
  assert.ok(read('tidegauge/run.js').includes(`const INGRESS_PORT = ${addOn.ingress_port};\n`));
  assert.equal(typeof (parse(read('repository.yaml')) as { readonly name?: string }).name, 'string');
});

test('every option has a type, a translation and, unless it is optional, a default', () => {
  const translations = parse(read('tidegauge/translations/en.yaml')) as {
    readonly configuration: Readonly<Record<string, { readonly name: string; readonly description: string }>>;
  };
  const types = Object.entries(addOn.schema);
  assert.deepEqual(Object.keys(translations.configuration), Object.keys(addOn.schema));
  for (const [name, type] of types) {
    const [element] = [type].flat();
    assert.match(element!, ELEMENT, name);
    const { name: title, description } = translations.configuration[name]!;
    assert.ok(title.length > 0 && description.length > 0, name);
    if (!element!.endsWith('?')) assert.ok(Object.hasOwn(addOn.options, name), name);
  }
  for (const name of Object.keys(addOn.options)) assert.ok(Object.hasOwn(addOn.schema, name), name);
  assert.deepEqual(addOn.schema.presets, [`list(${presetNames.join('|')})`]);
});

test('its image has the Node of the other images', () => {
  const { build_from } = parse(read('tidegauge/build.yaml')) as {
    readonly build_from: Readonly<Record<string, string>>;
  };
  assert.deepEqual(Object.keys(build_from), addOn.arch);
  const expected = `docker.io/library/${readVariables('stacks/versions.env').NODE_IMAGE}`;
  for (const image of Object.values(build_from)) assert.equal(image, expected);
});

test('the broker is that of the options, or that of Home Assistant; without one it does not start', () => {
  const found = { host: 'core-mosquitto', port: 1883, ssl: false, username: 'addons', password: 'one' };
  const common = { LOG_LEVEL: 'warn', ALLOWED_HOSTS: '*' };
  const ofHomeAssistant = { ...common, BROKER: 'mqtt://core-mosquitto:1883' };
  assert.deepEqual(variablesFrom(LOG_LEVEL, found), {
    ...ofHomeAssistant,
    MQTT_USER: 'addons',
    MQTT_PASSWORD: 'one',
  });
  assert.equal(variablesFrom(LOG_LEVEL, { ...found, ssl: true }).BROKER, 'mqtts://core-mosquitto:1883');
  const login = { username: 'me', password: 'two' };
  const mine = { MQTT_USER: 'me', MQTT_PASSWORD: 'two' };
  assert.deepEqual(variablesFrom({ ...LOG_LEVEL, ...login }, found), { ...ofHomeAssistant, ...mine });
  const options = { ...LOG_LEVEL, broker: 'mqtt://192.0.2.11', ...login };
  assert.deepEqual(variablesFrom(options, null), { ...common, BROKER: 'mqtt://192.0.2.11', ...mine });
  // The password of Home Assistant does not go to another broker.
  const open = { ...LOG_LEVEL, broker: 'mqtt://192.0.2.11' };
  assert.deepEqual(variablesFrom(open, found), { ...common, BROKER: 'mqtt://192.0.2.11' });
  assert.throws(
    () => variablesFrom(LOG_LEVEL, null),
    /install the add-on Mosquitto broker, or set the option/,
  );
});

/** A server on a free port, which is closed after the test. */
async function serve(context: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

test('a Supervisor without a broker, and one that refuses, are distinguished', async (context) => {
  let status = 400;
  const port = await serve(context, ({ headers }, answer) => {
    assert.equal(headers.authorization, 'Bearer token');
    const data = { host: 'core-mosquitto', port: 1883, ssl: false };
    answer
      .writeHead(status)
      .end(JSON.stringify(status === 200 ? { result: 'ok', data } : { result: 'error' }));
  });
  const ask = () => brokerOf(`http://127.0.0.1:${port}`, 'token');
  assert.equal(await ask(), null);
  status = 403;
  await assert.rejects(ask(), /^Error: the Supervisor does not give its broker: 403 /);
  status = 200;
  assert.equal((await ask())!.host, 'core-mosquitto');
});

test('the proxy forwards requests and streams, and allows the frame of Home Assistant only', async (context) => {
  const policy = "default-src 'self'; frame-ancestors 'none'; object-src 'none'";
  const target = await serve(context, (request, answer) => {
    answer.writeHead(200, { 'content-security-policy': policy, 'x-host': request.headers.host ?? '' });
    answer.write(`${request.method} ${request.url}\n`);
    // Without an end, as the live stream.
    request.on('data', (chunk: Buffer) => answer.write(chunk));
  });
  const proxy = await startProxy(0, target);
  context.after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  const { port } = proxy.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1/live?a=b`;
  const leave = new AbortController();
  const answer = await fetch(url, { method: 'POST', body: 'body', signal: leave.signal });
  const expected = policy.replace("'none'; object", "'self'; object");
  assert.equal(answer.headers.get('content-security-policy'), expected);
  assert.equal(answer.headers.get('x-host'), `127.0.0.1:${port}`);
  const reader = answer.body!.getReader();
  let text = '';
  while (!text.includes('body')) text += Buffer.from((await reader.read()).value!).toString();
  assert.equal(text, 'POST /v1/live?a=b\nbody');
  leave.abort();
});

test('a proxy whose API does not listen answers 502', async (context) => {
  const proxy = await startProxy(0, 1);
  context.after(() => proxy.close());
  const { port } = proxy.address() as AddressInfo;
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 502);
});
