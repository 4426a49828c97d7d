import { execa, execaSync } from 'execa';
import { commandLine } from './command-line.ts';
import { type Exit, exitOf, exitText } from './exit.ts';

const TIMEOUT_MS = 120_000;
const OUTPUT_BYTES = 64 * 2 ** 20;
const TAIL_CHARACTERS = 4000;

export interface ProgramOptions {
  /** Names the step in errors. Default: the program and its first argument. */
  readonly what?: string;
  readonly cwd?: string;
  /** Added to the environment of this process, unless `extendEnv` is false. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly extendEnv?: boolean;
  /** Runs the program as another user. This needs root. */
  readonly uid?: number;
  readonly gid?: number;
  /** Standard input. Default: none. */
  readonly input?: string | Uint8Array;
  /** Where standard output goes instead of the result: a file descriptor, or that of this process. */
  readonly stdout?: 'pipe' | 'inherit' | number;
  readonly stderr?: 'pipe' | 'inherit' | number;
  /** Infinity: no limit. Default: two minutes. */
  readonly timeoutMs?: number;
  /** Bound of standard output and of standard error. A program that writes more is ended. Default: 64 MiB. */
  readonly outputBytes?: number;
  /** Exit codes that are not an error; `any` for all codes and signals. Default: 0. */
  readonly accept?: readonly number[] | 'any';
}

export interface ProgramResult {
  /** Null when a signal ended the program. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that failed: not started, ended with another exit code, too slow, or with too much output. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  readonly exit: Exit;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;

  constructor(
    message: string,
    exit: Exit,
    {
      timedOut,
      stdout,
      stderr,
    }: { readonly timedOut: boolean; readonly stdout: string; readonly stderr: string },
  ) {
    super(message, exit.error === null ? {} : { cause: exit.error });
    this.exit = exit;
    this.timedOut = timedOut;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** Whether the program does not exist. */
  get isMissing(): boolean {
    return (this.exit.error as NodeJS.ErrnoException | null)?.code === 'ENOENT';
  }
}

/**
 * Runs a program to its end and resolves to what it wrote. It is killed when this process ends in any way.
 *
 * @throws {ProgramError} with the exit code or the signal, and the end of what the program wrote
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const { timeoutMs = TIMEOUT_MS, outputBytes = OUTPUT_BYTES, extendEnv = true } = options;
  const { stdout = 'pipe', stderr = 'pipe', input } = options;
  const place = options.cwd === undefined ? {} : { cwd: options.cwd };
  const path = options.env?.PATH ?? process.env.PATH;
  const [file, ...rest] = commandLine(program, args, { path, ...place });
  const result = await execa(file, rest, {
    ...place,
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    env: options.env ?? {},
    extendEnv,
    // The types of execa define descriptors up to 9 only.
    stdout: stdout as 'pipe',
    stderr: stderr as 'pipe',
    timeout: Number.isFinite(timeoutMs) ? timeoutMs : 0,
    maxBuffer: outputBytes,
    stripFinalNewline: false,
    reject: false,
  });
  return outcomeOf(result, program, args, options);
}

/**
 * The same for code that cannot wait for the event loop, such as a handler of the exit event.
 *
 * @param options.descriptor an open file that the program gets as its file descriptor 3
 * @throws {ProgramError}
 */
export function runProgramSync(
  program: string,
  args: readonly string[],
  options: Pick<ProgramOptions, 'what' | 'cwd' | 'timeoutMs' | 'accept'> & {
    readonly descriptor?: number;
  } = {},
): ProgramResult {
  const { timeoutMs = TIMEOUT_MS, descriptor, cwd } = options;
  const result = execaSync(program, args, {
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe', ...(descriptor === undefined ? [] : [descriptor as 3])],
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES,
    stripFinalNewline: false,
    reject: false,
  });
  return outcomeOf(result, program, args, options);
}

interface Completed {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly cause?: unknown;
  readonly timedOut: boolean;
  readonly isMaxBuffer: boolean;
  readonly stdout?: unknown;
  readonly stderr?: unknown;
}

function outcomeOf(
  result: Completed,
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): ProgramResult {
  const { timeoutMs = TIMEOUT_MS, outputBytes = OUTPUT_BYTES, accept = [0] } = options;
  const { timedOut, isMaxBuffer } = result;
  const exit = exitOf(result);
  const written = { stdout: text(result.stdout), stderr: text(result.stderr) };
  const isAccepted =
    accept === 'any' ? exit.error === null : exit.code !== null && accept.includes(exit.code);
  if (isAccepted && !timedOut && !isMaxBuffer) return { code: exit.code, signal: exit.signal, ...written };
  const how = timedOut
    ? `did not end within ${timeoutMs / 1000} s`
    : isMaxBuffer
      ? `wrote more than ${outputBytes} bytes`
      : exitText(exit);
  const tail = (written.stderr.trim() || written.stdout.trim()).slice(-TAIL_CHARACTERS);
  const what = options.what ?? [program, ...args.slice(0, 1)].join(' ');
  throw new ProgramError(`${what}: ${how}${tail === '' ? '' : `: ${tail}`}`, exit, { timedOut, ...written });
}

function text(output: unknown): string {
  return typeof output === 'string' ? output : '';
}
