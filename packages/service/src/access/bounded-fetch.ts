/** Default of the time for a request and its answer, milliseconds. */
const TIMEOUT_MS = 5000;
/** Largest answer that is read, bytes. Documents of providers have a few thousand. */
const MAX_BYTES = 256 * 1024;

/**
 * `fetch` for servers that an operator names, such as an identity provider or a webhook: bounded in time and bytes, and
 * without redirects, which could lead to a server of this network.
 */
export async function boundedFetch(
  url: string,
  { timeoutMs = TIMEOUT_MS, ...init }: RequestInit & { readonly timeoutMs?: number } = {},
): Promise<Response> {
  const signal = AbortSignal.any([
    AbortSignal.timeout(timeoutMs),
    ...(init.signal instanceof AbortSignal ? [init.signal] : []),
  ]);
  const response = await fetch(url, { ...init, redirect: 'error', signal });
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`the answer of ${url} is longer than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  const { status, headers } = response;
  return new Response(status === 204 || status === 304 ? null : Buffer.concat(parts), { status, headers });
}
