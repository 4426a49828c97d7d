import { basename } from 'node:path';
import { buildK6 } from '@tidegauge/lab/k6';
import {
  assignment,
  type Command,
  type CommandGroup,
  defineCommand,
  EXIT,
  inputFile,
  repeated,
  reportError,
  run,
  type Schema,
} from '@tidegauge/service/program';
import { type K6Options, refuseLostExport, runK6 } from './drivers/run-k6.ts';
import type { Plan } from './operations/plan.ts';
import { devicesProfile } from './profiles/devices-profile.ts';
import { ingestProfile } from './profiles/ingest-profile.ts';
import { refuseUnknownMetrics } from './profiles/metrics.ts';
import { mixedProfile } from './profiles/mixed-profile.ts';
import type { Profile } from './profiles/profile.ts';
import { queriesProfile } from './profiles/queries-profile.ts';
import { recordsProfile } from './profiles/records-profile.ts';
import { type CommonConfig, thresholdsOf } from './profiles/settings.ts';
import { runRepeatedly } from './results/repeat.ts';
import { report } from './results/report.ts';
import { runAnalysis } from './results/run-analysis.ts';
import { type Phase, RunMarks } from './results/run-marks.ts';
import { type Summary, summarize } from './results/summary.ts';
import { say } from './say.ts';
import { Closers } from './targets/closers.ts';
import { unlessAborted } from './unless-aborted.ts';
import { asUsageError } from './usage-errors.ts';

const INTERRUPTED = 'it was interrupted';

const PROPERTY_SETTING = {
  property: {
    kind: repeated(assignment('a property such as fieldcount=5')),
    alias: 'p',
    help: 'A property of YCSB. It has precedence over those of the file. May be repeated.',
  },
} satisfies Schema;

const FILE_SETTING = { kind: inputFile(), required: true, positional: true } as const;

export const program: CommandGroup = {
  name: 'npm run loadtest',
  summary: 'Load tests with k6. Starts what it needs on this machine, runs, and prints figures as YCSB does.',
  details:
    'A run whose figures do not count, because k6 was too slow or was interrupted, ends with 3. Ctrl-C ends a run and prints\n' +
    'its figures so far; a second Ctrl-C ends it at once.',
  examples: [
    'npm run loadtest -- records --workload a --store postgres --records 100000 --ops 10000 --threads 16',
  ],
  commands: {
    records: profileCommand('records', recordsProfile),
    ingest: profileCommand('ingest', ingestProfile),
    devices: profileCommand('devices', devicesProfile),
    queries: profileCommand('queries', queriesProfile),
    mixed: profileCommand('mixed', mixedProfile),
    compare: defineCommand({
      name: 'compare',
      summary: 'Compares the figures of two files that --json has written, such as those of two versions.',
      settings: {
        first: { ...FILE_SETTING, help: 'The file to compare with.' },
        second: { ...FILE_SETTING, help: 'The other file.' },
      },
      run: ({ first, second }) => runAnalysis('compare_runs', [first, second]),
    }),
  },
};

function profileCommand<S extends Schema, T>(name: string, given: Profile<S, T>): Command<Schema> {
  const profile = given as unknown as Profile<Schema>;
  return defineCommand({
    name,
    summary: profile.summary,
    measures: true,
    settings: profile.takesProperties ? { ...profile.settings, ...PROPERTY_SETTING } : profile.settings,
    async run(options, signal) {
      const { property, ...config } = options as CommonConfig & {
        readonly property?: readonly (readonly [string, string])[] | null;
      };
      try {
        refuseLostExport(config.dashboard);
        refuseUnknownMetrics(config, profile.operations);
        const checked = profile.check(config, Object.fromEntries(property ?? []));
        const { repeat, report, json, csv } = config;
        const options = { repeat, report, json, single: { '--csv': csv } };
        return await runRepeatedly(`npm run loadtest -- ${name}`, options, signal, (file) =>
          runProfile(profile, { ...config, json: file }, checked, signal),
        );
      } catch (error) {
        if (!signal.aborted) throw asUsageError(error);
        process.stdout.write(`INVALID: ${INTERRUPTED} before it had figures\n`);
        return EXIT.INVALID;
      }
    },
  });
}

async function runProfile(
  profile: Profile<Schema>,
  config: CommonConfig,
  checked: unknown,
  signal: AbortSignal,
): Promise<number> {
  const closers = new Closers();
  try {
    const { prometheus } = config;
    const testid =
      config.testid ?? `${basename(profile.script, '.ts')}-${new Date().toISOString().slice(0, 19)}Z`;
    if (prometheus !== null) say(`testid: ${testid}`);
    const marks = prometheus === null ? null : new RunMarks(prometheus, say);
    const during = <R>(phase: Phase, work: () => Promise<R>) =>
      marks === null ? work() : marks.during(phase, testid, work);
    signal.throwIfAborted();
    const prepared = await during('load', () =>
      unlessAborted(profile.prepare(config, checked, { closers, signal, say }), signal),
    );
    if (prepared === null) return EXIT.OK;
    const { verify, drive, script = profile.script, ...given } = prepared;
    const push = prometheus === null ? {} : { push: { prometheus, testid } };
    const plan: Plan = { ...given, seed: config.seed, thresholds: thresholdsOf(config) };
    say('running: Ctrl-C ends the run and prints its figures');
    const measured = await during(
      'run',
      () => drive?.(signal) ?? measure(plan, script, config, { signal, say, ...push }),
    );
    const invalid = signal.aborted ? [...measured.invalid, INTERRUPTED] : measured.invalid;
    if (verify !== undefined) say('checking the result');
    const found =
      verify === undefined ? null : await during('verify', () => verify(measured).catch(unverified));
    const failures = [...measured.failures, ...(found?.failures ?? [])];
    report(plan, { ...measured, invalid, failures, facts: found?.facts ?? {} }, config);
    if (invalid.length > 0) return EXIT.INVALID;
    return failures.length > 0 ? EXIT.FAILED : EXIT.OK;
  } finally {
    await closers.close();
  }
}

/** What was measured is reported although a server has failed since. */
function unverified(error: unknown): Pick<Summary, 'facts' | 'failures'> {
  return { facts: {}, failures: [`the result cannot be verified: ${reportError(error).text}`] };
}

async function measure(
  plan: Plan,
  script: string,
  config: CommonConfig,
  { say, ...options }: Pick<K6Options, 'push' | 'signal'> & { readonly say: (line: string) => void },
): Promise<Summary> {
  const k6 = config.k6 ?? (await unlessAborted(buildK6(), options.signal));
  const dashboardPort = config.dashboard ? config.dashboardPort : null;
  if (dashboardPort !== null) say(`dashboard: http://127.0.0.1:${dashboardPort}/`);
  const open = plan.parts.some(({ model }) => model.kind === 'open');
  return summarize(await runK6(plan, { k6, script, dashboardPort, ...options }), open);
}

if (import.meta.main) process.exitCode = await run(program);
