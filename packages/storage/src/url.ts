import { maskUrl } from '@tidegauge/text';
import { StoreError } from './errors.ts';

export interface StoreHost {
  readonly host: string;
  /** Null for the default port of the engine. */
  readonly port: number | null;
}

/** The parts of a store URL. The backend decides which parts and options are valid. */
export interface StoreUrl {
  readonly scheme: string;
  /** Empty for embedded engines. */
  readonly hosts: readonly StoreHost[];
  readonly user: string | null;
  readonly password: string | null;
  /** File or directory of an embedded engine as written. For servers: the database, keyspace or namespace. */
  readonly path: string;
  readonly options: ReadonlyMap<string, string>;
  /** The URL without its password, for logs and messages. */
  readonly masked: string;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):/;
// A bracketed IPv6 address or a name without colons, then an optional port.
const HOST = /^(\[[0-9a-fA-F:.%]+\]|[^:[\]]+)(?::(\d{1,5}))?$/;

/**
 * Reads `scheme:path?options` (embedded) or `scheme://user:password@host1:port,host2/path?options`.
 * User, password, path and options are percent-decoded (so `%3F` is a question mark in a file name).
 * @throws {StoreError} MISCONFIGURED, with the password masked.
 */
export function parseUrl(text: string): StoreUrl {
  const masked = maskUrl(text);
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme === undefined) {
    throw mistake(masked, 'it has no scheme', 'write for example sqlite:./data/tidegauge.db');
  }
  const [location, query] = cut(text.slice(scheme.length + 1), '?');
  const parts = location.startsWith('//') ? splitAuthority(location.slice(2), masked) : { path: location };
  return Object.freeze({
    scheme,
    hosts: parseHosts(parts.hosts ?? '', masked),
    user: parts.user === undefined ? null : decode(parts.user, masked),
    password: parts.password === undefined ? null : decode(parts.password, masked),
    path: decode(parts.path, masked),
    options: parseQuery(query ?? '', masked),
    masked,
  });
}

interface Authority {
  readonly path: string;
  readonly hosts?: string;
  readonly user?: string;
  readonly password?: string;
}

function splitAuthority(text: string, masked: string): Authority {
  const slash = text.indexOf('/');
  const authority = slash === -1 ? text : text.slice(0, slash);
  const path = slash === -1 ? '' : text.slice(slash);
  // RFC 3986: an empty authority leaves an absolute path, as in file:///etc/hosts.
  if (authority === '') return { path };
  const at = authority.lastIndexOf('@');
  const hosts = authority.slice(at + 1);
  if (hosts === '') throw mistake(masked, 'it names no host', 'write a host behind the @');
  const database = path.slice(1);
  if (at === -1) return { hosts, path: database };
  const [user, password] = cut(authority.slice(0, at), ':');
  return { hosts, path: database, user, ...(password === undefined ? {} : { password }) };
}

function parseHosts(text: string, masked: string): StoreHost[] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const match = HOST.exec(part);
    const port = match?.[2] === undefined ? null : Number(match[2]);
    if (match?.[1] === undefined || (port !== null && (port < 1 || port > 65535))) {
      // The part is not shown: in a mistyped URL it can be the password.
      throw mistake(masked, 'one of its hosts cannot be read', 'write host, host:port or [ipv6]:port');
    }
    return { host: match[1].replace(/^\[|\]$/g, ''), port };
  });
}

function parseQuery(query: string, masked: string): ReadonlyMap<string, string> {
  const options = new Map<string, string>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const [name, value] = cut(pair, '=');
    if (options.has(name)) throw mistake(masked, `option ${name} is given twice`, 'keep one of them');
    options.set(decode(name, masked), decode(value ?? '', masked));
  }
  return options;
}

function cut(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

function decode(text: string, masked: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    const hint = 'write % as %25, and @ : / ? of a password as %40 %3A %2F %3F';
    throw mistake(masked, 'a percent sign is not followed by two hexadecimal digits', hint, cause);
  }
}

function mistake(masked: string, problem: string, hint: string, cause?: unknown): StoreError {
  return new StoreError('MISCONFIGURED', `store URL ${JSON.stringify(masked)}: ${problem}`, { hint, cause });
}
