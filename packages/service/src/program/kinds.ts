import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { didYouMean, maskUrl } from '@tidegauge/text';
import { whyFailed } from './why-failed.ts';

/** One kind of value: how its text is read, and what the help and an error message print about it. */
export interface Kind<T> {
  /** What a value must be, such as "a whole number from 1 to 10": completes "must be …". */
  readonly takes: string;
  /** The value's name in the help, such as `N` in `--rounds N`. Default: `VALUE`. */
  readonly placeholder?: string;
  /** What the help adds to the placeholder, such as "1 to 10". */
  readonly limits?: string;
  /** The option has no value: `--name` is true and `--no-name` is false. */
  readonly isSwitch?: true;
  /** Throws an error with the reason when the text is not of this kind. */
  parse(text: string): T;
  /** For a kind that is a list: joins the values of an option that is given several times. */
  readonly parseAll?: (texts: readonly string[]) => T;
  /** For a kind that is a list in one text: what is between its values. */
  readonly separator?: string;
}

function fail(problem: string): never {
  throw new Error(problem);
}

/**
 * Any text that is not empty.
 *
 * @param placeholder default: the first noun of `takes`, such as FILE for "a file name"
 */
export function text(takes = 'a text', placeholder?: string): Kind<string> {
  const noun = /^an? ([a-z]+)\b/.exec(takes)?.[1] ?? 'value';
  return {
    takes,
    placeholder: placeholder ?? (noun === 'directory' ? 'DIR' : noun.toUpperCase()),
    parse: (value) => (value === '' ? fail('it is empty') : value),
  };
}

/** A text with a rule. @param problemOf why a text cannot be used, or null */
export function checkedText(
  takes: string,
  placeholder: string,
  problemOf: (value: string) => string | null,
): Kind<string> {
  return {
    takes,
    placeholder,
    parse(value) {
      const problem = problemOf(value);
      return problem === null ? value : fail(problem);
    },
  };
}

/** The longest list of choices that the help prints in place of a placeholder. */
const INLINE_CHOICES = 24;

export function oneOf<const T extends string>(values: readonly T[]): Kind<T> {
  const inline = values.join('|');
  return {
    takes: values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`,
    ...(inline.length <= INLINE_CHOICES
      ? { placeholder: inline }
      : { placeholder: 'NAME', limits: values.join(', ') }),
    parse: (value) =>
      values.find((known) => known === value) ?? fail(`there is no ${value}${didYouMean(value, values)}`),
  };
}

export function boolean(): Kind<boolean> {
  return {
    takes: 'true or false',
    isSwitch: true,
    parse: (value) => (value === 'true' ? true : value === 'false' ? false : fail('it is neither')),
  };
}

export function integer(min: number, max: number): Kind<number> {
  return {
    takes: `a whole number from ${min} to ${max}`,
    placeholder: 'N',
    limits: max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`,
    parse(value) {
      const number = /^-?\d+$/.test(value) ? Number(value) : fail('it is not a whole number');
      return number >= min && number <= max ? number : fail('it is out of range');
    },
  };
}

/** A TCP port; 0 lets the system choose a free one. */
export function port(): Kind<number> {
  const { limits: _, ...kind } = integer(0, 65535);
  return { ...kind, placeholder: 'PORT' };
}

/** A file that the program will read. It must exist, so that a mistake is found before long work. */
export function inputFile(): Kind<string> {
  return existing('a file', constants.R_OK);
}

/** A program that will be started. */
export function executable(): Kind<string> {
  return existing('the path of a program', constants.X_OK);
}

function existing(takes: string, mode: number): Kind<string> {
  return {
    takes,
    placeholder: 'FILE',
    parse(value) {
      try {
        accessSync(value, mode);
      } catch (error) {
        fail(whyFailed(error));
      }
      return statSync(value).isDirectory() ? fail('it is a directory') : value;
    },
  };
}

/** A file that the program will write. Its directory must exist, so that the result of long work is not lost. */
export function outputFile(): Kind<string> {
  return {
    takes: 'a file in a directory that exists and is writable',
    placeholder: 'FILE',
    parse(value) {
      if (value === '') fail('it is empty');
      const directory = dirname(value);
      try {
        accessSync(directory, constants.W_OK);
      } catch {
        fail(`${directory} is not a directory that this user can write to`);
      }
      if (statSync(value, { throwIfNoEntry: false })?.isDirectory()) fail('it is a directory');
      return value;
    },
  };
}

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 };

