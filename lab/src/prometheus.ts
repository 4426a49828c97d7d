import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, launchServer, type ServerProcess, temporaryDirectory } from '@tidegauge/process';
import { fetchFor } from '@tidegauge/service';
import { findProgram } from './debian.ts';

const READY_MS = 30_000;
const ASK_MS = 2000;

export interface PrometheusOptions {
  /** `host:port` of each process to scrape at `/metrics`, by job name. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
  /** Milliseconds between scrapes. Default 1000. */
  readonly scrapeMs?: number;
  /** Files of recording and alerting rules, absolute. */
  readonly ruleFiles?: readonly string[];
  /** Default: a free one. */
  readonly port?: number;
}

/** One series in the result of an instant query. */
export interface PrometheusSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Runs an instant query in PromQL. Rejects with Prometheus's message when it refuses the query. */
  query(expression: string): Promise<PrometheusSample[]>;
  /** Stops it in an orderly way, and removes its data. May be called twice. */
  stop(): Promise<void>;
  /** Kills it without a shutdown, as a power failure would. */
  kill(): Promise<void>;
  /** Ends it if it runs, and starts it again on the same port with its data. */
  restart(): Promise<void>;
}

/**
 * Starts Debian's Prometheus on loopback, as a child of this process. It scrapes the given targets. Rejects when it is
 * missing and cannot be installed, refuses its configuration, or is not ready within 30 s.
 */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const binary = await findProgram('prometheus', 'prometheus');
  const directory = temporaryDirectory('prometheus');
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const config = join(directory.path, 'prometheus.yml');
  await mkdir(join(directory.path, 'data'));
  // JSON is valid YAML, and JSON.stringify quotes all values correctly.
  await writeFile(config, `${JSON.stringify(configuration(options), null, 2)}\n`);
  const launch = (): Promise<ServerProcess> =>
    launchServer({
      name: `prometheus on 127.0.0.1:${port}`,
      command: binary,
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(directory.path, 'data')}`,
        '--storage.tsdb.retention.size=256MB',
        `--web.listen-address=127.0.0.1:${port}`,
        // k6 pushes the figures of a load test.
        '--web.enable-remote-write-receiver',
        '--log.level=warn',
      ],
      ready: () => answers(`${url}/-/ready`),
      readyMs: READY_MS,
    });

  let server = await launch().catch((error: unknown) => {
    directory.remove();
    throw error;
  });
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    query: (expression) => query(url, expression),
    async stop() {
      await server.stop();
      directory.remove();
    },
    kill: () => server.kill(),
    async restart() {
      await server.stop();
      server = await launch();
    },
  };
}

function configuration({ targets, scrapeMs = 1000, ruleFiles = [] }: PrometheusOptions): object {
  const interval = `${scrapeMs}ms`;
  return {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: ruleFiles,
    scrape_configs: Object.entries(targets).map(([job, hosts]) => ({
      job_name: job,
      static_configs: [{ targets: hosts }],
    })),
  };
}

function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(ASK_MS) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
}

interface QueryAnswer {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data: {
    readonly resultType: string;
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
  };
}

async function query(url: string, expression: string): Promise<PrometheusSample[]> {
  const response = await fetchFor('query Prometheus', `${url}/api/v1/query`, {
    method: 'POST',
    body: new URLSearchParams({ query: expression }),
    timeoutMs: READY_MS,
  });
  const answer = (await response.json()) as QueryAnswer;
  if (answer.status !== 'success') throw new Error(`prometheus refused ${expression}: ${answer.error}`);
  if (answer.data.resultType !== 'vector') {
    throw new TypeError(`${expression} is a ${answer.data.resultType}, not an instant vector`);
  }
  return answer.data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
}
