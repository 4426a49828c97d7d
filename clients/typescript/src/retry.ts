import { ProblemError } from './problem-error.ts';

/** How long requests are repeated. */
export interface RetryOptions {
  /** No try begins later than this after the first one, milliseconds. 0: one try. Default: 60 s. */
  readonly retryForMs?: number;
  /** Ends the request, and the waits between tries. */
  readonly signal?: AbortSignal | undefined;
}

/** Longest time of one try, milliseconds. */
const TRY_MS = 30_000;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;
/** The server or a proxy is overloaded, restarts, or did not answer in time. */
const TEMPORARY = new Set([408, 429, 502, 503, 504]);

/** Whether the same request can succeed later: the connection failed, the time was over, or the status is temporary. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof ProblemError) return TEMPORARY.has(error.status);
  // fetch reports a failed connection as a TypeError with a cause, and a time limit as a DOMException.
  if (error instanceof DOMException) return error.name === 'TimeoutError';
  return error instanceof TypeError && error.cause !== undefined;
}

/**
 * Runs a request until it succeeds. Waits between tries grow from 0.25 s to 10 s, and are at least as long as Retry-After.
 *
 * @param request gets a signal that ends its try after 30 s
 * @throws the error of the last try, or `signal.reason`
 */
export async function retry<T>(
  request: (signal: AbortSignal) => Promise<T>,
  { retryForMs = 60_000, signal }: RetryOptions,
): Promise<T> {
  const deadline = performance.now() + retryForMs;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    signal?.throwIfAborted();
    const limit = AbortSignal.timeout(TRY_MS);
    try {
      return await request(signal === undefined ? limit : AbortSignal.any([signal, limit]));
    } catch (error) {
      signal?.throwIfAborted();
      const waitMs = waitBefore(delayMs, error);
      if (!isTemporary(error) || performance.now() + waitMs > deadline) throw error;
      await pause(waitMs, signal);
    }
  }
}

/** The wait before the next try: half to all of `delayMs`, so that clients spread, and at least `Retry-After`. */
export function waitBefore(delayMs: number, error: unknown): number {
  const spread = delayMs * (0.5 + Math.random() / 2);
  return error instanceof ProblemError ? Math.max(spread, error.retryAfterMs ?? 0) : spread;
}

/** Waits. @throws `signal.reason` when the signal ends the wait */
export function pause(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
