import { maskUrl } from '@tidegauge/text';
import { whyFailed } from './program/why-failed.ts';

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
    const { name, cause = error } = error as Error;
    const why = name === 'TimeoutError' ? `no answer within ${timeoutMs} ms` : whyFailed(cause);
    throw new Error(`cannot ${purpose} at ${maskUrl(String(url))}: ${why}`, { cause: error });
  }
}
