import { boundedFetch } from '@tidegauge/service';
import { NoticeRefused } from './channel.ts';

/** Answers of servers that may accept the same request later: RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4. */
const PASSING = new Set([408, 425, 429]);

export interface Delivery {
  readonly method: 'POST' | 'PUT';
  /** Without user and password. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends a message to an HTTP server. The target is the operator's alone: nothing of an alert may select another server,
 * redirects are not followed, and the answer is not read. Takes at most five seconds.
 *
 * @param who names the server in errors
 * @throws {NoticeRefused} when the server would refuse it again
 */
export async function deliver(
  who: string,
  { method, url, headers, body }: Delivery,
  signal: AbortSignal,
): Promise<void> {
  const response = await boundedFetch(url, {
    method,
    headers: { 'User-Agent': 'tidegauge', ...headers },
    body,
    signal,
  }).catch((error: Error) => {
    throw new Error(`${who} did not answer: ${reasonOf(error, url)}`, { cause: error });
  });
  if (response.ok) return;
  const text = `${who} answered ${response.status}`;
  const isPassing = response.status >= 500 || PASSING.has(response.status);
  throw isPassing ? new Error(text) : new NoticeRefused(text);
}

/** Moves user and password of a URL to a header, because fetch refuses them in a URL. */
export function withoutLogin(url: string): {
  readonly url: string;
  readonly login: Readonly<Record<string, string>>;
} {
  const target = new URL(url);
  const { username, password } = target;
  if (username === '' && password === '') return { url: target.href, login: {} };
  target.username = '';
  target.password = '';
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const Authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  return { url: target.href, login: { Authorization } };
}

/** The errors of fetch are only "fetch failed". A URL can contain a key, so it is left out. */
function reasonOf({ name, message, cause }: Error, url: string): string {
  if (name === 'TimeoutError') return 'it took too long';
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  return reason.replaceAll(url, 'its URL');
}
