import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launchServer, type Mosquitto, startMosquitto } from '@tidegauge/lab';
import { type Postgres, startPostgres } from '@tidegauge/lab/postgres';
import { buildTelegraf, TELEGRAF_VERSION } from '@tidegauge/lab/telegraf';
import { defineConfig, integer, run } from '@tidegauge/service/program';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { cpuSeconds, watchMemory } from '@tidegauge/test-support/process-usage';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import { BENCH_SETTINGS, defineBench } from '../src/benches/define-bench.ts';
import { showNumber } from '../src/results/show-number.ts';
import { median } from '../src/results/statistics.ts';
import { textTable } from '../src/results/table.ts';

/**
 * `npm run bench:peers`: compares Telegraf with ingest, in alternation, on the same broker, publisher and PostgreSQL.
 * Telegraf has settings that are both fast and safe: a persistent session (so that it acknowledges after its output has
 * accepted the message), COPY, and 20,000 undelivered messages.
 *
 * A trial has two parts. In the first, the consumer runs while the messages are published; the time counts from the
 * first publish to the last row. Broker and publisher then use most of the machine. In the second, the consumer is
 * stopped, the same number of messages is queued at the broker, and the consumer is started again; the time counts
 * from the first row to the last.
 */
const PLUGINS = ['inputs.mqtt_consumer', 'outputs.postgresql', 'parsers.json'];
const WAIT_MS = 180_000;
const POLL_MS = 100;
const DEVICES = 500;
const { quick, json } = BENCH_SETTINGS;
const settings = defineConfig({
  messages: {
    kind: integer(1000, 5_000_000),
    help: 'QoS 1 messages of each trial. Default: 400000, or 50000 with --quick.',
  },
  rounds: { kind: integer(1, 50), help: 'Rounds to measure. Default: 3, or 1 with --quick.' },
  quick,
  json,
});

/** Settings that all trials share. */
interface Setup {
  readonly messages: number;
  readonly rounds: number;
}

interface Servers {
  readonly telegraf: string;
  readonly directory: string;
  readonly broker: Mosquitto;
  readonly postgres: Postgres;
}

interface Trial {
  readonly consumer: string;
  readonly storedPerSecond: number;
  readonly caughtUpPerSecond: number;
  /** Processor time of the consumer in the first part, while messages are published. */
  readonly cpuMicrosPerMessage: number;
  readonly residentMiB: number;
}

/** A consumer with its own database. Its session stays at the broker when the consumer stops. */
interface Consumer {
  readonly name: string;
  start(): Promise<{ readonly pid: number; stop(): Promise<unknown> }>;
  /** Number of rows in its table. */
  stored(): Promise<number>;
}

export const program = defineBench({
  name: 'bench:peers',
  summary:
    'Compares ingest with Telegraf on the same broker, publisher and PostgreSQL, in alternating rounds.',
  settings,
  check: ({ messages, rounds, quick }): Setup => ({
    messages: messages ?? (quick ? 50_000 : 400_000),
    rounds: rounds ?? (quick ? 1 : 3),
  }),
  async run(_config, setup, { closers, signal }) {
    const telegraf = await buildTelegraf(PLUGINS);
    const directory = mkdtempSync(join(tmpdir(), 'tidegauge-peers-'));
    closers.add(async () => rmSync(directory, { recursive: true }));
    const broker = await startMosquitto();
    closers.add(() => broker.stop());
    const postgres = await startPostgres();
    closers.add(() => postgres.stop());
    const servers: Servers = { telegraf, directory, broker, postgres };
    const ours: Trial[] = [];
    const theirs: Trial[] = [];
    for (let round = 0; round < setup.rounds; round++) {
      const turns = [
        async () => ours.push(await trial(`ours_${round}`, ingest, servers, setup)),
        async () => theirs.push(await trial(`theirs_${round}`, peer, servers, setup)),
      ];
      for (const turn of round % 2 === 0 ? turns : turns.toReversed()) {
        signal.throwIfAborted();
        await turn();
      }
      const rows = [ours, theirs].map((trials) => row(trials[round]!).join(' '));
      process.stderr.write(`round ${round + 1}/${setup.rounds}: ${rows.join(' | ')}\n`);
    }
    return {
      ...setup,
      telegraf: `v${TELEGRAF_VERSION}`,
      ...report(ours, theirs, setup),
      trials: { ours, theirs },
    };
  },
});

async function trial(
  id: string,
  consumerOn: (servers: Servers, database: string, id: string) => Consumer,
  servers: Servers,
  { messages }: Setup,
): Promise<Trial> {
  const { postgres, broker } = servers;
  const database = await postgres.createDatabase();
  try {
    const consumer = consumerOn(servers, database, id);
    const live = await measureLive(consumer, broker, messages);
    return {
      consumer: consumer.name,
      ...live,
      caughtUpPerSecond: await measureCatchUp(consumer, broker, messages),
    };
  } finally {
    await postgres.query(`drop database ${database} with (force)`);
  }
}

function ingest({ postgres, broker, directory }: Servers, database: string, id: string): Consumer {
  const environment = {
    STORE: postgres.url(database),
    BROKER: broker.url,
    CLIENT_ID: id,
    DATA_DIR: join(directory, id),
  };
  return {
    name: 'ingest',
    start: () => startIngestProcess(environment),
    stored: () => rows(postgres, 'readings', database),
  };
}

