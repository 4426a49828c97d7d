import { ConfigError, EXIT, reportError, run } from '@tidegauge/service/program';
import { didYouMean } from '@tidegauge/text';
import { isInstalled, loadProgram, PROGRAM_GROUPS, PROGRAMS } from './programs.ts';

const OPTIONS = ['--help', '--version'];

/**
 * Runs the program that the first argument names with the other arguments.
 *
 * @returns the exit code; never rejects
 */
export async function tidegauge(argv: readonly string[]): Promise<number> {
  try {
    return await runNamed(argv);
  } catch (error) {
    const { text, exitCode } = reportError(error);
    process.stderr.write(`${text}\n`);
    return exitCode;
  }
}

async function runNamed([name, ...rest]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h') {
    process.stdout.write(overview());
    return EXIT.OK;
  }
  if (name === '--version') {
    const { version } = await import('./version.ts');
    process.stdout.write(`tidegauge ${await version()}\n`);
    return EXIT.OK;
  }
  if (name === undefined) {
    process.stderr.write(overview());
    return EXIT.BAD_USAGE;
  }
  if (!Object.hasOwn(PROGRAMS, name)) {
    const kind = name.startsWith('-') ? 'option' : 'command';
    const near = didYouMean(name, kind === 'option' ? OPTIONS : Object.keys(PROGRAMS));
    throw new ConfigError([`unknown ${kind} ${name}${near || ': see tidegauge --help'}`]);
  }
  for (const [given, used] of Object.entries(PROGRAMS[name]!.renamed ?? {})) {
    if (process.env[given]) process.env[used] ??= process.env[given];
  }
  const { program, main } = await loadProgram(name);
  return program === undefined ? await main!(rest) : await run(program, rest);
}

/** Every program of this installation, on one screen. */
function overview(): string {
  const widest = Math.max(...Object.keys(PROGRAMS).map(({ length }) => length));
  const lines = Object.entries(PROGRAM_GROUPS).flatMap(([title, programs]) => {
    const rows = Object.entries(programs)
      .filter(([, entry]) => isInstalled(entry))
      .map(([name, { summary }]) => `  ${name.padEnd(widest + 2)}${summary}`);
    return rows.length === 0 ? [] : [`${title}:`, ...rows];
  });
  return `Usage: tidegauge COMMAND [options]

${lines.join('\n')}

tidegauge COMMAND --help prints the options of a command, --print-config its settings in force.
tidegauge --version prints the version and the commit.
`;
}

if (import.meta.main) process.exitCode = await tidegauge(process.argv.slice(2));