/** A duration such as `250ms`, `5s`, `7d`; the value is in seconds. */
export function duration(minSeconds: number, maxSeconds: number): Kind<number> {
  return {
    takes: `a duration such as 250ms, 5s, 10m, 2h or 7d, from ${minSeconds} s to ${maxSeconds} s`,
    placeholder: 'DURATION',
    limits: `${shortDuration(minSeconds)} to ${shortDuration(maxSeconds)}`,
    parse(value) {
      const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? fail('it is not a number with a unit');
      const seconds = Number(match[1]) * SECONDS[match[2]!]!;
      return seconds >= minSeconds && seconds <= maxSeconds ? seconds : fail('it is out of range');
    },
  };
}

/** Seconds in the largest unit that keeps them whole: `5m`, `250ms`. */
function shortDuration(seconds: number): string {
  if (seconds === 0) return '0s';
  const units = Object.entries(SECONDS).toReversed();
  const [unit, size] = units.find(([, each]) => Number.isInteger(seconds / each)) ?? ['ms', SECONDS.ms!];
  return `${Math.round(seconds / size)}${unit}`;
}

const BYTES: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A size such as `64MiB`; the value is in bytes. */
export function bytes(min: number, max: number): Kind<number> {
  return {
    takes: `a size in bytes, KiB, MiB or GiB, such as 64MiB, from ${min} to ${max} bytes`,
    placeholder: 'SIZE',
    limits: `${shortBytes(min)} to ${shortBytes(max)}`,
    parse(value) {
      const match = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)?$/.exec(value) ?? fail('it is not a number with a unit');
      const size = Math.floor(Number(match[1]) * BYTES[match[2] ?? '']!);
      return size >= min && size <= max ? size : fail('it is out of range');
    },
  };
}

function shortBytes(size: number): string {
  const units = Object.entries(BYTES).toReversed();
  const [unit, each] = units.find(([, bytes]) => size >= bytes && Number.isInteger(size / bytes)) ?? ['', 1];
  return `${size / each}${unit}`;
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

/** A URL with one of the given schemes, kept as text. Its reader checks the rest of it. */
export function url(...schemes: readonly string[]): Kind<string> {
  const begins = schemes.map((scheme) => `${scheme}:`);
  return {
    takes: `a URL that begins with ${begins.join(' or ')}`,
    placeholder: 'URL',
    limits: begins.join(', '),
    parse(value) {
      const scheme =
        /^([a-z][a-z0-9+.-]*):/.exec(value)?.[1] ?? fail(`it has no scheme${didYouMean(value, begins)}`);
      if (!schemes.includes(scheme)) fail(`its scheme is ${scheme}${didYouMean(scheme, schemes)}`);
      const problem = hostProblem(scheme, value);
      return problem === null ? value : fail(problem);
    },
  };
}

/** Several values of one kind, separated by commas. The option may also be given several times. */
export function list<T>(kind: Kind<T>): Kind<readonly T[]> {
  const separator = ',';
  const split = (value: string) => value.split(separator).map((part) => kind.parse(part.trim()));
  return {
    ...listOf(kind),
    takes: `a comma-separated list, each ${kind.takes}`,
    placeholder: `${placeholderOf(kind)},…`,
    parse: split,
    parseAll: (texts) => texts.flatMap(split),
    separator,
  };
}

/** Several values of one kind, one each time that the option is given, or several arguments. They may have commas. */
export function repeated<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    ...listOf(kind),
    takes: kind.takes,
    placeholder: placeholderOf(kind),
    parse: (value) => [kind.parse(value)],
    parseAll: (texts) => texts.map((value) => kind.parse(value)),
  };
}

/** `NAME=VALUE`, as an entry. */
export function assignment(takes: string): Kind<readonly [name: string, value: string]> {
  return {
    takes,
    placeholder: 'NAME=VALUE',
    parse(value) {
      const [, name, assigned] = /^([^=]+)=(.*)$/s.exec(value) ?? fail('it is not NAME=VALUE');
      return [name!, assigned!];
    },
  };
}

export function placeholderOf({ placeholder = 'VALUE' }: Kind<unknown>): string {
  return placeholder;
}

function listOf({ limits }: Kind<unknown>): { readonly limits?: string } {
  return limits === undefined ? {} : { limits };
}