function peer(servers: Servers, database: string, id: string): Consumer {
  const { postgres, directory, telegraf } = servers;
  const file = join(directory, `${id}.conf`);
  writeFileSync(file, configuration(servers, database, id), { mode: 0o600 });
  return {
    name: 'telegraf',
    start: () =>
      launchServer({
        name: 'telegraf',
        command: telegraf,
        args: ['--config', file],
        // Telegraf has no readiness check. Messages that arrive before it has made its persistent session are lost.
        ready: () => sleep(3000, true),
        readyMs: 10_000,
      }),
    stored: () => rows(postgres, 'mqtt_consumer', database),
  };
}

async function rows(postgres: Postgres, table: string, database: string): Promise<number> {
  return Number(await postgres.query(`select count(*) from ${table}`, database).catch(() => '0'));
}

function configuration({ postgres, broker }: Servers, database: string, id: string): string {
  const { port, user, password } = postgres;
  return `
[agent]
  interval = "1s"
  flush_interval = "1s"
  metric_batch_size = 5000
  metric_buffer_limit = 100000
  omit_hostname = true
  quiet = true
[[inputs.mqtt_consumer]]
  servers = ["tcp://127.0.0.1:${broker.port}"]
  topics = ["sensors/#"]
  qos = 1
  client_id = "${id}"
  persistent_session = true
  max_undelivered_messages = 20000
  data_format = "json"
  json_time_key = "t"
  json_time_format = "unix_us"
  json_string_fields = ["boot"]
[[outputs.postgresql]]
  connection = "host=127.0.0.1 port=${port} user=${user} password=${password} dbname=${database} sslmode=disable"
`;
}

async function measureLive(
  consumer: Consumer,
  broker: Mosquitto,
  messages: number,
): Promise<Pick<Trial, 'storedPerSecond' | 'cpuMicrosPerMessage' | 'residentMiB'>> {
  const { pid, stop } = await consumer.start();
  try {
    const peak = watchMemory(pid);
    const before = cpuSeconds(pid);
    const begun = performance.now();
    const published = publishFromProcess({ port: broker.port, count: messages, devices: DEVICES });
    await until(consumer, messages);
    const seconds = (performance.now() - begun) / 1000;
    const cpu = cpuSeconds(pid) - before;
    await published;
    return {
      storedPerSecond: messages / seconds,
      cpuMicrosPerMessage: (cpu * 1e6) / messages,
      residentMiB: peak() / 2 ** 20,
    };
  } finally {
    await stop();
  }
}

/** Measures the second part of a trial. It uses other devices than the first part, so that no row is a duplicate. */
async function measureCatchUp(consumer: Consumer, broker: Mosquitto, messages: number): Promise<number> {
  await publishFromProcess({ port: broker.port, count: messages, devices: DEVICES, prefix: 'later' });
  const started = consumer.start();
  const first = await until(consumer, messages + 1);
  const begun = performance.now();
  await until(consumer, 2 * messages);
  const seconds = (performance.now() - begun) / 1000;
  await (await started).stop();
  return (2 * messages - first) / seconds;
}

/** Waits until there are at least `wanted` rows, and resolves to their number. */
async function until({ name, stored }: Consumer, wanted: number): Promise<number> {
  for (const deadline = performance.now() + WAIT_MS; ; await sleep(POLL_MS)) {
    const count = await stored();
    if (count >= wanted) return count;
    if (performance.now() > deadline)
      throw new Error(`${name} stored ${count} of ${wanted} within ${WAIT_MS} ms`);
  }
}

function row({
  consumer,
  storedPerSecond,
  caughtUpPerSecond,
  cpuMicrosPerMessage,
  residentMiB,
}: Trial): string[] {
  return [
    consumer,
    `${showNumber(storedPerSecond)}/s`,
    `${showNumber(caughtUpPerSecond)}/s`,
    `${cpuMicrosPerMessage.toFixed(1)} us`,
    `${residentMiB.toFixed(0)} MiB`,
  ];
}

/** Prints the table. Returns the medians, and the figures of ingest divided by those of Telegraf. */
function report(ours: readonly Trial[], theirs: readonly Trial[], { messages, rounds }: Setup) {
  const summary = [ours, theirs].map((trials) => ({
    consumer: trials[0]!.consumer,
    storedPerSecond: median(trials.map((trial) => trial.storedPerSecond)),
    caughtUpPerSecond: median(trials.map((trial) => trial.caughtUpPerSecond)),
    cpuMicrosPerMessage: median(trials.map((trial) => trial.cpuMicrosPerMessage)),
    residentMiB: Math.max(...trials.map((trial) => trial.residentMiB)),
  }));
  const ratio = (field: 'storedPerSecond' | 'caughtUpPerSecond' | 'cpuMicrosPerMessage') =>
    median(ours.map((trial, round) => trial[field] / theirs[round]![field]));
  const rate = ratio('storedPerSecond');
  const caughtUp = ratio('caughtUpPerSecond');
  const cpu = ratio('cpuMicrosPerMessage');
  process.stdout.write(`\n${messages} QoS 1 messages into PostgreSQL, median of ${rounds}\n`);
  process.stdout.write(
    textTable([['consumer', 'stored', 'caught up', 'CPU per message', 'memory'], ...summary.map(row)]),
  );
  process.stdout.write(
    `ingest beside Telegraf ${TELEGRAF_VERSION}: ${rate.toFixed(2)} x its rate, ${caughtUp.toFixed(2)} x its rate of catching up, ${cpu.toFixed(2)} x its CPU per message\n`,
  );
  return { summary, rate, caughtUp, cpu };
}

if (import.meta.main) process.exitCode = await run(program);
