import { createHmac } from 'node:crypto';
import { ConfigError } from '@tidegauge/service';
import type { Notice } from './channel.ts';
import { deliver, withoutLogin } from './deliver.ts';
import { noticeDocument } from './document.ts';

const PREFIX = 'whsec_';

export interface WebhookOptions {
  readonly url: string;
  /** Signs the requests; null: they are not signed. */
  readonly secret: string | null;
}

/**
 * Sends messages about alerts to an HTTP server, as Standard Webhooks describes
 * (github.com/standard-webhooks/standard-webhooks, spec 1.0): the identifier stays the same in each attempt, and the
 * signature is HMAC-SHA256 of identifier, time and body.
 *
 * @throws {ConfigError} when the URL or the secret cannot be used
 */
export function webhook({
  url,
  secret,
}: WebhookOptions): (notice: Notice, signal: AbortSignal) => Promise<void> {
  const target = withoutLogin(url);
  const key = secret === null ? null : keyOf(secret);
  return async ({ event, alert }, signal) => {
    const body = JSON.stringify({
      type: `alert.${event}`,
      timestamp: new Date().toISOString(),
      data: noticeDocument({ alert, event }),
    });
    const id = `${alert.id}.${event}`;
    const seconds = String(Math.floor(Date.now() / 1000));
    const headers = {
      'Content-Type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': seconds,
      ...(key === null ? {} : { 'webhook-signature': signature(key, id, seconds, body) }),
      ...target.login,
    };
    await deliver('the webhook', { method: 'POST', url: target.url, headers, body }, signal);
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
    'the secret of the webhook has fewer than 16 bytes: make it long and random, for example with openssl rand -hex 32',
  ]);
}
