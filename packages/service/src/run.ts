import { type Config, ConfigError, loadConfig, printConfig, printHelp, type Schema } from './config.ts';
import { EXIT } from './exit-codes.ts';

/** What a started service gives back: how to stop it without losing anything. */
export interface Running {
  stop(): Promise<void>;
  /** Settles when the service ends by itself; rejects with why. Never settles while all is well. */
  readonly failed?: Promise<never>;
}

/** A process of ours, from its command line to its exit code. */
export interface Program<S extends Schema> {
  /** First lines of the help. */
  readonly usage: string;
  readonly schema: S;
  /** The bound on `stop`, seconds; past it the process ends with what is left undone said. */
  stopSeconds(config: Config<S>): number;
  start(config: Config<S>, signal: AbortSignal): Promise<Running>;
}

const IMPATIENCE_MS = 1000;

/**
 * Runs a program: `--help`, `--print-config`, one line per configuration mistake, SIGINT and SIGTERM to stop.
 * A second signal ends the process at once. With STOP_WITH_STDIN=true, the end of standard input stops it too:
 * a parent that dies, however it dies, takes its children along. Returns the exit code; never throws.
 */
export async function run<S extends Schema>(program: Program<S>): Promise<number> {
  const argv = process.argv.slice(2);
  if (argv.includes('--help')) {
    process.stdout.write(printHelp(program.usage, program.schema));
    return EXIT.OK;
  }
  const stopping = new AbortController();
  const asked = new Promise<void>((resolve) => {
    let since = 0;
    const onSignal = () => {
      // A terminal's Ctrl-C may arrive twice, from the terminal and from a parent that passes it on.
      if (since > 0 && Date.now() - since > IMPATIENCE_MS) process.exit(EXIT.FAILED);
      since ||= Date.now();
      stopping.abort();
      resolve();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    if (process.env.STOP_WITH_STDIN === 'true') process.stdin.resume().unref().once('close', onSignal);
  });
  try {
    const config = loadConfig(
      program.schema,
      argv.filter((argument) => argument !== '--print-config'),
      process.env,
    );
    if (argv.includes('--print-config')) {
      process.stdout.write(`${printConfig(program.schema, config)}\n`);
      return EXIT.OK;
    }
    const running = await program.start(config, stopping.signal);
    let failure: unknown = null;
    await Promise.race([asked, running.failed?.catch((error: unknown) => (failure = error)) ?? asked]);
    await withDeadline(running.stop(), program.stopSeconds(config));
    if (failure !== null) throw failure;
    return EXIT.OK;
  } catch (error) {
    if (stopping.signal.aborted && error === stopping.signal.reason) return EXIT.OK;
    return report(error);
  }
}

async function withDeadline(work: Promise<void>, seconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`stopping took longer than ${seconds} s; what was unfinished is left`)),
      seconds * 1000,
    );
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Says what went wrong in the words a person needs; the stack only where nobody foresaw the error. */
function report(error: unknown): number {
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`${problem}\n`);
    return EXIT.MISCONFIGURED;
  }
  const { message, hint, misconfigured } = explained(error);
  process.stderr.write(`${message}${hint === null ? '' : `\n${hint}`}\n`);
  return misconfigured ? EXIT.MISCONFIGURED : EXIT.FAILED;
}

/** Our error classes carry a code and mostly a hint; this room knows the shape, not the classes. */
function explained(error: unknown): { message: string; hint: string | null; misconfigured: boolean } {
  if (!(error instanceof Error)) return { message: String(error), hint: null, misconfigured: false };
  const { code, hint } = error as { code?: unknown; hint?: unknown };
  const known = typeof hint === 'string' || code === 'MISCONFIGURED';
  return {
    message: known ? error.message : (error.stack ?? error.message),
    hint: typeof hint === 'string' ? hint : null,
    misconfigured: code === 'MISCONFIGURED',
  };
}
