import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { type Prometheus, startPrometheus } from '@tidegauge/lab/prometheus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import type { LedgerDocument } from '@tidegauge/readings';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { publish } from '@tidegauge/test-support/publisher';
import { startServiceProcess } from '@tidegauge/test-support/service-process';
import { connectAsync } from 'mqtt';
import { CONFIG } from '../../src/config.ts';
import { ALL_DASHBOARDS } from '../../src/dashboards.ts';
import { alertsFile, recordingRulesFile } from '../../src/rule-files.ts';
import { clears, emptyOf, fires, numbers, panelQueries, until, WAIT_MS } from '../alert-watch.ts';
import {
  type DrawingModel,
  type Drawn,
  drawingFaults,
  drawingPage,
  drawModels,
  shownNow,
} from '../drawing.ts';

const RATE = 200;
/** The duration of the load over one connection. The next connection continues with the next reading. */
const LOAD_SECONDS = 5;
/** Messages that the broker drops. */
const LOST = 200;
const DEVICES = 10;
/** Messages that the broker keeps for a client that is not connected. */
const QUEUE = 1000;
const SCRAPE_MS = 500;
const TOLERANCE = 0.05;

/** The shipped configuration with shorter times: a test cannot wait for minutes, or for 50,000 messages. */
const IMPATIENT = {
  ...CONFIG,
  patience: 0.02,
  thresholds: { ...CONFIG.thresholds, oldestUnstoredSeconds: 2, brokerQueuedMessages: 500 },
};

/** Panels whose exporters run in other tests. Prometheus must still accept their queries. */
const EMPTY_ROWS = /postgres_exporter|mysqld_exporter|mongodb_exporter|JMX exporter/;
const EMPTY_DASHBOARDS = new Set(['tidegauge-boards', 'tidegauge-load-test']);
/** No alert fires before the first fault, the API has no certificate, there is no node exporter, and no backup runs. */
const EMPTY_PANELS = new Set([
  'Alerts firing',
  'Time until certificates expire',
  'Boards',
  'Age of the newest backup',
]);

/** The dashboards and rows that have data here. */
const WITH_DATA = ALL_DASHBOARDS.map(({ uid }) => uid!).filter((uid) => !EMPTY_DASHBOARDS.has(uid));
const ROWS = /^(?!.*exporter)/;

/** What the pictures of faults must have: the texts of panels. */
const FAULTY: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  'dropping-broker': { 'Alerts firing': /BrokerDropping/, 'Dropped in the last hour': /\b(19|20)\d\b/ },
  'unavailable-store': { 'Alerts firing': /StoreErrors/, 'Store errors': /sqlite [A-Z]{5}/ },
  'dead-ingest': { 'Alerts firing': /ReplicaGone/, Processes: /down/, 'Broker connections': /disconnected/ },
  'dead-exporter': { Processes: /down/, Up: /down/ },
};

/** Metrics of ingest in Prometheus, and the same values in the ledger of ingest: counters first, then gauges. */
const TRAVEL = 'tidegauge_stage_seconds_count{stage="travel"}';
const FLOWS: Readonly<Record<string, (ledger: LedgerDocument) => number>> = {
  tidegauge_messages_received_total: ({ messages }) => messages.received,
  mosquitto_publish_received_total: ({ messages }) => messages.received,
  tidegauge_readings_received_total: ({ readings }) => readings.received,
  tidegauge_readings_stored_total: ({ readings }) => readings.stored,
  ...Object.fromEntries(
    (['travel', 'queue', 'store', 'ack', 'end_to_end'] as const).map((stage) => [
      `tidegauge_stage_seconds_count{stage="${stage}"}`,
      // The ledger has stages of the last minute, and a slow machine needs longer.
      ({ readings }: LedgerDocument) => readings.stored + readings.duplicate,
    ]),
  ),
};
const LEVELS: Readonly<Record<string, (ledger: LedgerDocument) => number>> = {
  tidegauge_readings_duplicate_total: ({ readings }) => readings.duplicate,
  tidegauge_readings_quarantined_total: ({ readings }) => readings.quarantined,
  tidegauge_in_flight_readings: ({ readings }) => readings.inFlight,
  tidegauge_spool_readings: ({ readings }) => readings.spooled,
  tidegauge_ledger_missing_readings: ({ gaps }) => gaps.missing,
  tidegauge_mqtt_reconnects_total: ({ mqtt }) => mqtt.reconnects,
};

