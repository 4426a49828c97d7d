import { writeFileSync } from 'node:fs';
import { withOptions } from '@tidegauge/experiments/places/factors';
import { strongReadUrl } from '@tidegauge/experiments/trial/strong-reads';
import { STORE_SERVERS, type StoreServer } from '@tidegauge/lab/stores';
import { type RecordTarget, rawTarget } from '@tidegauge/loadtests/drivers/record-target';
import { mistake } from '@tidegauge/loadtests/profiles/settings';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { STORES, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { checkNodes, checkStore } from '@tidegauge/loadtests/targets/targets';
import {
  boolean,
  type Config,
  defineConfig,
  duration,
  integer,
  list,
  oneOf,
  outputFile,
  run,
  text,
} from '@tidegauge/service/program';
import { openStore, type Store } from '@tidegauge/storage';
import { maskUrl } from '@tidegauge/text';
import { seeded } from '@tidegauge/workload';
import { BENCH_SETTINGS, type BenchContext, defineBench } from '../src/define-bench.ts';
import { startApis } from '../src/linearizability/api-processes.ts';
import { startFaults, suspended, type Victim } from '../src/linearizability/faults.ts';
import { type Operation, toLines } from '../src/linearizability/history.ts';
import { judge, operationsTable } from '../src/linearizability/judge.ts';
import { FIELDS, recordHistory } from '../src/linearizability/record-history.ts';

/**
 * `npm run bench -- linearizability`: clients insert, read, update and delete a few records at the same time, through APIs on
 * one store, while one of its parts is killed. Porcupine then decides for each record whether the results are those of
 * some order of the operations in which each takes effect between its call and its end.
 */
const { rounds: _, ...common } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  ...common,
  nodes: { kind: integer(1, 6), default: '1', help: 'Nodes of a store of the lab.' },
  options: {
    kind: list(text("options of the store's URL")),
    help: 'Options to add to its URL, such as write=ONE&read=ONE,write=QUORUM&read=QUORUM. Each set is judged.',
  },
  apis: {
    kind: integer(0, 16),
    default: '2',
    help: 'Processes of the API. 0: clients call the store directly.',
  },
  duration: { kind: duration(0.5, 3600), help: 'Length of a run. Default: 30s, with --quick 2s.' },
  kill: {
    kind: oneOf(['none', 'api', 'node']),
    default: 'none',
    help: 'What is killed and started again at random times.',
  },
  suspend: {
    kind: boolean(),
    default: 'false',
    help: 'Suspend the nodes of --kill node (SIGSTOP) in place of killing them.',
  },
  history: { kind: outputFile(), help: 'Write the history of the last run to this file, as NDJSON.' },
  html: { kind: outputFile(), help: "Write Porcupine's page of the last run to this file." },
});

/** Clients with one operation at a time each, the records in use, and the operations after which one is replaced. */
const LOAD = { clients: 12, keys: 4, operationsOfKey: 150 };

type Settings = Config<typeof SETTINGS>;

interface Result {
  readonly options: string | null;
  readonly keys: number;
  readonly operations: number;
  readonly unknown: number;
  readonly failed: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly violated: number;
  readonly undecided: number;
  /** A read and a write at these levels have a copy in common, so a violation is a failure. */
  readonly isStrong: boolean;
  readonly shortest: readonly Operation[] | null;
}

export const program = defineBench({
  name: 'linearizability',
  summary: 'Whether concurrent operations on records are linearizable, by store and consistency level.',
  details:
    'Needs Go, which builds the judge. It fails for a violation, unless reads at the level of the URL may miss an\n' +
    'acknowledged write, such as with Cassandra at ONE.',
  settings: SETTINGS,
  check(config) {
    const { store, nodes, kill, apis, suspend } = config;
    if (suspend && kill !== 'node') throw mistake('--suspend needs --kill node');
    checkStore(store, config);
    checkNodes(store, [nodes]);
    if (kill === 'api' && apis === 0) throw mistake('--kill api needs an API process: leave out --apis 0');
    if (kill === 'node' && !Object.hasOwn(STORE_SERVERS, store)) {
      throw mistake(`--kill node needs a server of the lab: ${Object.keys(STORE_SERVERS).join(', ')}`);
    }
  },
  async run(config, _checked, context) {
    const { store, nodes, options } = config;
    const places = STORES.includes(store) ? await startStorePlaces(store, {}, nodes) : null;
    if (places !== null) context.closers.add(() => places.stop());
    const results: Result[] = [];
    for (const [number, each] of (options ?? [null]).entries()) {
      const place = places === null ? store : await places.create(`linearizability${number}`);
      const url = withOptions(place, new Map(new URLSearchParams(each ?? '')));
      const result = { options: each, ...(await judgeRun(url, places, config, context)) };
      process.stdout.write(report(maskUrl(store), result, config.suspend));
      results.push(result);
    }
    const { apis, kill, suspend, quick, seed } = config;
    const setup = { ...LOAD, nodes, apis, kill, suspend, pause: pauseOf(config), quick, seed };
    const bad = results.filter(({ violated, undecided, isStrong }) => isStrong && violated + undecided > 0);
    const failure = `${bad.length} of ${results.length} runs are not linearizable, or were not decided`;
    return { setup, results, ...(bad.length > 0 ? { failure } : {}) };
  },
});

