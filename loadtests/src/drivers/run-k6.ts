import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Exit, exitText, startProcess, temporaryDirectory } from '@tidegauge/process';
import type { Plan } from '../operations/plan.ts';
import { mistake } from '../profiles/settings.ts';
import { writeUrl } from '../results/remote-write.ts';
import type { K6Summary } from '../results/summary.ts';

const SCRIPTS = fileURLToPath(new URL('../../k6/', import.meta.url));
/** k6's exit code when a threshold was crossed. The summary names the threshold. */
const CROSSED = 99;
/** k6's exit code when it refuses its settings. The cause is a threshold on a metric that does not exist. */
const REFUSED = 104;
const STOP_MS = 60_000;

export interface K6Options {
  readonly k6: string;
  readonly script: string;
  /** Port of k6's web dashboard on loopback; null: none. */
  readonly dashboardPort: number | null;
  /** The Prometheus that receives figures during the run, and the name of the run there. */
  readonly push?: { readonly prometheus: string; readonly testid: string };
  /** Where k6 writes all its samples, as CSV with times in microseconds. */
  readonly samples?: string;
  /** File with the certificate of the API's authority (PEM). Default: the authorities of this machine. */
  readonly authority?: string;
  readonly signal: AbortSignal;
}

/**
 * Runs a script of loadtests/k6 and resolves to its figures. After an abort k6 completes the operations that it has
 * started, and the figures so far are returned. All output of k6 goes to standard error.
 *
 * @throws {Error} when k6 ends without figures
 */
export async function runK6(plan: Plan, options: K6Options): Promise<K6Summary> {
  const folder = temporaryDirectory('k6');
  const summary = join(folder.path, 'summary.json');
  const planFile = join(folder.path, 'plan.json');
  // The plan can contain a password.
  writeFileSync(planFile, JSON.stringify(plan), { mode: 0o600 });
  try {
    const exit = await runProcess(options, { PLAN: planFile, SUMMARY: summary });
    const { code } = exit;
    if (code === REFUSED) throw mistake('k6 refuses --threshold: see above');
    if (!existsSync(summary))
      throw new Error(`k6 ended without figures (${exitText(exit)}): see its output above`);
    if (code !== 0 && code !== CROSSED && !options.signal.aborted)
      throw new Error(`k6 failed (${exitText(exit)}): see its output above`);
    return JSON.parse(readFileSync(summary, 'utf8')) as K6Summary;
  } finally {
    folder.remove();
  }
}

async function runProcess(
  { k6, script, dashboardPort, push, samples, authority, signal }: K6Options,
  variables: Readonly<Record<string, string>>,
): Promise<Exit> {
  const args = ['run', '--address', '', ...(process.stderr.isTTY ? [] : ['--quiet'])];
  if (push !== undefined) args.push('--tag', `testid=${push.testid}`);
  if (samples !== undefined) args.push('--out', `csv=${samples}`);
  for (const [name, value] of Object.entries(variables)) args.push('--env', `${name}=${value}`);
  const child = startProcess({
    command: k6,
    args: [...args, join(SCRIPTS, script)],
    // Standard output of this process is reserved for the figures.
    stdout: 2,
    stderr: 2,
    env: {
      ...environment(dashboardPort),
      ...pushing(push),
      // Go reads it (crypto/x509).
      ...(authority === undefined ? {} : { SSL_CERT_FILE: authority }),
      ...(samples === undefined ? {} : { K6_CSV_TIME_FORMAT: 'unix_micro' }),
    },
    // k6 ends without figures when SIGINT arrives twice: from the terminal, and from this process.
    ownGroup: true,
    stopSignal: 'SIGINT',
    stopMs: STOP_MS,
  });
  const stop = (): void => void child.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return child.exited.finally(() => signal.removeEventListener('abort', stop));
}

/**
 * Refuses K6_WEB_DASHBOARD_EXPORT without --dashboard: k6 writes the file only if the dashboard is enabled.
 * @throws {ConfigError}
 */
export function refuseLostExport(dashboard: boolean): void {
  const file = process.env.K6_WEB_DASHBOARD_EXPORT;
  if (dashboard || file === undefined || file === '') return;
  throw mistake(
    `K6_WEB_DASHBOARD_EXPORT names ${file}, but k6 writes it with its dashboard only: add --dashboard`,
  );
}

function environment(dashboardPort: number | null): Readonly<Record<string, string>> {
  return {
    // Without these settings k6 sends a usage report to its developers, and downloads missing modules.
    K6_NO_USAGE_REPORT: 'true',
    K6_AUTO_EXTENSION_RESOLUTION: 'false',
    // With Go's default, garbage collection takes a fifth of k6's processor time. 400 uses more memory instead.
    GOGC: process.env.GOGC ?? '400',
    ...(dashboardPort === null
      ? {}
      : {
          K6_WEB_DASHBOARD: 'true',
          K6_WEB_DASHBOARD_HOST: '127.0.0.1',
          K6_WEB_DASHBOARD_PORT: String(dashboardPort),
        }),
  };
}

/**
 * The settings that send figures to Prometheus. The dashboard of load tests shows these quantiles. Without stale
 * markers, the last figures of a run stay visible for minutes.
 */
function pushing(push: K6Options['push']): Readonly<Record<string, string>> {
  if (push === undefined) return {};
  return {
    K6_OUT: 'experimental-prometheus-rw',
    K6_PROMETHEUS_RW_SERVER_URL: writeUrl(push.prometheus),
    K6_PROMETHEUS_RW_TREND_STATS: 'p(50),p(99),max',
    K6_PROMETHEUS_RW_STALE_MARKERS: 'true',
  };
}
