import { basename } from 'node:path';
import { buildK6 } from '@tidegauge/lab/k6';
import { EXIT, loadConfig, type Schema } from '@tidegauge/service';
import { didYouMean } from '@tidegauge/text';
import { refuseLostExport, runK6 } from './drivers/run-k6.ts';
import { describeFlags, explain, secretsOf } from './explain.ts';
import type { Plan } from './operations/plan.ts';
import { devicesProfile } from './profiles/devices-profile.ts';
import { ingestProfile } from './profiles/ingest-profile.ts';
import { mixedProfile } from './profiles/mixed-profile.ts';
import type { Profile } from './profiles/profile.ts';
import { queriesProfile } from './profiles/queries-profile.ts';
import { recordsProfile } from './profiles/records-profile.ts';
import { type CommonConfig, mistake, thresholdsOf } from './profiles/settings.ts';
import { report } from './results/report.ts';
import { type Summary, summarize } from './results/summary.ts';
import { Closers } from './targets/closers.ts';

/** The run is invalid: k6 could not keep its schedule, or did nothing. */
const EXIT_INVALID = 3;

const PROFILES: Readonly<Record<string, Profile<Schema>>> = {
  records: recordsProfile as unknown as Profile<Schema>,
  ingest: ingestProfile as unknown as Profile<Schema>,
  devices: devicesProfile as unknown as Profile<Schema>,
  queries: queriesProfile as unknown as Profile<Schema>,
  mixed: mixedProfile as unknown as Profile<Schema>,
};

const USAGE = `Load tests with k6. Starts what it needs on this machine, runs, and ends with figures as YCSB prints them.

  npm run loadtest -- PROFILE [flags]      PROFILE --help names the flags

${Object.values(PROFILES)
  .map(({ summary }) => `  ${summary}`)
  .join('\n')}

Exit codes: 0 all is well, 1 operations or thresholds failed, 2 a wrong setting (nothing was run), 3 the run is invalid.
`;

process.exitCode = await main(process.argv.slice(2)).catch(explain);

async function main([name, ...argv]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help') {
    process[name === undefined ? 'stderr' : 'stdout'].write(USAGE);
    return name === undefined ? EXIT.MISCONFIGURED : EXIT.OK;
  }
  const profile = Object.hasOwn(PROFILES, name) ? PROFILES[name]! : null;
  if (profile === null) {
    const names = Object.keys(PROFILES);
    throw mistake(`there is no load test ${name}: there are ${names.join(', ')}${didYouMean(name, names)}`);
  }
  if (argv.includes('--help')) {
    process.stdout.write(helpOf(name, profile));
    return EXIT.OK;
  }
  const { properties, rest } = takeProperties(argv, profile.takesProperties);
  const config = loadConfig(profile.settings, rest, secretsOf(profile.settings)) as CommonConfig;
  refuseLostExport(config.dashboard);
  const checked = profile.check(config, properties);
  return runProfile(profile, config, checked);
}

async function runProfile(profile: Profile<Schema>, config: CommonConfig, checked: unknown): Promise<number> {
  const closers = new Closers();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error('interrupted'));
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    const prepared = await profile.prepare(config, checked, { closers, signal: stopping.signal, say });
    if (prepared === null) return EXIT.OK;
    const { verify, drive, ...given } = prepared;
    const plan: Plan = { ...given, seed: config.seed, thresholds: thresholdsOf(config) };
    const measured = await (drive ?? (() => measure(plan, profile.script, config, stopping.signal, say)))();
    const invalid = stopping.signal.aborted ? [...measured.invalid, 'it was interrupted'] : measured.invalid;
    const found = await verify?.(measured);
    const failures = [...measured.failures, ...(found?.failures ?? [])];
    report(plan, { ...measured, invalid, failures, facts: found?.facts ?? {} }, config);
    if (invalid.length > 0) return EXIT_INVALID;
    return failures.length > 0 ? EXIT.FAILED : EXIT.OK;
  } finally {
    await closers.close();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

function helpOf(name: string, { summary, settings, takesProperties }: Profile<Schema>): string {
  const properties = takesProperties
    ? '  -p NAME=VALUE\n      A property that goes before those of the file, as in YCSB.\n'
    : '';
  return `npm run loadtest -- ${name} [flags]\n\n  ${summary}\n\n${describeFlags(settings)}${properties}`;
}

async function measure(
  plan: Plan,
  script: string,
  config: CommonConfig,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<Summary> {
  const k6 = config.k6 ?? (await buildK6());
  const dashboardPort = config.dashboard ? config.dashboardPort : null;
  if (dashboardPort !== null) say(`dashboard: http://127.0.0.1:${dashboardPort}/`);
  const { prometheus } = config;
  const testid = config.testid ?? `${basename(script, '.ts')}-${new Date().toISOString().slice(0, 19)}Z`;
  if (prometheus !== null) say(`testid: ${testid}`);
  const push = prometheus === null ? {} : { push: { prometheus, testid } };
  const open = plan.parts.some(({ model }) => model.kind === 'open');
  return summarize(await runK6(plan, { k6, script, dashboardPort, signal, ...push }), open);
}

/** `-p name=value` and `-pname=value`, as YCSB takes them, which our own flags do not look like. */
function takeProperties(argv: readonly string[], allowed: boolean) {
  const properties: Record<string, string> = {};
  const rest: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const argument = argv[index]!;
    if (!allowed || !/^-p/.test(argument)) {
      rest.push(argument);
      continue;
    }
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(argument.slice(2) || (argv[++index] ?? '')) ?? [];
    if (name === undefined || value === undefined) throw mistake('-p takes a property such as fieldcount=5');
    properties[name] = value;
  }
  return { properties, rest };
}
