import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, freePort, startMosquitto } from '@tidegauge/lab';
import { startNodeExporter } from '@tidegauge/lab/exporters';
import { launchServer, temporaryDirectory } from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import { defineCommand, EXIT, integer, run } from '@tidegauge/service/program';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { residentBytes } from '@tidegauge/test-support/process-usage';
import { publish } from '@tidegauge/test-support/publisher';
import { startServiceProcess } from '@tidegauge/test-support/service-process';
import { parse } from 'yaml';
import { panelQueries } from './alert-watch.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const RULES = join(ROOT, 'dashboards', 'prometheus');
/** Cgroups of version 1. */
const CGROUPS = '/sys/fs/cgroup/memory';
const MIB = 2 ** 20;
const SAMPLE_MS = 10_000;
const REFRESH_MS = 10_000;
const RATE = 100;

interface Scrape {
  readonly job_name: string;
  readonly [setting: string]: unknown;
}

/** Jobs whose processes run here: `host:port` by job name. */
type Targets = Readonly<Record<string, string>>;

interface Stack {
  readonly services: {
    readonly prometheus: {
      readonly command: readonly string[];
      readonly environment: { GOMEMLIMIT: string };
    };
  };
}

/**
 * The memory of Prometheus with the configuration, the flags and the limits of the stack, while it scrapes the real services
 * and one dashboard is open. With root and cgroups of version 1 the limit is enforced as in a container.
 */
export const program = defineCommand({
  name: 'node dashboards/test/measure-prometheus.ts',
  summary: 'Measures the memory of Prometheus at the limits of the stack.',
  settings: {
    minutes: { kind: integer(1, 24 * 60), default: '30', help: 'How long it runs.' },
    limit: { kind: integer(64, 4096), default: '256', help: 'Limit of its memory, MiB.' },
    maxSamples: { kind: integer(1, 1e9), help: 'Replaces --query.max-samples.' },
    maxConcurrency: { kind: integer(1, 100), help: 'Replaces --query.max-concurrency.' },
    boards: {
      kind: integer(1, 15),
      default: '1',
      help: 'How many boards: the node exporter is scraped this often.',
    },
  },
  async run({ minutes, limit, boards, maxSamples, maxConcurrency }, signal) {
    const folder = temporaryDirectory('measure-prometheus');
    const stops: (() => unknown)[] = [() => folder.remove()];
    try {
      const targets = await startServices(folder.path, stops);
      const group = cgroup(limit, stops);
      const flags = flagsOf({ 'query.max-samples': maxSamples, 'query.max-concurrency': maxConcurrency });
      const prometheus = await launch(folder.path, targets, boards, flags, group, stops);
      await watch(prometheus, group, minutes * 60_000, signal);
      await largest(prometheus, flags, group);
      return EXIT.OK;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
});

async function startServices(folder: string, stops: (() => unknown)[]): Promise<Targets> {
  const broker = await startMosquitto();
  stops.push(() => broker.stop());
  const STORE = `sqlite:${join(folder, 'store.db')}`;
  const ingest = await startIngestProcess({ STORE, BROKER: broker.url, DATA_DIR: folder });
  stops.push(() => ingest.stop());
  const api = await startApiProcess({ STORE, INGEST: ingest.url });
  stops.push(() => api.stop());
  const metrics = await startServiceProcess(
    'broker-metrics',
    { BROKER: broker.url, METRICS_PORT: '0' },
    /"http":"(http:[^"]+)".*"broker-metrics is ready"/,
  );
  stops.push(() => metrics.stop());
  const node = await startNodeExporter();
  stops.push(() => node.stop());
  let loading = true;
  const load = (async () => {
    for (let first = 0; loading; first += RATE * 5)
      await publish({ port: broker.port, count: RATE * 5, first, devices: 50, rate: RATE });
  })();
  stops.push(() => {
    loading = false;
    return load;
  });
  return {
    ingest: new URL(ingest.url).host,
    api: new URL(api.url).host,
    broker: new URL(metrics.url).host,
    node: node.target,
  };
}

