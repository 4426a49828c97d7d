import { type Config, ConfigError, loadConfig, printConfig, printHelp, type Schema } from './config.ts';
import { EXIT } from './exit-codes.ts';

/** What a started service gives back: how to stop it without losing anything. */
export interface Running {
  stop(): Promise<void>;
  /** Where it listens; told to a parent that started it with a channel, together with that it is ready. */
  readonly url?: string;
  /** Settles when the service ends by itself; rejects with why. Never settles while all is well. */
  readonly failed?: Promise<never>;
}

/** A process of ours, from its command line to its exit code. */
export interface Program<S extends Schema> {
  /** First lines of the help. */
  readonly usage: string;
  readonly schema: S;
  /** Seconds from being asked to stop (also while it starts) to the end of the process, whatever still runs. */
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
  let onAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    let since = 0;
    const onSignal = () => {
      // A terminal's Ctrl-C may arrive twice, from the terminal and from a parent that passes it on.
      if (since > 0 && Date.now() - since > IMPATIENCE_MS) process.exit(EXIT.FAILED);
      since ||= Date.now();
      stopping.abort();
      onAsked();
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
    // What it keeps is for nobody else: readings, quarantine, spool.
    process.umask(0o077);
    onAsked = () => endAfter(program.stopSeconds(config));
    if (stopping.signal.aborted) return EXIT.OK;
    const running = await program.start(config, stopping.signal);
    process.send?.({ ready: true, url: running.url ?? null });
    let failure: unknown = null;
    await Promise.race([asked, running.failed?.catch((error: unknown) => (failure = error)) ?? asked]);
    if (!stopping.signal.aborted) onAsked();
    await running.stop();
    if (failure !== null) throw failure;
    return EXIT.OK;
  } catch (error) {
    if (stopping.signal.aborted && error === stopping.signal.reason) return EXIT.OK;
    return report(error);
  }
}

/** Ends the process when it has not ended by itself after that time. */
function endAfter(seconds: number): void {
  setTimeout(() => {
    process.stderr.write(`stopping took longer than ${seconds} s: what was not finished is left undone\n`);
    process.exit(EXIT.FAILED);
  }, seconds * 1000).unref();
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
