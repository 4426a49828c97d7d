const MASK = '***';
const SCHEME = /^([^:]*:)(\/*)/;
/** Names of options whose value is a secret, also where a driver's URL has them. */
const SECRET_NAME = /pass|pwd|secret|token|credential|api[-_]?key|mechanismproperties/i;
const OPTION = /[?&;#]([^=&;#?]*)=([^&]*)/g;
/** A URL in the midst of a text. It has no spaces, and it goes on up to what encloses it, behind the last @. */
const URL_IN_TEXT = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/(?:\S{0,4096}@)?[^\s"'<>`]*/gi;
/** What ends a clause behind a URL (`http://host:80: refused`) is no part of it. */
const PUNCTUATION = /[:.,;]+$/;
/** Shorter secrets would hide unrelated text: `a` is in every word. */
const MIN_REDACTED = 4;

/**
 * The URL with its password, and options that look like secrets, replaced by `***`. Takes any text, also a URL that
 * is wrong, and hides too much rather than too little: everything from the user's colon to the last @; and where
 * there is no @, everything behind a colon that no port follows.
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

/** Every URL in a text, such as a driver's error message, masked. */
export function maskUrls(text: string): string {
  if (!text.includes('://')) return text;
  return text.replace(URL_IN_TEXT, (found) => {
    const url = found.replace(PUNCTUATION, '');
    return maskUrl(url) + found.slice(url.length);
  });
}

/** The secrets in a URL, as they are written and decoded: its password, and options that look like secrets. */
export function secretsIn(url: string): string[] {
  const found = secretOptions(url).map(({ from, to }) => url.slice(from, to));
  const [start] = startOf(url);
  const at = url.lastIndexOf('@');
  const colon = url.indexOf(':', start);
  if (colon !== -1 && colon < at) found.push(url.slice(colon + 1, at));
  return [...new Set(found.flatMap((secret) => [secret, decoded(secret)]))];
}

/** Replaces known secrets wherever they are in a text, as they are and percent-encoded; URLs are masked too. */
export function redactor(secrets: Iterable<string>): (text: string) => string {
  const known = [...secrets].flatMap((secret) => [secret, encodeURIComponent(secret), encodeURI(secret)]);
  const sought = [...new Set(known)]
    .filter((secret) => secret.length >= MIN_REDACTED)
    .toSorted((a, b) => b.length - a.length);
  return (text) => maskUrls(sought.reduce((shown, secret) => shown.replaceAll(secret, MASK), text));
}

type Range = readonly [from: number, to: number];

/** Where the part behind scheme and slashes begins, and how many slashes there are. */
function startOf(text: string): [start: number, slashes: number] {
  const [all = '', , slashes = ''] = SCHEME.exec(text) ?? [];
  return [all.length, slashes.length];
}

/** Where the values of options are that name a secret. */
function secretOptions(text: string): { readonly from: number; readonly to: number }[] {
  return [...text.matchAll(OPTION)]
    .filter(([, name]) => SECRET_NAME.test(decoded(name!)))
    .map(({ 0: all, 1: name, index }) => ({ from: index + name!.length + 2, to: index + all.length }));
}

/** The first colon that no port follows, or -1: behind it can be a password whose host is missing. */
function oddPort(text: string, start: number): number {
  const hosts = text.slice(start).replace(/[/?#].*$/s, '');
  for (const { index } of hosts.matchAll(/:/g)) {
    const inBrackets = /\[[0-9a-f:.%]*$/i.test(hosts.slice(0, index));
    const isPort = /^:\d{1,5}(?:,|$)/.test(hosts.slice(index));
    if (!inBrackets && !isPort) return start + index;
  }
  return -1;
}

/** The text with each range, and ranges that touch as one, replaced. */
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
