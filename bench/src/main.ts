import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, EXIT, run, type Schema } from '@tidegauge/service/program';
import { didYouMean } from '@tidegauge/text';

const PROGRAMS = new URL('../programs/', import.meta.url);

/** The names of all benchmarks. Each is a module in `programs`. */
export function benchNames(): string[] {
  return readdirSync(PROGRAMS)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => basename(file, '.ts'));
}

/**
 * Runs the benchmark that the first argument names with the other arguments. Only its module is imported.
 *
 * @returns the exit code; never rejects
 */
async function bench([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === '-h') {
    const output = name === undefined ? process.stderr : process.stdout;
    output.write(await overview());
    return name === undefined ? EXIT.BAD_USAGE : EXIT.OK;
  }
  if (benchNames().includes(name)) return run(await load(name), rest);
  const near = didYouMean(name, benchNames()) || ': see npm run bench -- --help';
  process.stderr.write(`there is no benchmark ${name}${near}\n`);
  return EXIT.BAD_USAGE;
}

async function load(name: string): Promise<Command<Schema>> {
  const { program } = (await import(new URL(`${name}.ts`, PROGRAMS).href)) as {
    readonly program: Command<Schema>;
  };
  return program;
}

async function overview(): Promise<string> {
  const names = benchNames();
  const widest = Math.max(...names.map(({ length }) => length));
  const lines = await Promise.all(
    names.map(async (name) => `  ${name.padEnd(widest + 2)}${(await load(name)).summary}`),
  );
  return `Usage: npm run bench -- NAME [options]\n\n${lines.join('\n')}\n\nnpm run bench -- NAME --help prints the options of a benchmark.\n`;
}

if (import.meta.main) process.exitCode = await bench(process.argv.slice(2));
