import { runProgram } from '@tidegauge/process';
import { buildGoProgram } from './go-program.ts';

/** Its repository has no tags. */
const LINTER = {
  name: 'dashboard-linter',
  module: 'github.com/grafana/dashboard-linter',
  version: 'v0.0.0-20241216132922-9479ff4bfa35',
  main: '.',
};

/**
 * Builds Grafana's dashboard-linter from its Go module, once, and resolves to the path of the program.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export function buildDashboardLinter(): Promise<string> {
  return buildGoProgram(LINTER);
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
