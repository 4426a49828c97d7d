import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { buildTelegraf } from '@tidegauge/lab/telegraf';
import { startOrSkip, testWith } from '@tidegauge/lab/unavailable';
import { startProcess, temporaryDirectory, waitUntil } from '@tidegauge/process';
import type { Reading } from '@tidegauge/readings';
import { type IngestWithApi, startIngestWithApi } from '../ingest-with-api.ts';
import { storedReadings } from './helpers.ts';

// Telegraf writes to ingest and to a file. Each value of the file must be stored, once.

const WAIT = { timeoutMs: 60_000 };
const PLUGINS = [
  ...['inputs.cpu', 'inputs.mem', 'inputs.file', 'parsers.influx'],
  ...['outputs.file', 'outputs.influxdb', 'outputs.influxdb_v2', 'outputs.mqtt'],
  ...['serializers.influx', 'serializers.json'],
];
const telegraf = await startOrSkip('telegraf', () => buildTelegraf(PLUGINS));
const test = await testWith('telegraf', async () => {
  if ('skip' in telegraf) throw new Error(telegraf.skip);
});

/** Every type of a field, escaped characters, and two series that differ in one tag only. */
const LINES = [
  'boiler\\ room,host=pi,floor=ground\\ floor temperature=21.5,count=7i,on=true,off=false,state="idle \\"1\\"" 1795000000123456000',
  'boiler\\ room,host=pi,floor=attic temperature=-3e-2 1795000000123456000',
  'big,host=pi most=9007199254740993i,unsigned=4294967296u 1795000001000000000',
];
/** A time that ingest refuses. Telegraf must not send it again for ever, or hold back other values. */
const REFUSED = 'late,host=pi v=1 9000000000000000000';

interface Metric {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, number | boolean | string>>;
  /** Microseconds since 1970. */
  readonly timestamp: number;
}