/** A cgroup with the limit, or null where this process cannot create one. */
function cgroup(limit: number, stops: (() => unknown)[]): string | null {
  if (!existsSync(join(CGROUPS, 'memory.limit_in_bytes'))) return null;
  const group = join(CGROUPS, `tidegauge-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, 'memory.limit_in_bytes'), String(limit * MIB));
  stops.push(() => rmdirSync(group));
  return group;
}

type Flags = readonly (readonly [name: string, value: string | undefined])[];

function shipped(): Stack['services']['prometheus'] {
  return (parse(readFileSync(join(ROOT, 'stacks', 'monitoring.yml'), 'utf8')) as Stack).services.prometheus;
}

/** `${NAME:-default}` of the stack file: the defaults are those of the 1 GB profile. */
function defaults(text: string): string {
  return text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
}

/** The flags of the stack, except addresses and paths. */
function flagsOf(replaced: Readonly<Record<string, number | null>>): Flags {
  return shipped()
    .command.map((flag): [string, string | undefined] => {
      const [name, value] = defaults(flag).split('=') as [string, string?];
      return [name, replaced[name.slice(2)]?.toString() ?? value];
    })
    .filter(([name]) => !/^--(config|web\.listen|storage\.tsdb\.path)/.test(name));
}

interface Running {
  readonly url: string;
  readonly pid: number;
}

async function launch(
  folder: string,
  targets: Targets,
  boards: number,
  flags: Flags,
  group: string | null,
  stops: (() => unknown)[],
): Promise<Running> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const address = new URL(url).host;
  const config = join(folder, 'prometheus.yml');
  writeFileSync(config, JSON.stringify(configuration({ ...targets, prometheus: address }, boards)));
  const binary = await findProgram('prometheus', 'prometheus');
  const enter = group === null ? '' : `echo $$ > ${group}/cgroup.procs; `;
  const server = await launchServer({
    name: 'prometheus',
    command: 'sh',
    args: [
      '-ec',
      `${enter}exec "$@"`,
      'sh',
      binary,
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      ...flags.map(([name, value]) => (value === undefined ? name : `${name}=${value}`)),
    ],
    env: { GOMEMLIMIT: defaults(shipped().environment.GOMEMLIMIT) },
    ready: () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    readyMs: 60_000,
  });
  stops.push(() => server.stop());
  return { url, pid: server.pid };
}

/** The shipped configuration with the addresses of this machine. Jobs whose processes do not run here are left out. */
function configuration(targets: Targets, boards: number): object {
  const {
    scrape_configs,
    alerting: _,
    ...others
  } = parse(readFileSync(join(RULES, 'prometheus.yml'), 'utf8')) as {
    readonly scrape_configs: readonly Scrape[];
    readonly alerting: unknown;
  };
  return {
    ...others,
    rule_files: ['rules.yml', 'alerts.yml'].map((name) => join(RULES, name)),
    scrape_configs: scrape_configs
      .filter(({ job_name }) => job_name in targets)
      .map(({ job_name }) => ({
        job_name,
        static_configs: Array.from({ length: job_name === 'node' ? boards : 1 }, (_each, board) => ({
          targets: [targets[job_name]],
          ...(board === 0 ? {} : { labels: { board: String(board) } }),
        })),
      })),
  };
}

/** Prints a line for each sample: the time, resident memory, and what Prometheus reports about itself. */
async function watch(
  { url, pid }: Running,
  group: string | null,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const open = panelQueries('20s').filter(({ dashboard }) => dashboard === 'tidegauge-overview');
  let refreshed = 0;
  const ask = async (query: string): Promise<number> => {
    const response = await fetchFor('query', `${url}/api/v1/query?query=${encodeURIComponent(query)}`, {
      timeoutMs: 30_000,
    });
    const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return Number(data.result[0]?.value[1] ?? Number.NaN);
  };
  const show = (bytes: number) => (bytes / MIB).toFixed(0).padStart(6);
  process.stdout.write('  min    RSS   heap    max  cgroup  series samples/s  oom\n');
  for (const begun = Date.now(); Date.now() - begun < ms && !signal.aborted; ) {
    await sleep(SAMPLE_MS);
    if (Date.now() - refreshed > REFRESH_MS) {
      refreshed = Date.now();
      const end = refreshed / 1000;
      for (const { expression } of open)
        await fetchFor(
          'query',
          `${url}/api/v1/query_range?query=${encodeURIComponent(expression)}&start=${end - 3600}&end=${end}&step=5`,
          { timeoutMs: 30_000 },
        ).then((response) => response.arrayBuffer());
    }
    const [heap, series, samples] = await Promise.all([
      ask('go_memstats_heap_inuse_bytes{job="prometheus"}'),
      ask('prometheus_tsdb_head_series'),
      ask('rate(prometheus_tsdb_head_samples_appended_total[1m])'),
    ]);
    const read = (name: string) => (group === null ? '' : readFileSync(join(group, name), 'utf8').trim());
    const line = [
      ((Date.now() - begun) / 60_000).toFixed(1).padStart(5),
      show(residentBytes(pid)),
      show(heap),
      show(Number(read('memory.max_usage_in_bytes'))),
      show(Number(read('memory.usage_in_bytes'))),
      String(series).padStart(6),
      samples.toFixed(0).padStart(6),
      read('memory.failcnt'),
    ];
    process.stdout.write(`${line.join(' ')}\n`);
  }
}

/** Sends as many queries at once as Prometheus computes, each with nearly as many samples as it permits. */
async function largest({ url }: Running, flags: Flags, group: string | null): Promise<void> {
  const numberOf = (name: string) => Number(flags.find(([each]) => each === `--query.${name}`)![1]);
  const [samples, queries] = [numberOf('max-samples'), numberOf('max-concurrency')];
  const all = new URLSearchParams({ query: 'count({__name__=~".+"})' });
  const counted = await fetchFor('query', `${url}/api/v1/query?${all}`, { timeoutMs: 30_000 });
  const { data } = (await counted.json()) as { data: { result: { value: [number, string] }[] } };
  const points = Math.floor((0.9 * samples) / Number(data.result[0]!.value[1]));
  const end = Date.now() / 1000;
  const range = { start: String(end - 60), end: String(end), step: String(60 / points) };
  const query = new URLSearchParams({ query: '{__name__=~".+"}', ...range });
  const ask = async (): Promise<string> => {
    const response = await fetch(`${url}/api/v1/query_range?${query}`);
    const { byteLength } = await response.arrayBuffer();
    return `${response.status}, ${(byteLength / MIB).toFixed(0)} MiB`;
  };
  const answers = await Promise.all(Array.from({ length: queries }, () => ask().catch(String)));
  process.stdout.write(`${queries} queries of ${points} points: ${answers.join('; ')}\n`);
  if (group === null) return;
  const most = Number(readFileSync(join(group, 'memory.max_usage_in_bytes'), 'utf8')) / MIB;
  process.stdout.write(`largest memory: ${most.toFixed(0)} MiB\n`);
}

if (import.meta.main) process.exitCode = await run(program);
