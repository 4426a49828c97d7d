import { maskUrl } from '@tidegauge/text';

/** Node's codes in words. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name cannot be looked up now',
  EHOSTUNREACH: 'no way leads to that host',
  ENETUNREACH: 'no way leads to that network',
  UND_ERR_SOCKET: 'the connection was cut',
};

/**
 * `fetch` whose errors say what for, where and why; its own say "fetch failed".
 *
 * @param purpose completes "cannot …": `read the ledger of ingest`
 */
export async function fetchFor(
  purpose: string,
  url: string | URL,
  { timeoutMs, ...init }: RequestInit & { readonly timeoutMs: number },
): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    const where = maskUrl(String(url));
    throw new Error(`cannot ${purpose} at ${where}: ${whyFailed(error, timeoutMs)}`, { cause: error });
  }
}

function whyFailed(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  // Where a name has several addresses, the error of each is in a list.
  const { code, errors, message: reason } = (cause ?? {}) as NodeJS.ErrnoException & { errors?: Error[] };
  const words = code === undefined ? undefined : REASONS[code];
  return words === undefined ? reason || errors?.[0]?.message || message : `${words} (${code})`;
}
