import {
  boolean,
  type Config,
  ConfigError,
  defineConfig,
  duration,
  executable,
  inGroup,
  integer,
  type Kind,
  list,
  oneOf,
  outputFile,
  text,
  url,
} from '@tidegauge/service/program';
import { parseUrl } from '@tidegauge/storage';
import type { Model, Stage } from '../operations/plan.ts';
import { REPEAT_SETTINGS } from '../results/repeat.ts';

const MAX_THREADS = 10_000;
const MAX_OPERATIONS = 1_000_000_000;
const MAX_RATE = 1_000_000;
const DAY_S = 86_400;

/** `2000:30s`: reach that rate within that time. */
const stage: Kind<Stage> = {
  takes: 'a rate and a duration such as 2000:30s',
  placeholder: 'RATE:DURATION',
  parse(value) {
    const [rate, time, ...rest] = value.split(':');
    if (time === undefined || rest.length > 0) throw new Error('it is not RATE:DURATION');
    const seconds = duration(0.1, DAY_S).parse(time);
    return { rate: integer(0, MAX_RATE).parse(rate!), durationMs: seconds * 1000 };
  },
};

/** What k6 accepts after the metric: https://grafana.com/docs/k6/latest/using-k6/thresholds/ */
const CONDITION = /^(?:avg|min|max|med|count|rate|value|p\(\d+(?:\.\d+)?\)) *(?:[<>]=?|={2,3}|!=) *(\S+)$/;

/** `op_read:p(99)<20`: k6's metric and condition. */
const threshold: Kind<readonly [metric: string, condition: string]> = {
  takes: 'a metric of k6 and a condition such as op_read:p(99)<20 (milliseconds)',
  placeholder: 'METRIC:CONDITION',
  parse(value) {
    const [, metric, condition] = /^([A-Za-z_][A-Za-z0-9_]*):(\S.*)$/.exec(value) ?? [];
    if (metric === undefined || condition === undefined) throw new Error('it is not METRIC:CONDITION');
    if (!Number.isFinite(Number(CONDITION.exec(condition)?.[1]))) {
      throw new Error(
        `${condition} is not avg, min, max, med, p(N), count, rate or value, a comparison, and a number`,
      );
    }
    return [metric, condition];
  },
};

/** Options that every load test has. */
export const COMMON_SETTINGS = defineConfig({
  ...inGroup('Load', {
    threads: {
      kind: integer(1, MAX_THREADS),
      default: '1',
      help: 'Operations at once. For ingest: connections.',
    },
    model: {
      kind: oneOf(['closed', 'open']),
      default: 'closed',
      help: 'closed: a thread waits for the end of its last operation. open: operations start on schedule.',
    },
    rate: {
      kind: integer(1, MAX_RATE),
      help: "Operations per second over all threads. In the closed model: YCSB's -target.",
    },
    ramp: {
      kind: list(stage),
      help: 'Open model: the rates to reach, one after the other, from --rate or 0.',
    },
    ops: { kind: integer(1, MAX_OPERATIONS), help: 'Operations to do, over all threads.' },
    duration: {
      kind: duration(1, DAY_S),
      help: 'Length of the run. With --ops, the first of both ends it.',
    },
    seed: {
      kind: integer(0, Number.MAX_SAFE_INTEGER),
      default: '1',
      help: 'The same seed gives the same operations.',
    },
    allowHost: { kind: list(text('a host')), help: 'Other machines that may be put under load.' },
  }),
  ...inGroup('Results', {
    threshold: { kind: list(threshold), help: 'Conditions on metrics of k6 that the run must meet.' },
    json: { kind: outputFile(), help: 'Write the figures to this file as JSON.' },
    csv: { kind: outputFile(), help: 'Write the figures to this file as comma-separated values.' },
    ...REPEAT_SETTINGS,
    dashboard: { kind: boolean(), default: 'false', help: "Show k6's web dashboard during the run." },
    dashboardPort: {
      kind: integer(1, 65_535),
      default: '5665',
      help: 'The port of the dashboard on 127.0.0.1.',
    },
    prometheus: {
      kind: url('http', 'https'),
      help: 'A Prometheus to push figures to. It needs --web.enable-remote-write-receiver.',
    },
    testid: {
      kind: text('a name'),
      help: 'The name of the run in Prometheus. Default: the profile and the time.',
    },
    k6: { kind: executable(), help: 'Another k6, version 1 or 2. Default: k6 built with our modules.' },
  }),
});

/** For profiles that fill a store before they run. */
export const PHASE_SETTING = inGroup('Load', {
  phase: {
    kind: oneOf(['both', 'load', 'run']),
    default: 'both',
    help: 'load: insert what is missing. run: do the operations. both: one after the other.',
  },
});

/** The store under test. */
export const STORE_SETTINGS = inGroup('Target', {
  store: {
    kind: text("a store's URL, or a store of the lab"),
    default: 'sqlite',
    help: 'The store under test: a URL, or a store of the lab, which is started empty.',
  },
});

/** An API that runs already. */
export const API_SETTINGS = inGroup('Target', {
  api: { kind: url('http'), help: 'An API that runs already, instead of one over --store.' },
  apiToken: { kind: text(), secret: true, help: 'The bearer token of that API.' },
});

export type CommonConfig = Config<typeof COMMON_SETTINGS>;

/** The rate and the length of the run, from the options and the operation count of the workload. */
export function modelOf(config: CommonConfig, workloadOperations: number | null): Model {
  const { threads, rate, ramp } = config;
  if (ramp !== null) return rampOf(config, ramp);
  const durationMs = config.duration === null ? null : config.duration * 1000;
  const isClosed = config.model === 'closed';
  if (!isClosed && rate === null) throw mistake('the open model needs a rate: add --rate or --ramp');
  const operations = config.ops ?? (durationMs === null ? workloadOperations : null);
  if (operations === null && durationMs === null)
    throw mistake('the run has no end: add --ops or --duration');
  if (isClosed) return { kind: 'closed', threads, operations, durationMs, rate };
  const startRate = rate!;
  const needed = operations === null ? Number.POSITIVE_INFINITY : (operations * 1000) / startRate;
  const length = Math.min(needed, durationMs ?? Number.POSITIVE_INFINITY);
  return { kind: 'open', threads, startRate, stages: [{ rate: startRate, durationMs: length }] };
}

function rampOf({ threads, rate, model, ops, duration }: CommonConfig, stages: readonly Stage[]): Model {
  if (model === 'closed') throw mistake('--ramp needs the open model: add --model open');
  if (ops !== null || duration !== null) {
    throw mistake('--ramp sets the length of the run: leave out --ops and --duration');
  }
  return { kind: 'open', threads, startRate: rate ?? 0, stages };
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
 * Refuses a target on another machine, unless `--allow-host` names it.
 *
 * @throws {ConfigError}
 */
export function refuseForeignHosts(target: string, { allowHost }: Pick<CommonConfig, 'allowHost'>): void {
  const hosts = parseUrl(target).hosts.map(({ host }) => host);
  const foreign = hosts.find((host) => !LOOPBACK.test(host) && !(allowHost ?? []).includes(host));
  if (foreign === undefined) return;
  throw mistake(`${foreign} is not this machine: add --allow-host ${foreign} to put load on it`);
}

export function mistake(line: string): ConfigError {
  return new ConfigError([line]);
}
