import { runProgram } from '@tidegauge/process';
import { buildGoProgram } from './go-program.ts';

const PINT = { name: 'pint', module: 'github.com/cloudflare/pint', version: 'v0.87.0', main: './cmd/pint' };

/**
 * Builds Cloudflare's pint from its Go module, once, and resolves to the path of the program.
 *
 * @throws {Error} when Go is not installed, or when this process may not build missing programs
 */
export function buildPint(): Promise<string> {
  return buildGoProgram(PINT);
}

/**
 * What pint reports about files of Prometheus rules, without a Prometheus. Empty: it has no fault.
 *
 * @param folder where the files are, and `.pint.hcl`
 */
export async function lintRules(files: readonly string[], folder: string): Promise<string> {
  const args = [
    '--offline',
    '--no-color',
    '--log-level=error',
    'lint',
    '--min-severity=info',
    '--fail-on=info',
  ];
  const { code, stdout, stderr } = await runProgram(await buildPint(), [...args, ...files], {
    cwd: folder,
    accept: 'any',
  });
  const report = `${stdout}${stderr}`.trim();
  if (code !== 0 && report === '') throw new Error(`pint ended with ${code} and no report`);
  return code === 0 ? '' : report;
}