async function ask(prometheus: Prometheus, expression: string): Promise<number | null> {
  const [sample] = await prometheus.query(expression);
  return sample?.value ?? null;
}

/** Holds SQLite's write lock while `work` runs. */
async function whileLocked(file: string, work: () => Promise<unknown>): Promise<void> {
  const lock = new DatabaseSync(file);
  try {
    lock.exec('BEGIN IMMEDIATE');
    await work();
  } finally {
    lock.close();
  }
}

/** How the stack's broker reports its statistics. */
const REPORTS = readFileSync(
  join(import.meta.dirname, '../../../stacks/mosquitto/mosquitto.conf'),
  'utf8',
).match(/^(sys_interval|retain_available) .*$/gm)!;

// Making the page can take minutes. The exporter counts from 0 only if the broker began in the minute before.
const libraries = await startOrSkip('grafana-libraries', drawingPage);
const skipDrawing = 'skip' in libraries ? libraries.skip : false;
const found = await startOrSkip('mosquitto', () =>
  startMosquitto({ conf: [...REPORTS, `max_queued_messages ${QUEUE}`] }),
);
const skip = 'skip' in found ? found.skip : false;

test('panels show the values of the services, and alerts fire and clear with faults', {
  skip,
}, async (context) => {
  const broker = (found as { server: Awaited<ReturnType<typeof startMosquitto>> }).server;
  context.after(() => broker.stop());
  const startBrokerMetrics = (METRICS_PORT: string) =>
    startServiceProcess(
      'broker-metrics',
      { BROKER: broker.url, METRICS_PORT },
      /"http":"(http:[^"]+)".*"broker-metrics is ready"/,
    );
  const exporter = await startBrokerMetrics('0');
  context.after(() => exporter.stop());
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-dashboards-test-'));
  context.after(() => rm(directory, { recursive: true }));
  // The store reports a locked file soon.
  const STORE = `sqlite:${join(directory, 'store.db')}?busy=200`;
  // Limits that are low enough for a test to reach.
  const bounds = { QUARANTINE_MAX_BYTES: '64KiB', SPOOL_MAX_BYTES: '64KiB' };
  const settings = { STORE, BROKER: broker.url, DATA_DIR: join(directory, 'data'), ...bounds };
  const ingest = await startIngestProcess(settings);
  context.after(() => ingest.stop());
  const api = await startApiProcess({ STORE, INGEST: ingest.url });
  context.after(() => api.stop());
  const ruleFiles = [join(directory, 'rules.yml'), join(directory, 'alerts.yml')];
  await writeFile(ruleFiles[0]!, recordingRulesFile());
  await writeFile(ruleFiles[1]!, alertsFile(IMPATIENT));
  const prometheus = await startPrometheus({
    targets: {
      ingest: [new URL(ingest.url).host],
      api: [new URL(api.url).host],
      broker: [new URL(exporter.url).host],
    },
    scrapeMs: SCRAPE_MS,
    ruleFiles,
  });
  context.after(() => prometheus.stop());
  await until('all are scraped', async () => (await prometheus.query('up == 1')).length === 3);

  await context.test('every counter is 0 from the start, so that a first event is an increase', async () => {
    for (const { url } of [ingest, api, exporter]) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const counters = [...text.matchAll(/^# TYPE ((?:tidegauge|mosquitto)_\w+) counter$/gm)];
      assert.ok(counters.length > 0, url);
      const missing = counters.filter(([, name]) => !new RegExp(`^${name}[ {]`, 'm').test(text));
      // These have a rule or a receiver of alerts as a label, and there is none.
      const names = missing
        .map(([, name]) => name!)
        .filter((name) => !/^tidegauge_alert(s_raised|_messages)_/.test(name));
      assert.deepEqual(names, [], url);
    }
  });

  await until('the first report of the broker', async () => {
    return (await ask(prometheus, 'mosquitto_report_age_seconds')) !== null;
  });
  const port = broker.port;
  let loading = true;
  let published = 0;
  const load = (async () => {
    for (const count = RATE * LOAD_SECONDS; loading; published += count) {
      await publish({ port, count, first: published, devices: DEVICES, rate: RATE });
    }
  })();
  const counts = { latest: 0, refused: 0 };
  const requests = (async () => {
    while (loading) {
      await (await fetch(`${api.url}/v1/readings/latest?device=bench-0`)).arrayBuffer();
      counts.latest += 1;
      await (await fetch(`${api.url}/v1/readings?from=yesterday`)).arrayBuffer();
      counts.refused += 1;
      await sleep(200);
    }
  })();

  await context.test('rates are those of the ledger of the same time, within 5 %', async () => {
    await ingest.until(({ readings }) => readings.stored > 3 * RATE, WAIT_MS);
    let far: string[] = [];
    // A pause of the machine for a second distorts the rate over ten seconds. Most samples are not affected.
    const agree = async () => {
      const before = { ledger: await ingest.ledger(), at: performance.now() };
      await sleep(10_000);
      const after = { ledger: await ingest.ledger(), at: performance.now() };
      far = [];
      for (const [counter, known] of Object.entries(FLOWS)) {
        const found = await ask(prometheus, `sum(rate(${counter}[10s]))`);
        const rate = ((known(after.ledger) - known(before.ledger)) * 1000) / (after.at - before.at);
        if (!(Math.abs((found ?? 0) / rate - 1) < TOLERANCE)) far.push(`${counter}: ${found}, known ${rate}`);
      }
      return far.length === 0;
    };
    await until('they agree', agree).catch(() => assert.deepEqual(far, []));
  });

  await context.test(
    'every query of every panel is taken, and gives data where its source runs',
    async () => {
      const isExcused = (text: string) => {
        const [dashboard, row, panel] = text.split(/ \/ |: /);
        return EMPTY_DASHBOARDS.has(dashboard!) || EMPTY_ROWS.test(row!) || EMPTY_PANELS.has(panel!);
      };
      let empty: string[] = [];
      // A rate over ten seconds needs two scrapes, and a busy machine can miss one.
      const complete = async () => {
        empty = (await emptyOf(prometheus, panelQueries('10s'))).filter((text) => !isExcused(text));
        return empty.length === 0;
      };
      await until('data everywhere', complete).catch(() => assert.deepEqual(empty, []));
    },
  );

  const latest = { api: api.url, metric: 'temperature' };
  const models: DrawingModel[] = [];
  /** Keeps what dashboards show now. They are drawn at the end. Pictures to look at are of all of them. */
  const see = async (state: string, ...names: readonly string[]) => {
    const all = names.length === 0 || process.env.TIDEGAUGE_DRAWINGS !== undefined;
    const dashboards = all ? WITH_DATA : names.map((name) => `tidegauge-${name}`);
    const view = { prometheus, latest, rows: ROWS, seconds: 60, scrapeMs: SCRAPE_MS };
    models.push(...(await shownNow({ ...view, state, dashboards })));
  };
  const position = { lat: 48.86, lon: 2.29 };
  const positions = Object.entries(position).map(([metric, v]) => ({ device: 'jane/phone', metric, v }));
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify(positions);
  assert.ok((await fetch(`${api.url}/v1/readings`, { method: 'POST', headers, body })).ok);
  await see('healthy');
  loading = false;
  await load;
  await requests;
  // A pause of the machine for a second can cause an alert.
  const quiet = async () => (await prometheus.query('ALERTS{alertstate="firing"}')).length === 0;
  await until('no alert without a fault', quiet);

  await context.test('at rest every figure is what ingest, the API and the broker were given', async () => {
    const client = await connectAsync(broker.url);
    for (const payload of [
      '{"t":"2026-01-01T00:00:00Z","v":1}',
      '{"t":"2026-01-01T00:00:00Z","v":1}',
      '{"v":',
    ])
      await client.publishAsync('sensors/known/x', payload, { qos: 1 });
    await client.endAsync();
    await ingest.until(({ readings }) => readings.quarantined === 1 && readings.duplicate === 1, WAIT_MS);
    const expected = new Map([
      ['tidegauge_http_request_seconds_count{route="/v1/readings/latest"}', counts.latest],
      ['tidegauge_http_request_seconds_count{route="/v1/readings", status="400"}', counts.refused],
      ['tidegauge_messages_received_total', published + 3],
    ]);
    let found: (readonly [string, number | null])[] = [];
    const agree = async () => {
      const ledger = await ingest.ledger();
      for (const [name, known] of Object.entries({ ...FLOWS, ...LEVELS }))
        if (name !== 'tidegauge_messages_received_total') expected.set(name, known(ledger));
      // The positions have the time of their receipt, and no travel.
      expected.set(TRAVEL, expected.get(TRAVEL)! - positions.length);
      const names = [...expected.keys()];
      found = await Promise.all(
        names.map(async (name) => [name, await ask(prometheus, `sum(${name})`)] as const),
      );
      return found.every(([name, value]) => value === expected.get(name));
    };
    await until('they agree', agree).catch(() => assert.deepEqual(found, [...expected]));
  });

  await context.test('alerts fire for undecodable messages, a clock ahead and a gap', async () => {
    const client = await connectAsync(broker.url);
    const undecodable = `{"v":${' '.repeat(1000)}`;
    for (let number = 0; number < 200; number++)
      await client.publishAsync('sensors/undecodable/x', undecodable, { qos: 1 });
    // Ahead by the most that ingest accepts as `ok`, because the message waits while ingest is not connected.
    const ahead = new Date(Date.now() + 55_000).toISOString();
    await client.publishAsync('sensors/ahead/x', JSON.stringify({ t: ahead, v: 1 }), { qos: 1 });
    await client.endAsync();
    await publish({ port, count: DEVICES, devices: DEVICES, first: published + 5 * DEVICES });
    await fires(
      prometheus,
      'TidegaugeReadingsQuarantined',
      'TidegaugeQuarantineDropping',
      'TidegaugeSensorClockAhead',
      'TidegaugeReadingsMissing',
    );
  });

  await context.test('an alert fires for a queue that overflows, and clears after it', async () => {
    const options = { clientId: 'sleeper', clean: false } as const;
    const sleeper = await connectAsync(broker.url, options);
    await sleeper.subscribeAsync('other/#', { qos: 1 });
    await sleeper.endAsync();
    const client = await connectAsync(broker.url);
    await Promise.all(
      Array.from({ length: QUEUE + LOST }, (_, number) =>
        client.publishAsync('other/a', `${number}`, { qos: 1 }),
      ),
    );
    await client.endAsync();
    await fires(prometheus, 'TidegaugeBrokerDropping', 'TidegaugeBrokerQueueLong');
    // Nothing was dropped before, and the broker reports only what changes.
    const counted = panelQueries('10s').find(({ panel }) => panel === 'Messages dropped')!.expression;
    await until('the first loss is counted', async () => (await ask(prometheus, counted)) === LOST);
    const lastHour = await numbers(prometheus, 'tidegauge-broker');
    assert.ok(Math.abs(Number(lastHour.get('Dropped in the last hour')!.text) / LOST - 1) < TOLERANCE);
    assert.equal(lastHour.get('Dropped in the last hour')!.colour, 'red');
    await see('dropping-broker', 'overview', 'broker');
    await (await connectAsync(broker.url, { ...options, clean: true })).endAsync();
    await clears(prometheus, 'TidegaugeBrokerQueueLong');
  });

  await context.test('an alert fires for a store that cannot be written, and clears after it', async () => {
    await whileLocked(join(directory, 'store.db'), async () => {
      await publish({ port, count: 50 * DEVICES, devices: DEVICES, prefix: 'locked' });
      await fires(prometheus, 'TidegaugeReadingsWaiting', 'TidegaugeStoreErrors', 'TidegaugeSpoolFilling');
      await see('unavailable-store', 'overview', 'live', 'ingest', 'store');
    });
    await clears(prometheus, 'TidegaugeReadingsWaiting', 'TidegaugeSpoolFilling');
  });

  await context.test('an alert fires for a killed replica, and clears after its return', async () => {
    await ingest.kill();
    const body = JSON.stringify([{ device: 'a', metric: 'b', v: 1 }]);
    let forwarding = true;
    const deliveries = (async () => {
      for (; forwarding; await sleep(200)) {
        const headers = { 'Content-Type': 'application/json' };
        await (await fetch(`${api.url}/v1/readings`, { method: 'POST', headers, body })).arrayBuffer();
      }
    })();
    try {
      await fires(prometheus, 'TidegaugeReplicaDown', 'TidegaugeReplicaGone', 'TidegaugeApiErrors');
      const live = await numbers(prometheus, 'tidegauge-live');
      assert.deepEqual(
        [...live].map(([title, { colour, text }]) => [title, colour, text]),
        [
          ['Readings stored', 'red', 'No data'],
          ['Oldest waiting reading', 'red', 'No data'],
          ['Missing in 15 minutes', 'red', 'No data'],
          ['Messages in quarantine', 'red', 'No data'],
          ['Broker connections', 'red', 'disconnected'],
          ['Readings in no count', 'red', 'No data'],
        ],
      );
      const overview = await numbers(prometheus, 'tidegauge-overview');
      const green = [...overview].filter(([, { colour }]) => colour !== 'red').map(([title]) => title);
      assert.deepEqual(green, []);
      assert.equal(overview.get('Processes')!.text, 'down');
      await see('dead-ingest', 'overview', 'live', 'ingest');
    } finally {
      forwarding = false;
      await deliveries;
    }
    const back = await startIngestProcess({ ...settings, METRICS_PORT: new URL(ingest.url).port });
    context.after(() => back.stop());
    await clears(prometheus, 'TidegaugeReplicaDown', 'TidegaugeReplicaGone');
  });

  await context.test('a dead exporter of the broker is shown as down', async () => {
    await exporter.kill();
    const up = async () => (await numbers(prometheus, 'tidegauge-broker')).get('Up')!;
    await until('it is down', async () => (await up()).text === 'down');
    assert.equal((await up()).colour, 'red');
    await see('dead-exporter', 'overview', 'broker');
    const back = await startBrokerMetrics(new URL(exporter.url).port);
    context.after(() => back.stop());
    await until('it is up', async () => (await up()).text === 'up');
    assert.equal((await up()).colour, 'green');
  });

  await context.test('an alert fires for a killed broker, and clears after its return', async () => {
    await broker.kill();
    await fires(prometheus, 'TidegaugeMqttDisconnected', 'TidegaugeBrokerUnreachable');
    await broker.restart();
    await clears(prometheus, 'TidegaugeMqttDisconnected', 'TidegaugeBrokerUnreachable');
  });

  await context.test(
    'every panel can be read, on a desktop and on a telephone, also during a fault',
    { skip: skipDrawing },
    async () => {
      const panels = await drawModels(models);
      const mayBeEmpty = ({ state, title }: Drawn) => state !== 'healthy' || EMPTY_PANELS.has(title);
      assert.deepEqual(drawingFaults(panels, mayBeEmpty), []);
      for (const [fault, texts] of Object.entries(FAULTY)) {
        for (const [name, text] of Object.entries(texts)) {
          const shown = panels.filter(({ state, title }) => state === fault && title === name);
          assert.ok(shown.length > 0, `${fault}: ${name}`);
          for (const panel of shown) assert.match(panel.text, text, `${fault}: ${name}`);
        }
      }
    },
  );
});
