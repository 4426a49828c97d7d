import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { type Prometheus, startPrometheus } from '@tidegauge/lab/prometheus';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startApiProcess } from '@tidegauge/loadtests/api-process';
import { startIngestProcess } from '@tidegauge/loadtests/ingest-process';
import { publish } from '@tidegauge/loadtests/publisher';
import { startServiceProcess } from '@tidegauge/loadtests/service-process';
import { connectAsync } from 'mqtt';
import { BOARDS } from '../../src/boards.ts';
import { CONFIG } from '../../src/config.ts';
import { expressionsOf, withEverythingChosen } from '../../src/lint.ts';
import { alertsFile, recordingRulesFile } from '../../src/rule-files.ts';

const WAIT_MS = 90_000;
const RATE = 200;
/** Of one connection's load; the next goes on where it ended. */
const LOAD_SECONDS = 5;
const DEVICES = 10;
const SCRAPE_MS = 500;
const TOLERANCE = 0.05;

/** As shipped, but impatient: a test cannot wait for minutes, nor for 50,000 messages. */
const IMPATIENT = {
  ...CONFIG,
  patience: 0.02,
  thresholds: { ...CONFIG.thresholds, oldestUnstoredSeconds: 2, brokerQueuedMessages: 500 },
};

/** Panels that need what does not run here; their queries must be taken all the same. */
const EMPTY_ROWS = /postgres_exporter|mysqld_exporter|mongodb_exporter|JMX exporter/;
const EMPTY_BOARDS = new Set(['tidegauge-boards', 'tidegauge-load-test']);
/** No store call fails while all is well; the bound of the spool is shown once there is one. */
const EMPTY_PANELS = new Set(['Errors', 'Spool']);

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !(await done()); await sleep(200)) {
    assert.ok(Date.now() < deadline, `not so within ${WAIT_MS} ms: ${what}`);
  }
}

const firing = async (prometheus: Prometheus, alert: string) =>
  (await prometheus.query(`ALERTS{alertname="${alert}", alertstate="firing"}`)).length > 0;

const fires = (prometheus: Prometheus, ...alerts: string[]) =>
  Promise.all(alerts.map((alert) => until(`${alert} fires`, () => firing(prometheus, alert))));

const clears = (prometheus: Prometheus, ...alerts: string[]) =>
  Promise.all(
    alerts.map((alert) => until(`${alert} clears`, async () => !(await firing(prometheus, alert)))),
  );

const found = await startOrSkip('mosquitto', () =>
  startMosquitto({ conf: ['sys_interval 1', 'max_queued_messages 1000'] }),
);
const skip = 'skip' in found ? found.skip : false;

