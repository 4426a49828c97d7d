import { createHmac } from 'node:crypto';
import { boundedFetch, ConfigError } from '@tidegauge/service';
import { type Notice, NoticeRefused } from './channel.ts';
import { noticeDocument } from './document.ts';

/** Answers of servers that may accept the same request later: RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4. */
const PASSING = new Set([408, 425, 429]);
const PREFIX = 'whsec_';

export interface WebhookOptions {
  readonly url: string;
  /** Signs the requests; null: they are not signed. */
  readonly secret: string | null;
}

/**
 * Sends messages about alerts to an HTTP server, as Standard Webhooks describes
 * (github.com/standard-webhooks/standard-webhooks, spec 1.0): the identifier stays the same in each attempt, and the
 * signature is HMAC-SHA256 of identifier, time and body. The target is the operator's alone: nothing of an alert becomes
 * a part of it, and redirects are not followed. Takes at most five seconds.
 *
 * @throws {ConfigError} when the URL or the secret cannot be used
 */
export function webhook({
  url,
  secret,
}: WebhookOptions): (notice: Notice, signal: AbortSignal) => Promise<void> {
  const target = new URL(url);
  const login = loginOf(target);
  const key = secret === null ? null : keyOf(secret);
  return async ({ event, alert }, signal) => {
    const body = JSON.stringify({
      type: `alert.${event}`,
      timestamp: new Date().toISOString(),
      data: noticeDocument({ alert, event }),
    });
    const id = `${alert.id}.${event}`;
    const seconds = String(Math.floor(Date.now() / 1000));
    const response = await boundedFetch(target.href, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'tidegauge',
        'webhook-id': id,
        'webhook-timestamp': seconds,
        ...(key === null ? {} : { 'webhook-signature': signature(key, id, seconds, body) }),
        ...(login === null ? {} : { Authorization: login }),
      },
      body,
      signal,
    }).catch((error: Error) => {
      throw new Error(`the webhook did not answer: ${reasonOf(error, target)}`, { cause: error });
    });
    if (response.ok) return;
    const text = `the webhook answered ${response.status}`;
    const isPassing = response.status >= 500 || PASSING.has(response.status);
    throw isPassing ? new Error(text) : new NoticeRefused(text);
  };
}

/** `v1,` and the signature in base64. */
export function signature(key: Buffer, id: string, seconds: string, body: string): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
}

/** The key of a secret: base64 after `whsec_`, otherwise the bytes of the text. @throws {ConfigError} */
export function keyOf(secret: string): Buffer {
  const isCoded = secret.startsWith(PREFIX);
  const key = isCoded ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
  if (key.length >= 16) return key;
  throw new ConfigError([
    'ALERT_WEBHOOK_SECRET has fewer than 16 bytes: make it long and random, for example with openssl rand -hex 32',
  ]);
}

/** Moves user and password of a URL to a header, because fetch refuses them in a URL. */
function loginOf(target: URL): string | null {
  const { username, password } = target;
  if (username === '' && password === '') return null;
  target.username = '';
  target.password = '';
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

/** The errors of fetch are only "fetch failed". A URL can contain a key, so it is left out. */
function reasonOf({ name, message, cause }: Error, { href }: URL): string {
  if (name === 'TimeoutError') return 'it took too long';
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  return reason.replaceAll(href, 'its URL');
}
