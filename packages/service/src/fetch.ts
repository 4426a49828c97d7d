import { maskUrl } from '@tidegauge/text';

/** Descriptions of Node's error codes. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no program listens there',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'there is no host with this name',
  EAI_AGAIN: 'the name cannot be resolved now',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  UND_ERR_SOCKET: 'the connection was closed',
};

/**
 * `fetch` with errors that contain the purpose, the URL and the reason; the errors of `fetch` are only "fetch
 * failed".
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
  // When a name has several addresses, a list has the error of each.
  const { code, errors, message: reason } = (cause ?? {}) as NodeJS.ErrnoException & { errors?: Error[] };
  const words = code === undefined ? undefined : REASONS[code];
  return words === undefined ? reason || errors?.[0]?.message || message : `${words} (${code})`;
}