test('panels show what the program knows, and alerts follow faults and their end', {
  skip,
}, async (context) => {
  const broker = (found as { server: Awaited<ReturnType<typeof startMosquitto>> }).server;
  context.after(() => broker.stop());
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-dashboards-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const STORE = `sqlite:${join(directory, 'store.db')}`;
  const settings = { STORE, BROKER: broker.url, DATA_DIR: directory };
  const ingest = await startIngestProcess(settings);
  context.after(() => ingest.stop());
  const api = await startApiProcess({ STORE, INGEST: ingest.url });
  context.after(() => api.stop());
  const exporter = await startServiceProcess(
    'broker-metrics',
    { BROKER: broker.url, METRICS_PORT: '0' },
    /"http":"(http:[^"]+)".*"broker-metrics is ready"/,
  );
  context.after(() => exporter.stop());
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

  const port = broker.port;
  let loading = true;
  let published = 0;
  const load = (async () => {
    for (const count = RATE * LOAD_SECONDS; loading; published += count) {
      await publish({ port, count, first: published, devices: DEVICES, rate: RATE });
    }
  })();
  const requests = (async () => {
    while (loading) {
      await (await fetch(`${api.url}/v1/readings/latest?device=bench-0`)).arrayBuffer();
      await (await fetch(`${api.url}/v1/readings?from=yesterday`)).arrayBuffer();
      await sleep(200);
    }
  })();

  await context.test('a rate is the ledger of the same time, within 5 %', async () => {
    await ingest.until(({ readings }) => readings.stored > 3 * RATE, WAIT_MS);
    // A machine that stands still for a second bends a window of ten; it does not do so all the time.
    await until('they agree', async () => {
      const before = { stored: (await ingest.ledger()).readings.stored, at: performance.now() };
      await sleep(10_000);
      const after = { stored: (await ingest.ledger()).readings.stored, at: performance.now() };
      const [sample] = await prometheus.query('sum(rate(tidegauge_readings_stored_total[10s]))');
      const known = ((after.stored - before.stored) * 1000) / (after.at - before.at);
      return sample !== undefined && Math.abs(sample.value / known - 1) < TOLERANCE;
    });
  });

  await context.test(
    'every query of every panel is taken, and gives data where its source runs',
    async () => {
      const empty: string[] = [];
      for (const board of BOARDS) {
        let row = '';
        for (const panel of board.panels ?? []) {
          if (panel.type === 'row') row = panel.title ?? '';
          else {
            for (const expression of expressionsOf(panel)) {
              const samples = await prometheus.query(withEverythingChosen(expression, '10s', '1m'));
              const excused =
                EMPTY_BOARDS.has(board.uid!) || EMPTY_ROWS.test(row) || EMPTY_PANELS.has(panel.title!);
              if (samples.length === 0 && !excused)
                empty.push(`${board.title} / ${panel.title}: ${expression}`);
            }
          }
        }
      }
      assert.deepEqual(empty, []);
    },
  );
  loading = false;
  await load;
  await requests;
  // A machine that stands still for a second may have set one off.
  const quiet = async () => (await prometheus.query('ALERTS{alertstate="firing"}')).length === 0;
  await until('no alert without a fault', quiet);

  await context.test('poison, a clock ahead and a gap are told', async () => {
    const client = await connectAsync(broker.url);
    for (let number = 0; number < 200; number++)
      await client.publishAsync('sensors/poison/x', '{"v":', { qos: 1 });
    const ahead = new Date(Date.now() + 30_000).toISOString();
    await client.publishAsync('sensors/ahead/x', JSON.stringify({ t: ahead, v: 1 }), { qos: 1 });
    await client.endAsync();
    await publish({ port, count: DEVICES, devices: DEVICES, first: published + 5 * DEVICES });
    await fires(
      prometheus,
      'TidegaugeReadingsQuarantined',
      'TidegaugeSensorClockAhead',
      'TidegaugeReadingsMissing',
    );
  });

  await context.test('a queue that overflows is told; its end as well', async () => {
    const options = { clientId: 'sleeper', clean: false } as const;
    const sleeper = await connectAsync(broker.url, options);
    await sleeper.subscribeAsync('other/#', { qos: 1 });
    await sleeper.endAsync();
    const client = await connectAsync(broker.url);
    await Promise.all(
      Array.from({ length: 1200 }, (_, number) => client.publishAsync('other/a', `${number}`, { qos: 1 })),
    );
    await client.endAsync();
    await fires(prometheus, 'TidegaugeBrokerDropping', 'TidegaugeBrokerQueueLong');
    await (await connectAsync(broker.url, { ...options, clean: true })).endAsync();
    await clears(prometheus, 'TidegaugeBrokerQueueLong');
  });

  await context.test('a store that cannot be written is told; its end as well', async () => {
    const lock = new DatabaseSync(join(directory, 'store.db'));
    try {
      lock.exec('BEGIN IMMEDIATE');
      await publish({ port, count: DEVICES, devices: DEVICES, prefix: 'locked' });
      await fires(prometheus, 'TidegaugeReadingsWaiting', 'TidegaugeStoreErrors');
    } finally {
      lock.close();
    }
    await clears(prometheus, 'TidegaugeReadingsWaiting');
  });

  await context.test('a replica that is killed is told; its return as well', async () => {
    await ingest.kill();
    await fires(prometheus, 'TidegaugeReplicaDown', 'TidegaugeReplicaGone');
    const back = await startIngestProcess({ ...settings, METRICS_PORT: new URL(ingest.url).port });
    context.after(() => back.stop());
    await clears(prometheus, 'TidegaugeReplicaDown', 'TidegaugeReplicaGone');
  });

  await context.test('a broker that is killed is told; its return as well', async () => {
    await broker.kill();
    await fires(prometheus, 'TidegaugeMqttDisconnected', 'TidegaugeBrokerUnreachable');
    await broker.restart();
    await clears(prometheus, 'TidegaugeMqttDisconnected', 'TidegaugeBrokerUnreachable');
  });
});
