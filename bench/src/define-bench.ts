import { writeFileSync } from 'node:fs';
import { STORE_SETTINGS } from '@tidegauge/loadtests/profiles/settings';
import { machine, provenance } from '@tidegauge/loadtests/results/machine';
import { REPEAT_SETTINGS, type RepeatOptions, runRepeatedly } from '@tidegauge/loadtests/results/repeat';
import { say } from '@tidegauge/loadtests/say';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { unlessAborted } from '@tidegauge/loadtests/unless-aborted';
import { asUsageError } from '@tidegauge/loadtests/usage-errors';
import { whileItRuns } from '@tidegauge/loadtests/while-it-runs';
import {
  boolean,
  type Command,
  type Config,
  defineCommand,
  defineConfig,
  EXIT,
  inGroup,
  integer,
  list,
  outputFile,
  type Schema,
  text,
} from '@tidegauge/service/program';
import { maskUrl } from '@tidegauge/text';

/** A benchmark that is interrupted ends by itself within this time, or its servers are stopped. */
const END_MS = 10_000;

/** Options of benchmarks. Each has those that concern it, and `--repeat` and `--report`. */
export const BENCH_SETTINGS = defineConfig({
  ...STORE_SETTINGS,
  ...inGroup('Measurement', {
    quick: {
      kind: boolean(),
      default: 'false',
      help: 'End within seconds. The figures show that it works; do not quote them.',
    },
    rounds: {
      kind: integer(1, 10_000),
      help: 'Rounds that count. Default: those of the benchmark, fewer with --quick.',
    },
    seed: {
      kind: integer(0, Number.MAX_SAFE_INTEGER),
      default: '1',
      help: 'The same seed gives the same operations.',
    },
    json: { kind: outputFile(), help: 'Write all figures to this file as JSON.' },
    allowHost: { kind: list(text('a host')), help: 'Other machines that may be put under load.' },
  }),
});

export interface Bench<S extends Schema, T> {
  /** The name of its module in `programs`. */
  readonly name: string;
  readonly summary: string;
  /** The method of measurement, as the help shows it. */
  readonly details?: string;
  readonly settings: S;
  /** Checks the options before anything is started. Throws for a mistake. */
  check(config: Config<S>): T;
  /** Runs the benchmark, prints its result, and resolves to the figures for `--json`. */
  run(config: Config<S>, checked: T, context: BenchContext): Promise<Figures>;
}

/** The figures that `--json` writes. `failure`: why the run failed although it has figures. */
export type Figures = object & { readonly failure?: string };

export interface BenchContext {
  readonly closers: Closers;
  /** Aborted when the user interrupts the benchmark. */
  readonly signal: AbortSignal;
}

/** Makes a program of a benchmark. The program writes its figures first, then fails if a measurement was incorrect. */
export function defineBench<const S extends Schema, T>(bench: Bench<S, T>): Command<Schema> {
  const { summary, details } = bench;
  const name = `npm run bench -- ${bench.name}`;
  const settings: Schema = { ...bench.settings, ...REPEAT_SETTINGS };
  return defineCommand({
    name,
    summary,
    ...(details === undefined ? {} : { details }),
    settings,
    async run(options, signal) {
      const { repeat, report, ...config } = options as unknown as Config<S> & RepeatOptions;
      const { json = null, quick = false } = config as { readonly json?: string | null; quick?: boolean };
      try {
        const checked = bench.check(config as unknown as Config<S>);
        return await runRepeatedly(name, { repeat, report, json, quick }, signal, (file) =>
          runOnce(bench, config as unknown as Config<S>, checked, file, signal),
        );
      } catch (error) {
        throw asUsageError(error);
      }
    },
  });
}

async function runOnce<S extends Schema, T>(
  bench: Bench<S, T>,
  config: Config<S>,
  checked: T,
  json: string | null,
  signal: AbortSignal,
): Promise<number> {
  const closers = new Closers();
  try {
    const running = whileItRuns(bench.name, say, () => bench.run(config, checked, { closers, signal }));
    const { failure, ...figures } = await unlessAborted(running, signal, END_MS);
    if (json !== null) writeFigures(json, config, figures);
    if (failure === undefined) return EXIT.OK;
    process.stderr.write(`${failure}\n`);
    return EXIT.FAILED;
  } finally {
    await closers.close();
  }
}

function writeFigures(json: string, config: object, figures: object): void {
  const { store } = config as { readonly store?: string };
  const document = {
    ...provenance(),
    ...(store === undefined ? {} : { store: maskUrl(store) }),
    machine: machine(),
    ...figures,
  };
  writeFileSync(json, `${JSON.stringify(document, null, 2)}\n`);
}
