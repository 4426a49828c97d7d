import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import { type AnyBroker, startAnyBroker } from '@tidegauge/lab/any-broker';
import { textTable } from '@tidegauge/loadtests/results/table';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { provideFolder } from '@tidegauge/loadtests/targets/targets';
import { unlessAborted } from '@tidegauge/loadtests/unless-aborted';
import { freePort } from '@tidegauge/process';
import { defineConfig, list, oneOf, run, text } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { type IngestProcess, startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { DEVICE, NumberedPublisher } from '../src/brokers/publisher.ts';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- brokers`: publishes numbered messages through a broker into ingest with SQLite, kills the broker and
 * ingest on the way, and looks for every acknowledged message in the store.
 */
const { quick, json } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  command: {
    kind: text('a command'),
    help: "Starts the broker in the foreground: 'NAME -p {port} -d {directory}'. Default: mosquitto.",
  },
  kill: {
    kind: list(oneOf(['broker', 'ingest', 'none'])),
    default: 'broker,ingest',
    help: 'What is killed: the broker after a third of the messages, ingest after two thirds.',
  },
  quick,
  json,
});

/** Messages per second, at most. */
const RATE = 1000;
/** How long a killed part is down. */
const DOWN_MS = 1000;
const POLL_MS = 200;

interface Result {
  readonly acknowledged: number;
  readonly stored: number;
  /** Numbers that the publisher has a PUBACK for and the store does not have. */
  readonly lost: readonly number[];
  /** Messages that ingest received more than once. It stores each once. */
  readonly again: number;
  /** Acknowledged messages per second until the first kill. */
  readonly perSecond: number;
}

export const program = defineBench({
  name: 'brokers',
  summary: 'What acknowledged messages a broker loses when it and ingest are killed.',
  details: 'The losses of a broker are measured: they are not a failure of this program.',
  settings: SETTINGS,
  check: ({ quick, kill }) => ({
    count: quick ? 500 : 10_000,
    // Without a new reading for this time, missing ones are lost.
    settleMs: quick ? 3000 : 15_000,
    kills: new Set<string>(kill),
  }),
  async run(config, checked, { closers, signal }) {
    const result = await measure(config.command, checked, closers, signal);
    process.stdout.write(report(config.command, result));
    return {
      command: config.command,
      rate: RATE,
      kill: config.kill,
      ...result,
      lost: result.lost.slice(0, 1000),
    };
  },
});

async function measure(
  command: string | null,
  { count, settleMs, kills }: { count: number; settleMs: number; kills: ReadonlySet<string> },
  closers: Closers,
  signal: AbortSignal,
): Promise<Result> {
  const broker: AnyBroker =
    command === null
      ? await startMosquitto({ persistence: true, conf: ['autosave_interval 1'] })
      : await startAnyBroker(command);
  closers.add(() => broker.stop());
  const folder = provideFolder(closers);
  const store = `sqlite:${folder}/readings.db`;
  const env = {
    STORE: store,
    BROKER: broker.url,
    CLIENT_ID: 'brokers',
    DATA_DIR: folder,
    METRICS_PORT: String(await freePort()),
  };
  let ingest = await startIngestProcess(env);
  closers.add(() => ingest.stop());
  const begun = performance.now();
  const publisher = await NumberedPublisher.start(broker.url, count, RATE);
  closers.add(() => publisher.stop());

  await publisher.reaches(Math.floor(count / 3));
  const perSecond = publisher.acknowledged.size / ((performance.now() - begun) / 1000);
  if (kills.has('broker')) {
    await broker.kill();
    await sleep(DOWN_MS, undefined, { signal });
    await broker.restart();
  }
  await publisher.reaches(Math.floor((count * 2) / 3));
  if (kills.has('ingest')) {
    await ingest.kill();
    await sleep(DOWN_MS, undefined, { signal });
    ingest = await startIngestProcess(env);
  }
  await unlessAborted(publisher.done, signal);
  await settled(ingest, settleMs, signal);

  const found = await storedNumbers(store);
  const { acknowledged } = publisher;
  const { gaps } = await ingest.ledger();
  return {
    acknowledged: acknowledged.size,
    stored: found.size,
    lost: [...acknowledged].filter((number) => !found.has(number)).toSorted((a, b) => a - b),
    again: gaps.duplicates,
    perSecond,
  };
}

/** Resolves when ingest has stored what it received, and has received nothing for some time. */
async function settled(ingest: IngestProcess, settleMs: number, signal: AbortSignal): Promise<void> {
  let last = -1;
  for (let since = performance.now(); performance.now() - since < settleMs; ) {
    await sleep(POLL_MS, undefined, { signal });
    const { received, inFlight, spooled } = (await ingest.ledger()).readings;
    if (received === last && inFlight + spooled === 0) continue;
    last = received;
    since = performance.now();
  }
}

async function storedNumbers(url: string): Promise<ReadonlySet<number>> {
  const store = await openStore(url);
  try {
    const numbers = new Set<number>();
    for await (const { value } of store.readings.range({
      device: DEVICE,
      order: 'asc',
      limit: Number.MAX_SAFE_INTEGER,
    })) {
      numbers.add(Number(value));
    }
    return numbers;
  } finally {
    await store.close();
  }
}

function report(command: string | null, result: Result): string {
  const { acknowledged, stored, lost, again, perSecond } = result;
  const table = textTable([
    ['acknowledged', 'stored', 'lost', 'received again', 'messages/s'],
    [acknowledged, stored, lost.length, again, Math.round(perSecond)].map((value) =>
      value.toLocaleString('en'),
    ),
  ]);
  const first = lost.length === 0 ? '' : `lost: ${rangesOf(lost)}\n`;
  return `${command ?? 'mosquitto'}\n${table}${first}`;
}

const MOST_RANGES = 10;

function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const texts = ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`));
  const rest = texts.length - MOST_RANGES;
  return [...texts.slice(0, MOST_RANGES), ...(rest > 0 ? [`${rest} more ranges`] : [])].join(', ');
}

if (import.meta.main) process.exitCode = await run(program);
