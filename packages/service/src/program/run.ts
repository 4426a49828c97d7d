import { didYouMean } from '@tidegauge/text';
import { readCommandLine } from './command-line.ts';
import { ConfigError } from './config-error.ts';
import { EXIT } from './exit-codes.ts';
import { printGroupHelp, printHelp } from './help.ts';
import { goneVariables, secretsOf, settingsOf } from './load-config.ts';
import { printConfig } from './print-config.ts';
import {
  beforeArguments,
  type Command,
  type CommandGroup,
  configuredBy,
  isGroup,
  isService,
  type Program,
  type Service,
} from './program.ts';
import { reportError } from './report-error.ts';
import type { Config, Schema } from './settings.ts';

/** A terminal's Ctrl-C may arrive twice: from the terminal, and from a parent that passes it on. */
const SAME_SIGNAL_MS = 1000;
/** How long the output of an interrupted command may take. */
const LEFT_MS = 500;

/**
 * Runs a program with the arguments and the environment of this process: `--help`, `--print-config`, one line for
 * each mistake, SIGINT and SIGTERM. A second signal ends the process at once. With STOP_WITH_STDIN=true, the end of
 * standard input is a signal too, so that a program ends with its parent, however the parent ends.
 *
 * @param argv its arguments. Default: those of this process.
 * @returns the exit code, one of `EXIT`; never rejects
 */
export async function run<S extends Schema>(
  program: Program<S>,
  argv: readonly string[] = process.argv.slice(2),
): Promise<number> {
  const known = program as unknown as Program;
  try {
    return isGroup(known) ? await runGroup(known, argv) : await runProgram(known, argv);
  } catch (error) {
    const { text, exitCode } = reportError(error);
    if (text !== '') process.stderr.write(`${text}\n`);
    return exitCode;
  }
}

async function runGroup(group: CommandGroup, [name, ...rest]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h') {
    process.stdout.write(printGroupHelp(group));
    return EXIT.OK;
  }
  const names = Object.keys(group.commands);
  if (name === undefined) {
    process.stderr.write(printGroupHelp(group));
    return EXIT.BAD_USAGE;
  }
  if (name.startsWith('-')) {
    const option = name.split('=')[0]!;
    const expected =
      didYouMean(option, ['--help']) || `: expected ${beforeArguments(group.name)} COMMAND [options]`;
    throw new ConfigError([`unknown option ${option}${expected}`]);
  }
  if (!names.includes(name)) {
    throw new ConfigError([
      `unknown command ${name}; the commands are ${names.join(', ')}${didYouMean(name, names)}`,
    ]);
  }
  const command = group.commands[name]!;
  return runProgram({ ...command, name: `${beforeArguments(group.name)} ${name}` }, rest);
}

async function runProgram(
  program: Service<Schema> | Command<Schema>,
  argv: readonly string[],
): Promise<number> {
  const { settings, gone } = program;
  const by = configuredBy(program);
  const commandLine = readCommandLine(settings, argv, gone);
  if (commandLine.help) {
    process.stdout.write(printHelp(program));
    return EXIT.OK;
  }
  // A signal counts from here on, also while the program starts.
  const signals = watchSignals();
  const inForce = settingsOf(
    settings,
    commandLine,
    by === 'environment' ? process.env : secretsOf(settings, process.env),
  );
  if (by === 'environment' && gone !== undefined)
    for (const line of goneVariables(gone, process.env)) process.stderr.write(`warning: ${line}\n`);
  if (commandLine.printConfig) {
    process.stdout.write(`${printConfig(settings, inForce, by)}\n`);
    return EXIT.OK;
  }
  const { config } = inForce;
  return isService(program) ? runService(program, config, signals) : runCommand(program, config, signals);
}

async function runCommand(
  command: Command<Schema>,
  config: Config<Schema>,
  { signal }: StopSignals,
): Promise<number> {
  try {
    return await command.run(config, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stderr.write('interrupted\n');
    return EXIT.FAILED;
  } finally {
    // What the command has left behind, such as the start of a server, does not keep the process alive.
    if (signal.aborted) setTimeout(() => process.exit(), LEFT_MS).unref();
  }
}

async function runService(
  service: Service<Schema>,
  config: Config<Schema>,
  { signal, stopped }: StopSignals,
): Promise<number> {
  // Only this user may read what a service keeps: readings, quarantine, spool.
  process.umask(0o077);
  const endInTime = () => endAfter(service.stopSeconds(config));
  signal.addEventListener('abort', endInTime);
  if (signal.aborted) return EXIT.OK;
  try {
    const running = await service.start(config, signal);
    process.send?.({ ready: true, url: running.url ?? null });
    let failure: unknown = null;
    await Promise.race([stopped, running.failed?.catch((error: unknown) => (failure = error)) ?? stopped]);
    if (!signal.aborted) endInTime();
    await running.stop();
    if (failure !== null) throw failure;
    return EXIT.OK;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return EXIT.OK;
    throw error;
  }
}

interface StopSignals {
  readonly signal: AbortSignal;
  /** Resolves when the signal is aborted. */
  readonly stopped: Promise<void>;
}

function watchSignals(): StopSignals {
  const controller = new AbortController();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  let since = 0;
  const onSignal = () => {
    if (since > 0 && Date.now() - since > SAME_SIGNAL_MS) process.exit(EXIT.FAILED);
    since ||= Date.now();
    controller.abort();
    resolve();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  if (process.env.STOP_WITH_STDIN === 'true') process.stdin.resume().unref().once('close', onSignal);
  return { signal: controller.signal, stopped };
}

/** Ends the process when it has not ended by itself after that time. */
function endAfter(seconds: number): void {
  setTimeout(() => {
    process.stderr.write(`stopping took longer than ${seconds} s: the process ends with work unfinished\n`);
    process.exit(EXIT.FAILED);
  }, seconds * 1000).unref();
}
