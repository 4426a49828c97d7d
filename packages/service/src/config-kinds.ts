import { didYouMean, maskUrl } from '@tidegauge/text';

/** One kind of configuration value: how its text is read, and what to say when it cannot be. */
export interface Kind<T> {
  /** Completes "takes …" in an error message and stands in the help. */
  readonly takes: string;
  /** Throws with what was wrong when the text is not of this kind. */
  parse(text: string): T;
}

function fail(problem: string): never {
  throw new Error(problem);
}

export function text(takes = 'a text'): Kind<string> {
  return { takes, parse: (value) => (value === '' ? fail('it is empty') : value) };
}

export function oneOf<const T extends string>(values: readonly T[]): Kind<T> {
  const takes = values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;
  return { takes, parse: (value) => values.find((known) => known === value) ?? fail('it is none of them') };
}

export function boolean(): Kind<boolean> {
  return {
    takes: 'true or false',
    parse: (value) => (value === 'true' ? true : value === 'false' ? false : fail('it is neither')),
  };
}

export function integer(min: number, max: number): Kind<number> {
  return {
    takes: `a whole number from ${min} to ${max}`,
    parse(value) {
      const number = /^-?\d+$/.test(value) ? Number(value) : fail('it is not a whole number');
      return number >= min && number <= max ? number : fail('it is out of range');
    },
  };
}

export function port(): Kind<number> {
  return integer(0, 65535);
}

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 };

/** A duration such as `250ms`, `5s`, `7d`; the value is in seconds. */
export function duration(minSeconds: number, maxSeconds: number): Kind<number> {
  return {
    takes: `a duration such as 250ms, 5s, 10m, 2h or 7d, from ${minSeconds} s to ${maxSeconds} s`,
    parse(value) {
      const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? fail('it is not a number with a unit');
      const seconds = Number(match[1]) * SECONDS[match[2]!]!;
      return seconds >= minSeconds && seconds <= maxSeconds ? seconds : fail('it is out of range');
    },
  };
}

const BYTES: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A size such as `64MiB`; the value is in bytes. */
export function bytes(min: number, max: number): Kind<number> {
  return {
    takes: `a size in bytes, KiB, MiB or GiB, such as 64MiB, from ${min} to ${max} bytes`,
    parse(value) {
      const match = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)?$/.exec(value) ?? fail('it is not a number with a unit');
      const size = Math.floor(Number(match[1]) * BYTES[match[2] ?? '']!);
      return size >= min && size <= max ? size : fail('it is out of range');
    },
  };
}

/** Schemes of one host and port, which every part of Tidegauge reads as the URL standard does. */
const ONE_HOST = ['http', 'https', 'mqtt', 'mqtts', 'ws', 'wss'];

/** Why the hosts of a URL cannot be reached, or null. Several hosts have commas between them. */
function hostProblem(scheme: string, value: string): string | null {
  const authority = /^[^:]*:\/\/([^/?#]*)/.exec(value)?.[1];
  const hosts = authority?.slice(authority.lastIndexOf('@') + 1) ?? '';
  for (const host of hosts.split(',')) {
    const port = /:(\d+)$/.exec(host)?.[1];
    if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65535)) {
      // In a mistyped URL it can be the password: `mqtt://user:123456/x@host`.
      const shown = maskUrl(value).includes(`:${port}`) ? `port ${port}` : 'port';
      return `its ${shown} is not one from 1 to 65535`;
    }
  }
  if (!ONE_HOST.includes(scheme)) return null;
  if (hosts === '') return `it names no host: write ${scheme}://host:port`;
  return URL.canParse(value) ? null : `its host or port cannot be read: write ${scheme}://host:port`;
}

/** A URL with one of the given schemes, kept as text. What else stands in it is for its reader to check. */
export function url(...schemes: readonly string[]): Kind<string> {
  return {
    takes: `a URL that begins with ${schemes.map((scheme) => `${scheme}:`).join(' or ')}`,
    parse(value) {
      const scheme = /^([a-z][a-z0-9+.-]*):/.exec(value)?.[1] ?? fail('it has no scheme');
      if (!schemes.includes(scheme)) fail(`its scheme is ${scheme}${didYouMean(scheme, schemes)}`);
      const problem = hostProblem(scheme, value);
      return problem === null ? value : fail(problem);
    },
  };
}

/** Several values of one kind, separated by commas. */
export function list<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    takes: `a comma-separated list, each ${kind.takes}`,
    parse: (value) => value.split(',').map((part) => kind.parse(part.trim())),
  };
}
