import { writeFileSync } from 'node:fs';
import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { RecordDriver } from '@tidegauge/loadtests/drivers/record-driver';
import { appTarget, rawTarget } from '@tidegauge/loadtests/drivers/record-target';
import { dropTable, loadRaw, loadThroughApi } from '@tidegauge/loadtests/loading/load-records';
import { readWorkload } from '@tidegauge/loadtests/profiles/records-profile';
import { say } from '@tidegauge/loadtests/say';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { defineConfig, integer, list, oneOf, outputFile, run, text } from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import type { RecordWorkload } from '@tidegauge/workload';
import { type AddedResult, addedCsv, headlineTable } from '../src/added-tables.ts';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { type Both, measureTurns, runChecked, type Side, type TurnSizes } from '../src/measure-turns.ts';
import { demandOf, type Participants } from '../src/operation-demand.ts';

/**
 * `npm run bench -- headline`: what the application adds to each store, by workload, with one thread and with many. One
 * server runs at a time. Both sides have their own database on it with the same records, and take turns: operation by
 * operation with one thread, else slice by slice. A measurement ends when the intervals of its medians are narrow. Time
 * that it does not need goes to the later ones.
 */
const { quick, seed, json } = BENCH_SETTINGS;
const settings = defineConfig({
  stores: {
    kind: list(oneOf(STORES)),
    default: STORES.join(','),
    help: 'The stores to measure, started by the lab.',
  },
  workloads: {
    kind: list(text('a letter from a to g, or i, or a YCSB property file', 'WORKLOAD')),
    default: 'a,b,c,d,e,f,g,i',
    help: 'The workloads.',
  },
  threads: {
    kind: list(integer(1, 1000)),
    default: '1,16',
    help: 'Numbers of operations at once, on each side.',
  },
  minutes: {
    kind: integer(1, 600),
    default: '55',
    help: 'Time for everything. With less, intervals are wider.',
  },
  csv: { kind: outputFile(), help: 'Write all figures to this file as CSV.' },
  quick,
  seed,
  json,
});

interface Sizes extends TurnSizes {
  readonly records: number;
  /** Length of the run that measures what an operation uses. */
  readonly demandMs: number;
  /** Before the first measurement of a store. */
  readonly firstWarmUpMs: number;
}

const FULL: Sizes = {
  records: 2000,
  demandMs: 1000,
  firstWarmUpMs: 3000,
  warmUpMs: 1000,
  blockMs: 200,
  fewestBlocks: 20,
  mostBlocks: Number.POSITIVE_INFINITY,
};
const QUICK: Sizes = {
  records: 200,
  demandMs: 200,
  firstWarmUpMs: 100,
  warmUpMs: 50,
  blockMs: 100,
  fewestBlocks: 5,
  mostBlocks: 5,
};
/** A server on a JVM compiles its code for a while, and its rate triples meanwhile. */
const JVM_WARM_UP_MS = 30_000;
const ON_JVM = ['cassandra', 'hbase'];
const TABLE = 'headline';

