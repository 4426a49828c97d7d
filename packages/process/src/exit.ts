/** How a child process ended. */
export interface Exit {
  /** Null when a signal ended it or it could not be started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started; null when it ran. */
  readonly error: Error | null;
}

/** `exit code 3`, `signal SIGKILL`, or `cannot be started: spawn nothing ENOENT`. */
export function exitText({ code, signal, error }: Exit): string {
  if (error !== null) return `cannot be started: ${error.message}`;
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

/** The `Exit` in the result of an execa child. */
export function exitOf(result: {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly cause?: unknown;
}): Exit {
  const { exitCode: code = null, signal = null, cause } = result;
  const failed = code === null && signal === null;
  const error = failed ? (cause instanceof Error ? cause : new Error(String(cause))) : null;
  return { code, signal: signal as NodeJS.Signals | null, error };
}
