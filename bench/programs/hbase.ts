import { HBaseClient, type Table } from '@tidegauge/hbase-client';
import { startHbaseCluster } from '@tidegauge/lab/hbase-cluster';
import { startThriftGateway } from '@tidegauge/lab/hbase-thrift';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { median } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { defineConfig, run } from '@tidegauge/service/program';
import { cpuSeconds } from '@tidegauge/test-support/process-usage';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { type Timing, timeSeconds } from '../src/timing.ts';
import { connectGateway, type GatewayClient } from './thrift/gateway-client.ts';

/**
 * `npm run bench -- hbase`: compares this project's HBase client with the Thrift2 gateway and the client that Thrift
 * generates, on three region servers. Each round measures both. Rows have 1 KB and are in HBase's log on HDFS before a
 * put resolves. Servers and clients share this machine, so a ratio is more reliable than a rate.
 */
const { quick, rounds, json } = BENCH_SETTINGS;
const CALLS = ['put', 'get', 'scan', 'multiPut', 'multiGet'] as const;
const settings = defineConfig({ quick, rounds, json });

interface Setup {
  readonly rounds: number;
  readonly seconds: number;
  /** Rounds at the highest concurrency of each call that do not count, because a JVM compiles hot code for half a minute. */
  readonly warmUp: number;
}

const REGION_SERVERS = 3;
const CONCURRENCY = [1, 16, 64] as const;
const ROWS = 20_000;
const VALUE = Buffer.alloc(1000, 'x');
const MULTI = 100;
const SCAN = 50;
const COLUMN = { family: 'f', qualifier: 'q' } as const;
const TABLE = 'bench';

type Call = (typeof CALLS)[number];

/** The calls that are measured on both sides. */
type Side = Readonly<Record<Call, (number: number) => Promise<unknown>>>;

/** Rate and latencies, with the processor time of a call in this process and in all servers, microseconds. */
interface Measured extends Timing {
  readonly clientMicros: number;
  readonly serverMicros: number;
}

interface Line {
  readonly operation: Call;
  readonly concurrency: number;
  readonly ours: Measured;
  readonly gateway: Measured;
  /** Rate of this project's client divided by that of the gateway: median and extremes of the rounds. */
  readonly ratio: { readonly median: number; readonly least: number; readonly most: number };
}

export const program = defineBench({
  name: 'hbase',
  summary:
    "Compares this project's HBase client with the Thrift2 gateway and the client that Thrift generates.",
  settings,
  check: ({ rounds, quick }) => ({
    rounds: rounds ?? (quick ? 1 : 5),
    seconds: quick ? 1 : 2,
    warmUp: quick ? 1 : 8,
  }),
  async run(_config, setup, { closers }) {
    const cluster = await startHbaseCluster({ regionServers: REGION_SERVERS });
    closers.add(() => cluster.stop());
    const gateway = await startThriftGateway(cluster.port);
    closers.add(() => gateway.stop());
    const client = new HBaseClient({ zookeeper: `127.0.0.1:${cluster.port}` });
    closers.add(async () => client.close());
    const splitKeys = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
    await client.admin.createTable(TABLE, { families: { [COLUMN.family]: {} }, splitKeys });
    const generated = await connectGateway(gateway.port, TABLE, COLUMN, Math.max(...CONCURRENCY));
    closers.add(async () => generated.close());
    await load(client.table(TABLE));
    const pids = [...cluster.dataNodes, ...cluster.regionServers, gateway].map(({ pid }) => pid);
    const lines = await measure(ourSide(client.table(TABLE)), gatewaySide(generated), pids, setup);
    const { rounds, seconds } = setup;
    process.stdout.write(`\n${REGION_SERVERS} region servers, median of ${rounds} rounds\n${show(lines)}`);
    const sizes = { regionServers: REGION_SERVERS, rows: ROWS, multi: MULTI, scan: SCAN };
    return { setup: { ...sizes, rounds, seconds }, lines };
  },
});

async function load(table: Table): Promise<void> {
  const cells = [{ ...COLUMN, value: VALUE }];
  const rows = Array.from({ length: ROWS }, (_, index) => keyAt(index));
  await table.mutateAll(rows.map((row) => ({ type: 'put', row, cells })));
}

interface Pair {
  readonly ours: Measured;
  readonly gateway: Measured;
}

async function measure(
  ours: Side,
  gateway: Side,
  servers: readonly number[],
  { rounds, seconds, warmUp }: Setup,
): Promise<Line[]> {
  const lines: Line[] = [];
  for (const operation of CALLS) {
    for (const concurrency of [...CONCURRENCY].reverse()) {
      const side = (which: Side) =>
        withCosts(servers, () => timeSeconds(seconds, concurrency, (number) => which[operation](number)));
      // The code of a call is compiled during its first measurement. Others have one round of warm-up.
      const skip = concurrency === CONCURRENCY.at(-1) ? warmUp : 1;
      const pairs: Pair[] = [];
      for (let round = 0; round < skip + rounds; round += 1) {
        if (round % 2 === 0) {
          const first = await side(ours);
          pairs.push({ ours: first, gateway: await side(gateway) });
        } else {
          const first = await side(gateway);
          pairs.push({ ours: await side(ours), gateway: first });
        }
      }
      lines.push(summary(operation, concurrency, pairs.slice(skip)));
    }
  }
  return lines;
}

