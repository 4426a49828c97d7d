import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { launchServer, startMosquitto } from '@tidegauge/lab';
import { buildOnce } from '@tidegauge/lab/build-once';
import { go } from '@tidegauge/lab/go';
import { startPostgres } from '@tidegauge/lab/postgres';
import { startIngestProcess } from '../src/ingest-process.ts';
import { cpuSeconds, watchMemory } from '../src/process-usage.ts';
import { publishFromProcess } from '../src/publisher-process.ts';
import { median } from '../src/statistics.ts';
import { showNumber, textTable } from '../src/table.ts';

/**
 * `npm run bench:peers`: Telegraf and ingest in turns, on the same broker, publisher and PostgreSQL. Telegraf has the
 * settings that make it fast and safe at once: persistent session (so that it acknowledges after its output
 * accepted), COPY, 20,000 messages undelivered. Rates are from the first publish to the last row in the database.
 */
const TELEGRAF = 'v1.37.2';
const WAIT_MS = 180_000;
const { values: flags } = parseArgs({
  options: {
    messages: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const messages = Number(flags.messages ?? (flags.quick ? 50_000 : 400_000));
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 3));
const devices = 500;

interface Trial {
  readonly consumer: string;
  readonly storedPerSecond: number;
  readonly cpuMicrosPerMessage: number;
  readonly residentMiB: number;
}

const telegraf = join(await buildOnce(`telegraf/${TELEGRAF}`, buildTelegraf), 'telegraf');
const directory = mkdtempSync(join(tmpdir(), 'tidegauge-peers-'));
const broker = await startMosquitto();
const postgres = await startPostgres();
try {
  const ours: Trial[] = [];
  const theirs: Trial[] = [];
  for (let round = 0; round < rounds; round++) {
    const turns = [
      async () => ours.push(await ingestTrial(round)),
      async () => theirs.push(await telegrafTrial(round)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
    process.stderr.write(
      `round ${round + 1}/${rounds}: ${[ours, theirs].map((trials) => row(trials[round]!).join(' ')).join(' | ')}\n`,
    );
  }
  report(ours, theirs);
} finally {
  await broker.stop();
  await postgres.stop();
  rmSync(directory, { recursive: true });
}

async function ingestTrial(round: number): Promise<Trial> {
  const database = await postgres.createDatabase();
  const ingest = await startIngestProcess({
    STORE: postgres.url(database),
    BROKER: broker.url,
    CLIENT_ID: `ours-${round}`,
    DATA_DIR: join(directory, `ours-${round}`),
  });
  try {
    const stored = async () => (await ingest.ledger()).readings.stored;
    return await measure('ingest', ingest.pid, stored);
  } finally {
    await ingest.stop();
    await postgres.query(`drop database ${database} with (force)`);
  }
}

async function telegrafTrial(round: number): Promise<Trial> {
  const database = await postgres.createDatabase();
  const file = join(directory, `telegraf-${round}.conf`);
  writeFileSync(file, configuration(database, round), { mode: 0o600 });
  const server = await launchServer({
    name: 'telegraf',
    command: telegraf,
    args: ['--config', file],
    // Nothing answers for it; a persistent session that it makes later would miss the first messages.
    ready: () => sleep(3000, true),
    readyMs: 10_000,
  });
  try {
    const stored = async () =>
      Number(await postgres.query('select count(*) from mqtt_consumer', database).catch(() => '0'));
    return await measure('telegraf', server.pid, stored);
  } finally {
    await server.stop();
    await postgres.query(`drop database ${database} with (force)`);
  }
}

function configuration(database: string, round: number): string {
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
  client_id = "theirs-${round}"
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

async function measure(consumer: string, pid: number, stored: () => Promise<number>): Promise<Trial> {
  const peak = watchMemory(pid);
  const before = cpuSeconds(pid);
  const begun = performance.now();
  const published = publishFromProcess({ port: broker.port, count: messages, devices });
  let count = 0;
  for (const deadline = begun + WAIT_MS; count < messages; await sleep(200)) {
    count = await stored();
    if (performance.now() > deadline)
      throw new Error(`${consumer} stored ${count} of ${messages} within ${WAIT_MS} ms`);
  }
  const seconds = (performance.now() - begun) / 1000;
  const cpu = cpuSeconds(pid) - before;
  await published;
  return {
    consumer,
    storedPerSecond: messages / seconds,
    cpuMicrosPerMessage: (cpu * 1e6) / messages,
    residentMiB: peak() / 2 ** 20,
  };
}

function row({ consumer, storedPerSecond, cpuMicrosPerMessage, residentMiB }: Trial): string[] {
  return [
    consumer,
    `${showNumber(storedPerSecond)}/s`,
    `${cpuMicrosPerMessage.toFixed(1)} us`,
    `${residentMiB.toFixed(0)} MiB`,
  ];
}

function report(ours: readonly Trial[], theirs: readonly Trial[]): void {
  const summary = [ours, theirs].map((trials) => ({
    consumer: trials[0]!.consumer,
    storedPerSecond: median(trials.map((trial) => trial.storedPerSecond)),
    cpuMicrosPerMessage: median(trials.map((trial) => trial.cpuMicrosPerMessage)),
    residentMiB: Math.max(...trials.map((trial) => trial.residentMiB)),
  }));
  const ratio = (field: 'storedPerSecond' | 'cpuMicrosPerMessage') =>
    median(ours.map((trial, round) => trial[field] / theirs[round]![field]));
  const rate = ratio('storedPerSecond');
  const cpu = ratio('cpuMicrosPerMessage');
  process.stdout.write(`\n${messages} QoS 1 messages into PostgreSQL, median of ${rounds}\n`);
  process.stdout.write(textTable([['consumer', 'stored', 'CPU per message', 'memory'], ...summary.map(row)]));
  process.stdout.write(
    `ingest beside Telegraf ${TELEGRAF}: ${rate.toFixed(2)} x its rate, ${cpu.toFixed(2)} x its CPU per message\n`,
  );
  if (flags.json !== undefined) {
    const document = { messages, rounds, telegraf: TELEGRAF, summary, rate, cpu, trials: { ours, theirs } };
    writeFileSync(flags.json, `${JSON.stringify(document, null, 2)}\n`);
  }
}

/** Telegraf with the three plugins it needs here, from its Go module. */
async function buildTelegraf(target: string): Promise<void> {
  process.stderr.write(`Building Telegraf ${TELEGRAF} (once, some minutes)...\n`);
  const stdout = await go(['mod', 'download', '-json', `github.com/influxdata/telegraf@${TELEGRAF}`]);
  const { Dir: source } = JSON.parse(stdout) as { Dir: string };
  await mkdir(target);
  const tags = 'custom,inputs.mqtt_consumer,outputs.postgresql,parsers.json';
  const build = ['build', '-tags', tags, '-o', join(target, 'telegraf'), './cmd/telegraf'];
  await go(build, { cwd: source });
}