export const program = defineBench({
  name: 'headline',
  summary: 'What the application adds to the latency of each store, for each workload, with intervals.',
  details:
    'The table of the README comes from it. Servers are started one at a time. Close other programs: they make intervals wider.',
  settings,
  check({ workloads, quick }) {
    const sizes = quick ? QUICK : FULL;
    const overrides = {
      recordcount: String(sizes.records),
      dataintegrity: 'true',
      fieldlengthdistribution: 'constant',
    };
    return { sizes, workloads: workloads.map((name) => [name, readWorkload(name, overrides)] as const) };
  },
  async run({ stores, threads, minutes, csv, seed, quick }, { sizes, workloads }, { signal }) {
    const end = performance.now() + minutes * 60_000;
    const results: AddedResult[] = [];
    const failures: string[] = [];
    const parts = workloads.flatMap(([workload, records]) =>
      threads.map((number): Part => ({ workload, records, threads: number, seed, signal })),
    );
    let left = stores.length * parts.length;
    let verified = 0;
    for (const store of stores) {
      const after = left - parts.length;
      const closers = new Closers();
      try {
        say(`${store}: starting`);
        const scene = await openScene(store, Math.max(...threads), closers);
        const isOnJvm = ON_JVM.includes(store) && !quick;
        let firstMs = isOnJvm ? JVM_WARM_UP_MS : sizes.firstWarmUpMs;
        for (const part of parts) {
          signal.throwIfAborted();
          const now = performance.now();
          const times = { deadline: now + (end - now) / left, warmUpMs: sizes.warmUpMs + firstMs };
          const measured = await measure(scene, part, { ...sizes, ...times });
          results.push(measured.result);
          verified += measured.verified;
          say(progressOf(measured.result));
          firstMs = 0;
          left -= 1;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        failures.push(`${store}: ${(error as Error).message}`);
        say(`${store} failed: ${(error as Error).message}`);
      } finally {
        // An hour of figures must not be lost because a server does not stop.
        await closers.close().catch((error: unknown) => {
          failures.push(`${store} did not stop: ${(error as Error).message}`);
        });
      }
      left = after;
    }
    if (results.length > 0) process.stdout.write(`\n${headlineTable(results)}\n`);
    if (csv !== null) writeFileSync(csv, addedCsv(results));
    process.stdout.write(`\n${verified} reads were checked, all had what was written\n`);
    return {
      setup: { threads, minutes, seed, ...sizes },
      verified,
      results,
      ...(failures.length === 0 ? {} : { failure: failures.join('\n') }),
    };
  },
});

/** A server with a database and a client for each side. */
interface Scene {
  readonly name: string;
  readonly raw: Store;
  readonly url: string;
  readonly client: HttpClient;
  readonly participants: Both<Participants>;
}

async function openScene(name: string, threads: number, closers: Closers): Promise<Scene> {
  const places = await startStorePlaces(name);
  closers.add(() => places.stop());
  let calls = 0;
  const observe = (): void => {
    calls += 1;
  };
  const raw = await openStore(await places.create('headline_raw'), { observe });
  closers.add(() => raw.close());
  const api = await startApiProcess({ STORE: await places.create('headline_app') });
  closers.add(() => api.stop());
  const client = new HttpClient(threads, null);
  closers.add(async () => client.close());
  const common = { calls: () => calls, storePids: places.nodes.flatMap((node) => node.pids()) };
  return {
    name,
    raw,
    url: api.url,
    client,
    participants: {
      raw: { ...common, api: null },
      app: { ...common, api: { url: api.url, pid: api.pid } },
    },
  };
}

interface Part {
  readonly workload: string;
  readonly records: RecordWorkload;
  readonly threads: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** Measures one workload on new tables, because inserts of an earlier one would be there already. */
async function measure(
  { name, raw, url, client, participants }: Scene,
  { workload, records, threads, seed, signal }: Part,
  sizes: Sizes & { readonly deadline: number },
): Promise<{ readonly result: AddedResult; readonly verified: number }> {
  await raw.records.dropTable(TABLE);
  await dropTable(url, client, TABLE);
  await loadRaw(raw, TABLE, records, seed);
  await loadThroughApi(url, client, TABLE, records, seed);
  const drivers: Both<RecordDriver> = {
    raw: new RecordDriver(rawTarget(raw, TABLE), records, { seed, threads }),
    app: new RecordDriver(appTarget(url, client, TABLE), records, { seed, threads }),
  };
  const { blocks, added, rate, verified } = await measureTurns(drivers, { ...sizes, threads, seed, signal });
  const count = threads * Math.max(1, Math.round((rate.app * sizes.demandMs) / 1000 / threads));
  const demand = (side: Side) =>
    demandOf(participants[side], count, () => runChecked(drivers[side], side, count));
  const result: AddedResult = {
    store: name,
    workload,
    threads,
    blocks,
    rate,
    operations: Object.fromEntries(added),
    demand: { raw: await demand('raw'), app: await demand('app') },
  };
  return { result, verified };
}

function progressOf({ store, workload, threads, operations }: AddedResult): string {
  const figures = Object.entries(operations).map(([operation, { median: added }]) =>
    added === null ? operation : `${operation} +${added.value.toFixed(3)} ms`,
  );
  return `${store} ${workload}, ${threads} at once: ${figures.join(', ')}`;
}

if (import.meta.main) process.exitCode = await run(program);
