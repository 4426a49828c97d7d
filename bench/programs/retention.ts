import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedBroker } from '@tidegauge/lab';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { quantile } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { checkLabStore, provideFolder } from '@tidegauge/loadtests/targets/targets';
import { type Config, defineConfig, run } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';

/**
 * `npm run bench -- retention`: the time from a request with a reading to its commit, while ingest deletes old readings, and
 * while it does not. Rounds alternate, each with a new store.
 */
const { store, quick, rounds, json } = BENCH_SETTINGS;
const SETTINGS = defineConfig({ store, quick, rounds, json });

const SERIES = 20;
const BATCH = 5000;
const EVERY_MS = 10;
const MOST_MS = 20_000;
const WARM_UP_MS = 1000;
const DAY = 86_400_000_000;

interface Side {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Round {
  readonly without: Side;
  readonly during: Side;
  readonly deletedPerSecond: number | null;
}

export const program = defineBench({
  name: 'retention',
  summary: 'Time to store a reading while retention deletes old ones, compared with the time without.',
  settings: SETTINGS,
  check({ store }) {
    checkLabStore(store);
  },
  async run(config, _checked, context) {
    const { store, quick } = config;
    const places = await startStorePlaces(store);
    context.closers.add(() => places.stop());
    const rounds: Round[] = [];
    for (let round = 0; round < (config.rounds ?? (quick ? 1 : 3)); round++) {
      context.signal.throwIfAborted();
      rounds.push(await measureRound(await places.create(`retention${round}`), config, context));
    }
    const median = (pick: (round: Round) => number) => quantile(rounds.map(pick), 0.5);
    const figures = {
      p50Ratio: median(({ without, during }) => during.p50Ms / without.p50Ms),
      p99Ratio: median(({ without, during }) => during.p99Ms / without.p99Ms),
    };
    process.stdout.write(
      textTable([
        ['', 'requests', 'p50 ms', 'p99 ms', 'deleted/s'],
        ...rounds.flatMap(({ without, during, deletedPerSecond }) => [
          ['without', ...shown(without), '-'],
          ['during', ...shown(during), deletedPerSecond === null ? '-' : showNumber(deletedPerSecond)],
        ]),
      ]),
    );
    const { p50Ratio, p99Ratio } = figures;
    process.stdout.write(`\nmedian ratios: p50 ${p50Ratio.toFixed(2)}, p99 ${p99Ratio.toFixed(2)}\n`);
    return { setup: { store, quick }, ...figures, rounds };
  },
});

async function measureRound(
  url: string,
  config: Config<typeof SETTINGS>,
  context: BenchContext,
): Promise<Round> {
  // Old readings.
  const rows = config.quick ? 60_000 : 400_000;
  const store = await openStore(url);
  await fill(store, rows);
  await store.close();
  const without = await measure(url, {}, context, async (ingest, requests) => {
    await ask(ingest, requests, (since) => since < (config.quick ? 3000 : 10_000));
    return null;
  });
  const keep = { RETENTION: 'raw:1d', RETENTION_EVERY: '1s' };
  const during = await measure(url, keep, context, async (ingest, requests) => {
    while ((await ingest.ledger()).deleted === 0) await sleep(1);
    const from = performance.now();
    await ask(ingest, requests, async (since) => since < MOST_MS && (await ingest.ledger()).deleted < rows);
    return ((await ingest.ledger()).deleted / (performance.now() - from)) * 1000;
  });
  return { without: without.side, during: during.side, deletedPerSecond: during.rate };
}

type Ingest = Awaited<ReturnType<typeof startIngestProcess>>;

async function measure(
  url: string,
  settings: Readonly<Record<string, string>>,
  { signal }: BenchContext,
  work: (ingest: Ingest, requests: number[]) => Promise<number | null>,
): Promise<{ readonly side: Side; readonly rate: number | null }> {
  const closers = new Closers();
  try {
    const broker = await startEmbeddedBroker({ port: 0 });
    closers.add(() => broker.close());
    const DATA_DIR = provideFolder(closers);
    const ingest = await startIngestProcess({ STORE: url, BROKER: broker.url, DATA_DIR, ...settings });
    closers.add(() => ingest.stop());
    signal.throwIfAborted();
    // Compiling code takes the first requests.
    await ask(ingest, [], (since) => since < WARM_UP_MS);
    const requests: number[] = [];
    const rate = await work(ingest, requests);
    if (requests.length < 20) throw new Error(`only ${requests.length} requests were made: too few`);
    return {
      side: { requests: requests.length, p50Ms: quantile(requests, 0.5), p99Ms: quantile(requests, 0.99) },
      rate,
    };
  } finally {
    await closers.close();
  }
}

/** Sends one reading after the other, with a short pause, and measures each request. */
async function ask(
  ingest: Ingest,
  requests: number[],
  goesOn: (sinceMs: number) => boolean | Promise<boolean>,
): Promise<void> {
  const from = performance.now();
  for (let number = 0; number % 10 !== 0 || (await goesOn(performance.now() - from)); number++) {
    const began = performance.now();
    const response = await fetch(`${ingest.url}/readings?device=new/${number % SERIES}&metric=m`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/plain' },
      body: String(number),
    });
    await response.text();
    if (!response.ok) throw new Error(`ingest answers ${response.status}`);
    requests.push(performance.now() - began);
    await sleep(EVERY_MS);
  }
}

async function fill(store: Store, rows: number): Promise<void> {
  const start = (Date.now() - 30 * 86_400_000) * 1000;
  for (let first = 0; first < rows; first += BATCH) {
    const count = Math.min(BATCH, rows - first);
    await store.readings.write(
      Array.from({ length: count }, (_, index) => {
        const time = start + Math.floor(((first + index) / rows) * 20 * DAY);
        const device = `old/${(first + index) % SERIES}`;
        return {
          device,
          metric: 'm',
          time,
          value: index,
          received: time,
          boot: null,
          seq: null,
          quality: 'ok' as const,
        };
      }),
    );
  }
}

function shown({ requests, p50Ms, p99Ms }: Side): string[] {
  return [String(requests), showNumber(p50Ms), showNumber(p99Ms)];
}

if (import.meta.main) process.exitCode = await run(program);
