import { redactor } from '@tidegauge/text';

const known = new Set<string>();
let current = redactor(known);

/** Registers a secret, which logs of this process do not show from now on. */
export function keepSecret(secret: string): void {
  if (known.has(secret)) return;
  known.add(secret);
  current = redactor(known);
}

/**
 * Masks a text for a log: secrets of the configuration and passwords in URLs. Do not use it for answers to clients: a
 * client could discover a secret by testing which words are masked.
 */
export function redact(text: string): string {
  return current(text);
}
