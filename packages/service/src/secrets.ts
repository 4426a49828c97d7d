import { redactor } from '@tidegauge/text';

const known = new Set<string>();
let current = redactor(known);

/** From now on the logs of this process do not show this text, whatever message it is in. */
export function keepSecret(secret: string): void {
  if (known.has(secret)) return;
  known.add(secret);
  current = redactor(known);
}

/**
 * A text as it may be logged: without the secrets of this process's configuration, and URLs without passwords. Not for
 * answers to clients: a client could find out a secret by asking which words are hidden.
 */
export function redact(text: string): string {
  return current(text);
}