/** Telegraf with CPU and memory of this machine and the lines above as inputs, and one output besides a file. */
function startTelegraf(context: TestContext, { directory }: IngestWithApi, output: string) {
  const lines = join(directory, 'lines.influx');
  writeFileSync(lines, `${[...LINES, REFUSED].join('\n')}\n`);
  const written = join(directory, 'telegraf.json');
  const config = join(directory, 'telegraf.conf');
  writeFileSync(
    config,
    `[agent]
  interval = "1s"
  flush_interval = "1s"
  hostname = "pi"
  precision = "1us"
[[inputs.cpu]]
[[inputs.mem]]
[[inputs.file]]
  files = ["${lines}"]
  data_format = "influx"
[[outputs.file]]
  files = ["${written}"]
  data_format = "json"
  json_timestamp_units = "1us"
${output}`,
  );
  const running = startProcess({
    command: (telegraf as { server: string }).server,
    args: ['--config', config],
    cwd: directory,
    extendEnv: false,
    env: { PATH: process.env.PATH },
  });
  context.after(() => running.stop());
  const metrics = (): Metric[] =>
    readFileSync(written, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { running, metrics };
}

const escaped = (text: string): string => text.replaceAll(' ', '~20');

/** The series of a metric by the default templates: docs/http-api.md. */
function seriesOf({ name, tags }: Metric, root: string): string {
  const others = Object.keys(tags).filter((key) => key !== 'host');
  const path = others.toSorted().map((key) => `${key}:${tags[key]}`);
  return `${[...(root === '' ? [] : [root]), tags.host!, ...path].map(escaped).join('/')} ${escaped(name)}.`;
}

/** What must be stored for the metrics: series, field, time in microseconds, value. Without repetitions. */
function expected(metrics: readonly Metric[], root: string): string[] {
  const values = new Set<string>();
  for (const metric of metrics) {
    if (metric.name === 'late') continue;
    for (const [field, value] of Object.entries(metric.fields)) {
      const stored = typeof value === 'boolean' ? Number(value) : value;
      values.add(`${seriesOf(metric, root)}${field} ${metric.timestamp} ${JSON.stringify(stored)}`);
    }
  }
  return [...values].toSorted();
}

const asText = ({ device, metric, time, value }: Reading): string =>
  `${device} ${metric} ${time} ${JSON.stringify(value)}`;

/** Waits until all that Telegraf wrote to its file before it stopped is stored, and nothing else. */
async function assertStored(
  { ingest, store }: IngestWithApi,
  metrics: readonly Metric[],
  root: string,
): Promise<void> {
  const wanted = expected(metrics, root);
  assert.ok(wanted.length > 50, `${wanted.length} values`);
  const devices = [...new Set(metrics.map((metric) => seriesOf(metric, root).split(' ')[0]!))];
  await ingest.until(({ readings }) => readings.inFlight === 0, WAIT.timeoutMs);
  const found = (await storedReadings(store, devices)).map(asText);
  const missing = wanted.filter((one) => !found.includes(one));
  const surplus = found.filter((one) => !wanted.includes(one));
  assert.deepEqual(
    { missing, surplus, count: found.length },
    { missing: [], surplus: [], count: wanted.length },
  );
}

const OUTPUTS: Readonly<Record<string, (api: string, key: string) => string>> = {
  influxdb: (api, key) => `[[outputs.influxdb]]
  urls = ["${api}"]
  database = "telegraf"
  username = "telegraf"
  password = "${key}"
`,
  influxdb_v2: (api, key) => `[[outputs.influxdb_v2]]
  urls = ["${api}"]
  token = "${key}"
  organization = "home"
  bucket = "telegraf"
`,
};

for (const [name, output] of Object.entries(OUTPUTS)) {
  test(`Telegraf's output ${name} stores each value once, over an outage of the API`, async (context) => {
    const server = await startIngestWithApi(context);
    const { running, metrics } = startTelegraf(context, server, output(server.api, server.writeKey));
    const stored = async () => (await server.ingest.ledger()).readings.stored;
    await waitUntil(
      () => `values of Telegraf: ${running.log()}`,
      async () => (await stored()) > 40,
      WAIT,
    );
    await server.stopApi();
    await waitUntil('a failed write', () => /connection refused/.test(running.log()), WAIT);
    await server.startApi();
    const before = await stored();
    await waitUntil('values after the outage', async () => (await stored()) > before + 40, WAIT);
    // At its end Telegraf sends what it has.
    await running.stop();
    await assertStored(server, metrics(), 'telegraf');
    const { readings } = await server.ingest.ledger();
    assert.ok(readings.quarantined > 0, 'the time that is refused');
  });

  test(`Telegraf's output ${name} logs that its key is refused`, async (context) => {
    const server = await startIngestWithApi(context);
    const { running } = startTelegraf(context, server, output(server.api, 'a-wrong-key-of-some-length'));
    await waitUntil(
      () => `the refusal: ${running.log()}`,
      () => /401|nauthorized/.test(running.log()),
      WAIT,
    );
    assert.equal((await server.ingest.ledger()).messages.received, 0);
  });
}

const ROUTES = `- topic: line/#
  format: influx
- topic: json/+
  mapping:
    device: json/{tags.host}/floor:{tags.floor}
    keep: ['fields.*']
    rename: { 'fields.*': 'boiler.*' }
`;

test("Telegraf's output mqtt writes line protocol and JSON", async (context) => {
  const folder = temporaryDirectory('telegraf');
  context.after(() => folder.remove());
  const routes = join(folder.path, 'routes.yml');
  writeFileSync(routes, ROUTES);
  const server = await startIngestWithApi(context, { ROUTES: routes });
  const broker = server.broker.url.replace('mqtt:', 'tcp:');
  const output = `[[outputs.mqtt]]
  servers = ["${broker}"]
  topic = "line/{{ .PluginName }}"
  qos = 1
  data_format = "influx"
[[outputs.mqtt]]
  servers = ["${broker}"]
  topic = "json/{{ .PluginName }}"
  qos = 1
  namepass = ["boiler room"]
  data_format = "json"
  json_timestamp_units = "1us"
`;
  const { running, metrics } = startTelegraf(context, server, output);
  const stored = async () => (await server.ingest.ledger()).readings.stored;
  await waitUntil(
    () => `values of Telegraf: ${running.log()}`,
    async () => (await stored()) > 150,
    WAIT,
  );
  await running.stop();
  await assertStored(server, metrics(), '');
  const found = await storedReadings(server.store, ['json/pi/floor:ground~20floor', 'json/pi/floor:attic']);
  assert.deepEqual(found.map(asText).toSorted(), [
    'json/pi/floor:attic boiler.temperature 1795000000123456 -0.03',
    'json/pi/floor:ground~20floor boiler.count 1795000000123456 7',
    'json/pi/floor:ground~20floor boiler.off 1795000000123456 0',
    'json/pi/floor:ground~20floor boiler.on 1795000000123456 1',
    'json/pi/floor:ground~20floor boiler.state 1795000000123456 "idle \\"1\\""',
    'json/pi/floor:ground~20floor boiler.temperature 1795000000123456 21.5',
  ]);
});
