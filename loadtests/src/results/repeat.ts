import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { ConfigError, EXIT, inGroup, integer, outputFile } from '@tidegauge/service/program';
import { PYTHON, setUpAnalysis } from '../../../scripts/setup.js';

const MOST_RUNS = 1000;

/** Options to repeat a measurement, and to report how much its figures vary. */
export const REPEAT_SETTINGS = inGroup('Measurement', {
  repeat: {
    kind: integer(1, MOST_RUNS),
    default: '1',
    help: 'Run everything this many times. --json then has the figures of each run.',
  },
  report: {
    kind: outputFile(),
    help: 'With --repeat: write means and intervals to this file as HTML.',
  },
});

export interface RepeatOptions {
  readonly repeat: number;
  readonly report: string | null;
  readonly json: string | null;
  readonly quick?: boolean;
  /** Files that have the figures of one run only, by option. */
  readonly single?: Readonly<Record<string, string | null>>;
}

/**
 * Runs a measurement once, or several times with a report. `once` writes the figures to the file that it receives, and
 * resolves to an exit code. Resolves to the highest exit code. When a run throws, the report has the runs before it.
 * @throws {ConfigError} The options contradict each other. Nothing was run.
 */
export async function runRepeatedly(
  command: string,
  options: RepeatOptions,
  signal: AbortSignal,
  once: (json: string | null) => Promise<number>,
): Promise<number> {
  refuseContradictions(options);
  const { repeat, report, json } = options;
  if (repeat === 1) return once(json);
  if (report !== null) await setUpAnalysis();
  const directory = temporaryDirectory('repeat');
  const files: string[] = [];
  let code: number = EXIT.OK;
  try {
    for (let run = 1; run <= repeat && !signal.aborted; run += 1) {
      process.stderr.write(`run ${run}/${repeat}\n`);
      const file = join(directory.path, `run-${String(run).padStart(4, '0')}.json`);
      code = Math.max(code, await once(file));
      if (existsSync(file)) files.push(file);
    }
    return code;
  } finally {
    try {
      await keep(command, options, files);
    } finally {
      directory.remove();
    }
  }
}

function refuseContradictions({ repeat, report, json, single = {} }: RepeatOptions): void {
  const problems: string[] = [];
  if (repeat === 1 && report !== null) problems.push('--report needs several runs: add --repeat 5');
  if (repeat > 1 && report === null && json === null) {
    problems.push('--repeat keeps no figures: add --report FILE.html or --json FILE');
  }
  for (const [option, file] of Object.entries(single)) {
    if (repeat > 1 && file !== null)
      problems.push(`${option} has the figures of one run: leave out --repeat`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

async function keep(command: string, options: RepeatOptions, files: readonly string[]): Promise<void> {
  const { report, json, quick = false } = options;
  if (json !== null) {
    const documents = files.map((file): unknown => JSON.parse(readFileSync(file, 'utf8')));
    writeFileSync(json, `${JSON.stringify(documents, null, 2)}\n`);
  }
  if (report === null) return;
  if (files.length < 2) {
    process.stderr.write(`${report} was not written: fewer than two runs have figures\n`);
    return;
  }
  const stamp = quick ? ['--quick'] : [];
  await runProgram(
    PYTHON,
    ['-m', 'tidegauge_analysis.repeat', '--command', command, ...stamp, report, ...files],
    { what: 'the report' },
  );
  process.stderr.write(`report: ${report}\n`);
}
