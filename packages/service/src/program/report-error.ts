import { AssertionError } from 'node:assert';
import { ConfigError } from './config-error.ts';
import { EXIT } from './exit-codes.ts';
import { isExplained, whatFailed } from './why-failed.ts';

/** What a program prints about an error, and the exit code that it ends with. */
export interface ErrorReport {
  readonly text: string;
  readonly exitCode: number;
}

/** Another process has printed the reason, and ended with this exit code. */
export class ReportedError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`a worker ended with exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Errors that a correct program does not throw. */
const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError, AssertionError];
/** Codes of the operating system, of name resolution and of undici: a server or a file is unavailable. */
const UNAVAILABLE = /^(E[A-Z0-9]+|UND_ERR_[A-Z_]+|ERR_INVALID_URL)$/;
/** The whole message of `fetch`. Its cause has the reason. */
const FETCH_FAILED = 'fetch failed';
const MAX_CAUSES = 8;

/**
 * One line for bad input and for an unavailable server: the causes that the message does not contain yet, and then
 * the error's hint where it has one. A stack trace for a programming error.
 */
export function reportError(error: unknown): ErrorReport {
  if (error instanceof ReportedError) return { text: '', exitCode: error.exitCode };
  if (error instanceof ConfigError) return { text: error.problems.join('\n'), exitCode: EXIT.BAD_USAGE };
  if (!(error instanceof Error)) return { text: String(error), exitCode: EXIT.FAILED };
  const { code, hint } = error as { code?: unknown; hint?: unknown };
  const exitCode = code === 'MISCONFIGURED' ? EXIT.BAD_USAGE : EXIT.FAILED;
  if (isBug(error)) return { text: error.stack ?? error.message, exitCode };
  const text = causesOf(error).reduce(join, '') || error.name;
  return { text: typeof hint === 'string' ? `${text}: ${hint}` : text, exitCode };
}

function isBug(error: Error): boolean {
  if (!BUGS.some((kind) => error instanceof kind)) return false;
  return !causesOf(error).some(
    ({ message, code }) => UNAVAILABLE.test(String(code ?? '')) || message === FETCH_FAILED,
  );
}

interface Cause {
  readonly message: string;
  /** The message in words. */
  readonly text: string;
  readonly code: unknown;
}

function causesOf(error: Error): readonly Cause[] {
  const causes: Cause[] = [];
  let next: unknown = error;
  while (next instanceof Error && causes.length < MAX_CAUSES) {
    // Node reports several failed connections as one error without a message.
    const inside = next instanceof AggregateError && next.message === '' ? next.errors : [];
    const text = inside.map((each) => whatFailed(each as Error)).join('; ') || whatFailed(next);
    causes.push({ message: next.message || text, text, code: (next as { code?: unknown }).code });
    next = next.cause;
  }
  return causes;
}

/** Adds a cause to a line that does not have its message, its words or the code that they explain. */
function join(line: string, { message, text, code }: Cause): string {
  if (line === '') return text;
  const hasCode = isExplained(code) && line.includes(code);
  return hasCode || message === FETCH_FAILED || line.includes(message) || line.includes(text)
    ? line
    : `${line}: ${text}`;
}
