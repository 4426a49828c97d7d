import { writeFileSync } from 'node:fs';
import {
  boolean,
  type Config,
  defineConfig,
  EXIT,
  integer,
  list,
  loadConfig,
  type Schema,
  text,
} from '@tidegauge/service';
import { maskUrl } from '@tidegauge/text';
import { describeFlags, explain, secretsOf } from '../explain.ts';
import { STORE_SETTINGS } from '../profiles/settings.ts';
import { machine, provenance } from '../results/machine.ts';
import { Closers } from '../targets/closers.ts';

/** What every bench of a store takes. */
export const BENCH_SETTINGS = defineConfig({
  ...STORE_SETTINGS,
  quick: {
    kind: boolean(),
    default: 'false',
    help: 'Ends in seconds, with figures to try it out, not to quote.',
  },
  seed: {
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: '1',
    help: 'The same seed gives the same operations.',
  },
  json: { kind: text('a file'), help: 'Where to write all figures as JSON.' },
  allowHost: { kind: list(text('a host')), help: 'Hosts beyond this machine that may be put under load.' },
});

export interface Bench<S extends Schema, T> {
  readonly name: string;
  readonly summary: string;
  readonly settings: S;
  /** Finds every mistake before anything is started. */
  check(config: Config<S>): T;
  /** Measures, prints, and resolves to what `--json` keeps. */
  run(config: Config<S>, checked: T, context: BenchContext): Promise<object>;
}

export interface BenchContext {
  readonly closers: Closers;
  /** Aborted when the person who waits does not want to. */
  readonly signal: AbortSignal;
}

/** Runs a bench with the flags of this process and sets its exit code: 1 failed, 2 a wrong flag (nothing was run). */
export async function runBench<S extends Schema, T>(bench: Bench<S, T>): Promise<void> {
  process.exitCode = await main(bench, process.argv.slice(2)).catch(explain);
}

async function main<S extends Schema, T>(bench: Bench<S, T>, argv: readonly string[]): Promise<number> {
  const { name, summary, settings } = bench;
  if (argv.includes('--help')) {
    process.stdout.write(`npm run ${name} -- [flags]\n\n  ${summary}\n\n${describeFlags(settings)}`);
    return EXIT.OK;
  }
  const config = loadConfig(settings, argv, secretsOf(settings));
  const checked = bench.check(config);
  const closers = new Closers();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error('interrupted'));
  process.on('SIGINT', stop).on('SIGTERM', stop);
  try {
    const figures = await bench.run(config, checked, { closers, signal: stopping.signal });
    const { json, store } = config as { readonly json?: string | null; readonly store?: string };
    const document = {
      ...provenance(),
      ...(store === undefined ? {} : { store: maskUrl(store) }),
      machine: machine(),
      ...figures,
    };
    if (json != null) writeFileSync(json, `${JSON.stringify(document, null, 2)}\n`);
  } finally {
    await closers.close();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  return EXIT.OK;
}