/** The longest pause before and after a kill, seconds. A run has time for several. */
function pauseOf({ quick }: Settings): number {
  return quick ? 0.5 : 4;
}

async function judgeRun(
  url: string,
  places: StoreServer | null,
  config: Settings,
  { signal }: BenchContext,
): Promise<Omit<Result, 'options'>> {
  const closers = new Closers();
  try {
    const store = await openStore(url);
    closers.add(() => store.close());
    const table = `linearizability_${Date.now().toString(36)}`;
    await store.records.createTable(table, FIELDS.length);
    closers.add(() => store.records.dropTable(table));
    const { targets, victims } = await startTargets(url, store, table, places, config, closers);
    const faults = startFaults(victims, pauseOf(config) * 1000, seeded(config.seed));
    closers.add(() => faults.stop());
    const { seed, duration: given } = config;
    const seconds = given ?? (config.quick ? 2 : 30);
    const recording = { ...LOAD, seconds, seed, signal };
    const { operations, failed } = await recordHistory(targets, recording, () => faults.stop());
    const history = { semantics: store.capabilities, operations };
    if (config.history !== null) writeFileSync(config.history, toLines(history));
    const judgement = await judge(history, config.html);
    return {
      keys: judgement.keys,
      operations: operations.length,
      unknown: operations.filter((each) => each.return === null).length,
      failed: Object.fromEntries(failed),
      kills: faults.count,
      violated: judgement.violated.length,
      undecided: judgement.undecided.length,
      isStrong: (await strongReadUrl(url)) === null,
      shortest: judgement.shortest,
    };
  } finally {
    await closers.close();
  }
}

async function startTargets(
  url: string,
  store: Store,
  table: string,
  places: StoreServer | null,
  { apis: count, kill, suspend }: Settings,
  closers: Closers,
): Promise<{ readonly targets: readonly RecordTarget[]; readonly victims: readonly Victim[] }> {
  const apis = await startApis(count, url, table, LOAD.clients, closers);
  const nodes = (places?.nodes ?? []).flatMap((node) =>
    node.fault === null ? [] : [suspend ? suspended(node) : node.fault],
  );
  if (kill === 'node' && nodes.length === 0)
    throw new Error('the store has no node that can be killed: leave out --kill node');
  return {
    targets: count === 0 ? [rawTarget(store, table)] : apis.map(({ target }) => target),
    victims: kill === 'api' ? apis : kill === 'node' ? nodes : [],
  };
}

function report(store: string, result: Result, suspend: boolean): string {
  const { options, keys, operations, unknown, failed, kills, violated, undecided, isStrong, shortest } =
    result;
  const count = (number: number): string => number.toLocaleString('en');
  const failures = Object.entries(failed).map(([outcome, number]) => `${outcome} ${number}`);
  const verdict =
    violated > 0
      ? `not linearizable: ${count(violated)} of ${count(keys)} records${isStrong ? '' : ', as these levels allow'}`
      : undecided > 0
        ? `undecided: ${count(undecided)} of ${count(keys)} records`
        : 'linearizable';
  const lines = [
    `${options === null ? store : `${store} ${options}`}: ${verdict}`,
    `${count(operations)} operations on ${count(keys)} records, ${count(unknown)} writes of unknown outcome, ${kills} ${suspend ? 'pauses' : 'kills'}`,
    ...(failures.length === 0 ? [] : [`failed: ${failures.join(', ')}`]),
    ...(shortest === null ? [] : ['a short history that no order explains:', operationsTable(shortest)]),
  ];
  return `${lines.join('\n')}\n`;
}

if (import.meta.main) process.exitCode = await run(program);
