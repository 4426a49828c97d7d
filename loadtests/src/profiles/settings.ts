import { existsSync } from 'node:fs';
import {
  boolean,
  type Config,
  ConfigError,
  defineConfig,
  duration,
  integer,
  type Kind,
  list,
  oneOf,
  text,
  url,
} from '@tidegauge/service';
import { parseUrl } from '@tidegauge/storage';
import type { Model, Stage } from '../operations/plan.ts';

const MAX_THREADS = 10_000;
const MAX_OPERATIONS = 1_000_000_000;
const MAX_RATE = 1_000_000;
const DAY_S = 86_400;

/** `2000:30s`: to that rate within that time. */
const stage: Kind<Stage> = {
  takes: 'a rate and a duration such as 2000:30s',
  parse(value) {
    const [rate, time, ...rest] = value.split(':');
    if (time === undefined || rest.length > 0) throw new Error('it is not RATE:DURATION');
    const seconds = duration(0.1, DAY_S).parse(time);
    return { rate: integer(0, MAX_RATE).parse(rate!), durationMs: seconds * 1000 };
  },
};

/** `op_read:p(99)<20`: k6's metric and condition. */
const threshold: Kind<readonly [metric: string, condition: string]> = {
  takes: 'a metric of k6 and a condition such as op_read:p(99)<20 (milliseconds)',
  parse(value) {
    const [, metric, condition] = /^([A-Za-z_][A-Za-z0-9_]*):(\S.*)$/.exec(value) ?? [];
    if (metric === undefined || condition === undefined) throw new Error('it is not METRIC:CONDITION');
    return [metric, condition];
  },
};

const program: Kind<string> = {
  takes: 'the path of a program',
  parse: (value) => (existsSync(value) ? value : fail('there is no such file')),
};

function fail(problem: string): never {
  throw new Error(problem);
}

/** What every profile takes. */
export const COMMON_SETTINGS = defineConfig({
  threads: {
    kind: integer(1, MAX_THREADS),
    default: '1',
    help: 'Operations at once, as in YCSB; for ingest, connections.',
  },
  model: {
    kind: oneOf(['closed', 'open']),
    default: 'closed',
    help: 'closed: threads take the next operation when the last has ended. open: operations begin on schedule.',
  },
  rate: {
    kind: integer(1, MAX_RATE),
    help: "Operations per second over all threads; in the closed model YCSB's -target.",
  },
  ramp: {
    kind: list(stage),
    help: 'Open model: rates to go to from --rate (0 without it), one after the other, linearly.',
  },
  ops: { kind: integer(1, MAX_OPERATIONS), help: 'Operations to do, over all threads.' },
  duration: { kind: duration(1, DAY_S), help: 'How long to go on; with --ops, what comes first.' },
  seed: {
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: '1',
    help: 'The same seed gives the same operations.',
  },
  threshold: { kind: list(threshold), help: 'Conditions on metrics of k6 that the run must meet.' },
  json: { kind: text('a file'), help: 'Where to write the figures as JSON.' },
  csv: { kind: text('a file'), help: 'Where to write the figures as comma-separated values.' },
  dashboard: { kind: boolean(), default: 'false', help: "Show k6's web dashboard during the run." },
  dashboardPort: { kind: integer(1, 65_535), default: '5665', help: 'Where, on loopback.' },
  prometheus: {
    kind: url('http', 'https'),
    help: 'Prometheus to push figures to during the run; it takes them with --web.enable-remote-write-receiver.',
  },
  testid: { kind: text('a name'), help: 'What the run is called there; default: profile and time.' },
  allowHost: {
    kind: list(text('a host')),
    help: 'Hosts beyond this machine that may be put under load.',
  },
  k6: { kind: program, help: 'Another k6, 1 or 2; default: built with our MQTT module.' },
});

/** Of profiles that fill a store before they run. */
export const PHASE_SETTING = defineConfig({
  phase: {
    kind: oneOf(['both', 'load', 'run']),
    default: 'both',
    help: 'Insert what is not there yet, run the operations on what is there, or one after the other.',
  },
});

/** The store under test, or an API over it. */
export const STORE_SETTINGS = defineConfig({
  store: {
    kind: text("a store's URL, or a store of the lab"),
    default: 'sqlite',
    secret: 'url',
    help: 'The store under test; one without a URL is started, empty, and gone afterwards.',
  },
});

export const API_SETTINGS = defineConfig({
  api: { kind: url('http'), help: 'An API that runs already, instead of one started over --store.' },
  apiToken: { kind: text(), secret: true, help: 'Bearer token of that API.' },
});

export type CommonConfig = Config<typeof COMMON_SETTINGS>;

/** How fast and how long, once flags and the workload's own operation count are put together. */
export function modelOf(config: CommonConfig, workloadOperations: number | null): Model {
  const { threads, rate, ramp } = config;
  const durationMs = config.duration === null ? null : config.duration * 1000;
  if (config.model === 'closed') {
    if (ramp !== null) throw mistake('--ramp is of the open model: add --model open');
    const operations = config.ops ?? (durationMs === null ? workloadOperations : null);
    if (operations === null && durationMs === null) throw mistake('say when to end: --ops or --duration');
    return { kind: 'closed', threads, operations, durationMs, rate };
  }
  if (ramp !== null) {
    if (config.ops !== null || durationMs !== null) {
      throw mistake('--ramp already sets the duration: leave out --ops and --duration');
    }
    return { kind: 'open', threads, startRate: rate ?? 0, stages: ramp };
  }
  if (rate === null) throw mistake('the open model goes by the clock: add --rate or --ramp');
  const operations = config.ops ?? (durationMs === null ? workloadOperations : null);
  if (operations === null && durationMs === null) throw mistake('say when to end: --ops or --duration');
  const needed = operations === null ? Number.POSITIVE_INFINITY : (operations * 1000) / rate;
  const stages = [{ rate, durationMs: Math.min(needed, durationMs ?? Number.POSITIVE_INFINITY) }];
  return { kind: 'open', threads, startRate: rate, stages };
}

export function thresholdsOf({ threshold: given }: CommonConfig): Record<string, string[]> {
  const thresholds: Record<string, string[]> = {};
  for (const [metric, condition] of given ?? []) {
    thresholds[metric] ??= [];
    thresholds[metric].push(condition);
  }
  return thresholds;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/;

/**
 * Puts load on this machine only, unless a host is named on purpose.
 * @throws {ConfigError}
 */
export function refuseForeignHosts(target: string, { allowHost }: Pick<CommonConfig, 'allowHost'>): void {
  const hosts = parseUrl(target).hosts.map(({ host }) => host);
  const foreign = hosts.find((host) => !LOOPBACK.test(host) && !(allowHost ?? []).includes(host));
  if (foreign === undefined) return;
  throw mistake(`${foreign} is not this machine: add --allow-host ${foreign} to put load on it all the same`);
}

export function mistake(line: string): ConfigError {
  return new ConfigError([line]);
}
