import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProgramResult, runProgram, temporaryDirectory } from '@tidegauge/process';
import { PYTHON, ROOT, setUpAnalysis } from '../../../scripts/setup.js';
import { say } from '../say.ts';
import { whileItRuns } from '../while-it-runs.ts';

/** A report of a large study draws hundreds of figures. */
const LIMIT_MS = 3_600_000;

/**
 * Runs a module of the statistics package, which is installed first if necessary. Its output goes to this process.
 *
 * @param stdout `pipe`: what it prints on standard output is dropped
 * @returns the exit code
 */
export async function runAnalysis(
  module: string,
  args: readonly string[],
  stdout: 'inherit' | 'pipe' = 'inherit',
): Promise<number> {
  const { code } = await runModule(module, args, stdout, [0, 1, 2]);
  return code ?? 1;
}

/** What a module of the statistics package prints. Rejects when it ends with an error, which it has shown. */
export async function analysisOutput(module: string, args: readonly string[]): Promise<string> {
  return (await runModule(module, args, 'pipe', [0])).stdout;
}

async function runModule(
  module: string,
  args: readonly string[],
  stdout: 'inherit' | 'pipe',
  accept: readonly number[],
): Promise<ProgramResult> {
  await setUpAnalysis();
  const options = {
    what: `tidegauge_analysis.${module}`,
    stdout,
    stderr: 'inherit',
    // Figures are drawn without a display. The cache of fonts must not depend on a home directory.
    env: { MPLBACKEND: 'Agg', MPLCONFIGDIR: `${ROOT}/node_modules/.cache/tidegauge/matplotlib` },
    timeoutMs: LIMIT_MS,
    accept,
  } as const;
  const work = () => runProgram(PYTHON, ['-m', `tidegauge_analysis.${module}`, ...args], options);
  return whileItRuns(`the program ${module}`, say, work);
}

/**
 * Draws a picture with a module of the statistics package.
 *
 * @param figures what the module reads as JSON
 * @param file the SVG to write
 */
export async function drawFigures(module: string, figures: object, file: string): Promise<void> {
  const folder = temporaryDirectory(module);
  try {
    const input = join(folder.path, 'figures.json');
    writeFileSync(input, JSON.stringify(figures));
    const code = await runAnalysis(module, [input, file]);
    if (code !== 0) throw new Error('the picture could not be drawn: see above');
  } finally {
    folder.remove();
  }
}