async function withCosts(servers: readonly number[], run: () => Promise<Timing>): Promise<Measured> {
  const used = (): number => servers.reduce((sum, pid) => sum + cpuSeconds(pid), 0) * 1e6;
  const [serversBefore, clientBefore, begun] = [used(), process.cpuUsage(), performance.now()];
  const timing = await run();
  const calls = (timing.perSecond * (performance.now() - begun)) / 1000;
  const { user, system } = process.cpuUsage(clientBefore);
  return {
    ...timing,
    clientMicros: (user + system) / calls,
    serverMicros: (used() - serversBefore) / calls,
  };
}

function summary(operation: Call, concurrency: number, pairs: readonly Pair[]): Line {
  const ratios = pairs.map(({ ours, gateway }) => ours.perSecond / gateway.perSecond);
  const middle = (which: 'ours' | 'gateway'): Measured => {
    const of = (field: keyof Measured): number => median(pairs.map((pair) => pair[which][field]));
    return {
      ...{ perSecond: of('perSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') },
      ...{ clientMicros: of('clientMicros'), serverMicros: of('serverMicros') },
    };
  };
  const ratio = { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
  return { operation, concurrency, ours: middle('ours'), gateway: middle('gateway'), ratio };
}

/** The key of a row. Keys are spread over all regions. */
function keyAt(index: number): string {
  return `${index % 10}-${String(index).padStart(8, '0')}`;
}

/** Keys in a scattered order that caches cannot predict. The order is the same in every run (Knuth's multiplier). */
function keyOf(number: number): string {
  return keyAt((Math.imul(number, 2_654_435_761) >>> 0) % ROWS);
}

function keysOf(number: number): string[] {
  return Array.from({ length: MULTI }, (_, index) => keyOf(number * MULTI + index));
}

function ourSide(table: Table): Side {
  const cells = [{ ...COLUMN, value: VALUE }];
  return {
    put: (number) => table.put(keyOf(number), cells),
    async get(number) {
      const row = await table.get(keyOf(number));
      demand(row?.value(COLUMN.family, COLUMN.qualifier)?.length === VALUE.length);
    },
    async scan(number) {
      let count = 0;
      for await (const _row of table.scan({ start: `${number % 9}`, limit: SCAN })) count += 1;
      demand(count === SCAN);
    },
    multiPut: (number) => table.mutateAll(keysOf(number).map((row) => ({ type: 'put', row, cells }))),
    multiGet: async (number) => demand((await table.getAll(keysOf(number))).every((row) => row !== null)),
  };
}

function gatewaySide(client: GatewayClient): Side {
  return {
    put: (number) => client.put(keyOf(number), VALUE),
    get: async (number) => demand((await client.get(keyOf(number))) === VALUE.length),
    scan: async (number) => demand((await client.scan(`${number % 9}`, SCAN)) === SCAN),
    multiPut: (number) => client.putAll(keysOf(number), VALUE),
    multiGet: async (number) => demand((await client.getAll(keysOf(number))) === MULTI),
  };
}

/** Fails if rows were missing: the rate would then be wrong. */
function demand(isRight: boolean): void {
  if (!isRight) throw new Error('a call did not return the requested rows');
}

function show(lines: readonly Line[]): string {
  const names: Readonly<Record<Call, string>> = {
    put: 'put of 1 KB',
    get: 'get of 1 KB',
    scan: `scan of ${SCAN} rows`,
    multiPut: `put of ${MULTI} rows`,
    multiGet: `get of ${MULTI} rows`,
  };
  const rate = ({ perSecond, p50Ms, p99Ms, clientMicros, serverMicros }: Measured): string =>
    `${showNumber(perSecond)}/s ${showNumber(p50Ms)} ${showNumber(p99Ms)}, ${clientMicros.toFixed(0)} + ${serverMicros.toFixed(0)} us`;
  const rows = lines.map(({ operation, concurrency, ours, gateway, ratio }) => [
    names[operation],
    String(concurrency),
    rate(ours),
    rate(gateway),
    `${ratio.median.toFixed(2)} (${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)})`,
  ]);
  const head = [
    'calls (p50 p99 ms, CPU of client + servers)',
    'at once',
    'this client',
    'Thrift2 gateway',
    'ratio',
  ];
  return textTable([head, ...rows]);
}

if (import.meta.main) process.exitCode = await run(program);
