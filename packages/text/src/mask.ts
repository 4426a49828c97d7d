const MASK = '***';
const SCHEME = /^([^:]*:)(\/*)/;
/** Names of options with a secret value, also those in the URLs of drivers. */
const SECRET_NAME = /pass|pwd|secret|token|credential|api[-_]?key|mechanismproperties/i;
const OPTION = /[?&;#]([^=&;#?]*)=([^&]*)/g;
/** A URL within a text. It has no spaces, and extends after its last @ up to an enclosing character. */
const URL_IN_TEXT = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/(?:\S{0,4096}@)?[^\s"'<>`]*/gi;
/** Punctuation after a URL (`http://host:80: refused`) is not part of it. */
const PUNCTUATION = /[:.,;]+$/;
/** Shorter secrets would hide unrelated text: `a` is in every word. */
const MIN_REDACTED = 4;

/**
 * Replaces the password of a URL, and options with secret names, by `***`. It accepts any text, also an invalid URL,
 * and masks too much rather than too little: everything from the user's colon to the last @, and without an @
 * everything after a colon that is not followed by a port.
 *
 * @example
 * maskUrl('postgres://user:secret@host/db'); // 'postgres://user:***@host/db'
 */
export function maskUrl(text: string): string {
  const [start, slashes] = startOf(text);
  const hidden = secretOptions(text).map(({ from, to }): Range => [from, to]);
  const at = text.lastIndexOf('@');
  const colon = text.indexOf(':', start);
  if (at >= start) {
    if (colon !== -1 && colon < at) hidden.push([colon + 1, at]);
  } else if (slashes >= 2) {
    const odd = oddPort(text, start);
    if (odd !== -1) hidden.push([odd + 1, text.length]);
  }
  return hide(text, hidden);
}

/** Masks every URL in a text, such as a driver's error message. */
export function maskUrls(text: string): string {
  if (!text.includes('://')) return text;
  return text.replace(URL_IN_TEXT, (found) => {
    const url = found.replace(PUNCTUATION, '');
    return maskUrl(url) + found.slice(url.length);
  });
}

/** Finds the secrets in a URL, as written and decoded: its password, and options with secret names. */
export function secretsIn(url: string): string[] {
  const found = secretOptions(url).map(({ from, to }) => url.slice(from, to));
  const [start] = startOf(url);
  const at = url.lastIndexOf('@');
  const colon = url.indexOf(':', start);
  if (colon !== -1 && colon < at) found.push(url.slice(colon + 1, at));
  return [...new Set(found.flatMap((secret) => [secret, decoded(secret)]))];
}

/** Returns a function that replaces known secrets in a text, plain and percent-encoded, and masks URLs. */
export function redactor(secrets: Iterable<string>): (text: string) => string {
  const known = [...secrets].flatMap((secret) => [secret, encodeURIComponent(secret), encodeURI(secret)]);
  const sought = [...new Set(known)]
    .filter((secret) => secret.length >= MIN_REDACTED)
    .toSorted((a, b) => b.length - a.length);
  return (text) => maskUrls(sought.reduce((shown, secret) => shown.replaceAll(secret, MASK), text));
}

type Range = readonly [from: number, to: number];

/** The offset after scheme and slashes, and the number of slashes. */
function startOf(text: string): [start: number, slashes: number] {
  const [all = '', , slashes = ''] = SCHEME.exec(text) ?? [];
  return [all.length, slashes.length];
}

/** The ranges of the values of options with secret names. */
function secretOptions(text: string): { readonly from: number; readonly to: number }[] {
  return [...text.matchAll(OPTION)]
    .filter(([, name]) => SECRET_NAME.test(decoded(name!)))
    .map(({ 0: all, 1: name, index }) => ({ from: index + name!.length + 2, to: index + all.length }));
}

/** The first colon that is not followed by a port, or -1. A password whose host is missing can follow it. */
function oddPort(text: string, start: number): number {
  const hosts = text.slice(start).replace(/[/?#].*$/s, '');
  for (const { index } of hosts.matchAll(/:/g)) {
    const inBrackets = /\[[0-9a-f:.%]*$/i.test(hosts.slice(0, index));
    const isPort = /^:\d{1,5}(?:,|$)/.test(hosts.slice(index));
    if (!inBrackets && !isPort) return start + index;
  }
  return -1;
}

/** The text with each range replaced, and adjoining ranges replaced as one. */
function hide(text: string, ranges: readonly Range[]): string {
  let shown = '';
  let end = 0;
  let last = -1;
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (from > last) shown += `${text.slice(end, from)}${MASK}`;
    last = Math.max(last, to);
    end = last;
  }
  return shown + text.slice(end);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
