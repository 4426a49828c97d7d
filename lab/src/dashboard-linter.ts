import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { buildOnce } from './build-once.ts';
import { go } from './go.ts';

/** Its repository has no tags. */
export const DASHBOARD_LINTER_VERSION = 'v0.0.0-20241216132922-9479ff4bfa35';
const MODULE = `github.com/grafana/dashboard-linter@${DASHBOARD_LINTER_VERSION}`;

/**
 * Builds Grafana's dashboard-linter from its Go module, once, and resolves to the path of the program.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export async function buildDashboardLinter(): Promise<string> {
  const folder = await buildOnce(`dashboard-linter/${DASHBOARD_LINTER_VERSION}`, async (directory) => {
    process.stderr.write('Building dashboard-linter (once, some minutes)...\n');
    const { Dir: source } = JSON.parse(await go(['mod', 'download', '-json', MODULE])) as { Dir: string };
    await mkdir(directory);
    const output = join(directory, 'dashboard-linter');
    await go(['build', '-ldflags=-s -w', '-o', output, '.'], { cwd: source });
  });
  return join(folder, 'dashboard-linter');
}

/**
 * What the linter reports about the file of a dashboard in its strict mode, one fault a line. Empty: it has none.
 *
 * @param config the file of exceptions
 */
export async function lintDashboard(file: string, config: string): Promise<string[]> {
  const args = ['lint', '--strict', '--config', config, file];
  const { code, stdout, stderr } = await runProgram(await buildDashboardLinter(), args, { accept: 'any' });
  if (code === 0) return [];
  const faults = stdout.split('\n').filter((line) => /[❌⚠]/u.test(line));
  return faults.length > 0 ? faults : [`it ended with ${code}: ${stderr}`];
}
