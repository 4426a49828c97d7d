import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { problemsOf, RecordDriver } from '@tidegauge/loadtests/drivers/record-driver';
import { appTarget, rawTarget } from '@tidegauge/loadtests/drivers/record-target';
import { loadRaw } from '@tidegauge/loadtests/loading/load-records';
import { readWorkload } from '@tidegauge/loadtests/profiles/records-profile';
import { mistake } from '@tidegauge/loadtests/profiles/settings';
import { textTable } from '@tidegauge/loadtests/results/table';
import { checkStore, provideStore } from '@tidegauge/loadtests/targets/targets';
import { defineConfig, integer, run, text } from '@tidegauge/service/program';
import { openStore } from '@tidegauge/storage';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { scrape } from '@tidegauge/test-support/scrape';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import {
  type BlockPair,
  type OperationCost,
  operationCosts,
  type Stages,
  stagesOf,
} from '../src/operation-costs.ts';

/**
 * `npm run bench -- overhead`: the latency that the application adds to the store. A stream of operations is divided into
 * blocks. Each block runs directly on the store (raw) and through the HTTP API (app). The order alternates, so that
 * other work of the machine or the store affects both sides. Each side has its own table with the same records.
 */
const SETTINGS = defineConfig({
  ...BENCH_SETTINGS,
  workload: {
    kind: text('a letter from a to g, or i, or a YCSB property file', 'WORKLOAD'),
    default: 'a',
    help: 'The workload: ours, or a file of YCSB.',
  },
  threads: { kind: integer(1, 1000), default: '1', help: 'Operations at once, on each side.' },
});

/** A round is a block of `ops` on each side. Node and servers on a JVM compile code in the first blocks. */
const FULL = { blocks: 30, ops: 1000, records: 10_000, warmUp: 10 };
const QUICK = { blocks: 8, ops: 250, records: 500, warmUp: 4 };

export const program = defineBench({
  name: 'overhead',
  summary: 'What the application adds to the latency of the store, by operation and by stage.',
  settings: SETTINGS,
  check(config) {
    checkStore(config.store, config);
    const size = config.quick ? QUICK : FULL;
    if (config.rounds === 1) throw mistake('--rounds 1 has no interval: measure 2 or more');
    const overrides = {
      recordcount: String(size.records),
      dataintegrity: 'true',
      fieldlengthdistribution: 'constant',
    };
    return {
      workload: readWorkload(config.workload, overrides),
      blocks: config.rounds ?? size.blocks,
      ops: size.ops,
      warmUp: size.warmUp,
    };
  },
  async run(
    { store: name, threads, seed, workload: letter },
    { workload, blocks, ops, warmUp },
    { closers, signal },
  ) {
    const url = await provideStore(name, closers);
    const store = await openStore(url);
    closers.add(() => store.close());
    const api = await startApiProcess({ STORE: url });
    closers.add(() => api.stop());
    const client = new HttpClient(threads, null);
    closers.add(async () => client.close());
    const sides = [
      { side: 'raw', table: 'overhead_raw' },
      { side: 'app', table: 'overhead_app' },
    ] as const;
    for (const { table } of sides) {
      closers.add(() => store.records.dropTable(table));
      await store.records.dropTable(table);
      await loadRaw(store, table, workload, seed);
    }
    const drivers = {
      raw: new RecordDriver(rawTarget(store, 'overhead_raw'), workload, { seed, threads }),
      app: new RecordDriver(appTarget(api.url, client, 'overhead_app'), workload, { seed, threads }),
    };
    const block = async (number: number): Promise<BlockPair> => {
      const pair: { raw?: BlockPair['raw']; app?: BlockPair['app'] } = {};
      for (const { side } of number % 2 === 0 ? sides : sides.toReversed()) {
        signal.throwIfAborted();
        pair[side] = await drivers[side].run(ops);
        const problems = problemsOf(pair[side]);
        if (problems.length > 0) throw new Error(`${side}, block ${number}: ${problems.join('; ')}`);
      }
      return pair as BlockPair;
    };
    for (let number = 0; number < warmUp; number += 1) await block(number);
    const before = await scrape(api.url);
    const pairs: BlockPair[] = [];
    for (let number = 0; number < blocks; number += 1) {
      pairs.push(await block(warmUp + number));
      process.stderr.write(`block ${number + 1}/${blocks}\n`);
    }
    const costs = operationCosts(pairs);
    const stages = stagesOf(costs, before, await scrape(api.url));
    if (costs.length === 0) throw new Error('no operation was done twice: raise --rounds');
    const setup = {
      store: store.name,
      workload: letter,
      threads,
      blocks,
      ops,
      records: workload.recordCount,
      seed,
    };
    print(setup, costs, stages);
    const verified = pairs.reduce((sum, { raw, app }) => sum + raw.verified + app.verified, 0);
    process.stdout.write(`${verified} reads were checked, all had what was written\n`);
    return { setup, client: 'node', verified, costs, stages, blocks: pairs.map(figuresOf) };
  },
});

interface Setup {
  readonly store: string;
  readonly workload: string;
  readonly threads: number;
  readonly blocks: number;
  readonly ops: number;
}

function print(
  { store, workload, threads, blocks, ops }: Setup,
  costs: readonly OperationCost[],
  stages: readonly Stages[],
) {
  const micros = (value: number): string => value.toFixed(0);
  const figures = ({ raw, app, added }: OperationCost['mean']): string[] => [
    micros(raw),
    micros(app),
    `${micros(added.mean)} [${micros(added.low)}, ${micros(added.high)}]`,
  ];
  process.stdout.write(
    `\nWorkload ${workload} on ${store}, ${threads} at once, ${blocks} blocks of ${ops} operations in turns; microseconds,\n` +
      'what the application adds with its 95 % confidence interval. Both sides are driven by this process, the API\n' +
      "through Node's HTTP client and connections that stay open: to start k6 would take longer than a block.\n",
  );
  process.stdout.write(
    textTable([
      ['operation', 'count', 'raw p50', 'app p50', 'added p50', 'raw mean', 'app mean', 'added mean'],
      ...costs.map((cost) => [
        cost.operation,
        String(cost.operations),
        ...figures(cost.median),
        ...figures(cost.mean),
      ]),
    ]),
  );
  process.stdout.write(
    '\nWhere the time goes, means: to the API and back, in the API, in its store to the commit\n',
  );
  process.stdout.write(
    textTable([
      ['operation', 'client, HTTP', 'API', 'store', 'raw store'],
      ...stages.map(({ operation, client, api, store: call }) => {
        const raw = costs.find((cost) => cost.operation === operation)!.mean.raw;
        return [operation, ...[client, api, call, raw].map(micros)];
      }),
    ]),
  );
}

function figuresOf(pair: BlockPair): object {
  const side = ({ seconds, latencies }: BlockPair['raw']) => ({
    seconds,
    millis: Object.fromEntries(latencies),
  });
  return { raw: side(pair.raw), app: side(pair.app) };
}

if (import.meta.main) process.exitCode = await run(program);
