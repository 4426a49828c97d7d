import { didYouMean } from '@tidegauge/text';
import { StoreError } from './errors.ts';
import type { StoreUrl } from './url.ts';

/** One option of a backend's URL, for the code that reads it and for the documentation. */
export interface Option<T> {
  readonly default: T;
  readonly description: string;
  /** The allowed values, for messages: `full or normal`. */
  readonly takes: string;
  /** Returns undefined if the text is not an allowed value. */
  readonly parse: (text: string) => T | undefined;
}

export type OptionSchema = Readonly<Record<string, Option<unknown>>>;

export type OptionValues<S extends OptionSchema> = {
  readonly [K in keyof S]: S[K] extends Option<infer T> ? T : never;
};

/** An option that is one of a few words. */
export function choice<const T extends string>(
  words: readonly T[],
  fallback: NoInfer<T>,
  description: string,
): Option<T> {
  return {
    default: fallback,
    description,
    takes: words.join(' or '),
    parse: (text) => words.find((word) => word === text),
  };
}

/** Any text except an empty one. The default is null. `takes` describes the value. */
export function word(takes: string, description: string): Option<string | null> {
  return { default: null, description, takes, parse: (text) => (text === '' ? undefined : text) };
}

/** A whole number from `min` to `max`. `unit` is for messages and documentation. */
export function integer(
  min: number,
  max: number,
  unit: string,
  fallback: number,
  description: string,
): Option<number> {
  return {
    default: fallback,
    description,
    takes: `${min} to ${max} ${unit}`,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : undefined;
    },
  };
}

/** The option `connect`. */
export const CONNECT = integer(
  100,
  120_000,
  'ms',
  5000,
  'Longest time to connect. Then the call fails with UNAVAILABLE.',
);

/**
 * Reads the URL's options by the schema of the backend. Missing options get their defaults.
 * @throws {StoreError} MISCONFIGURED for an unknown option or a wrong value.
 */
export function readOptions<const S extends OptionSchema>(url: StoreUrl, schema: S): OptionValues<S> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(schema)) values[name] = option.default;
  for (const [name, text] of url.options) {
    const option = Object.hasOwn(schema, name) ? schema[name] : undefined;
    if (option === undefined) {
      throw new StoreError(
        'MISCONFIGURED',
        `${url.scheme} has no option ${JSON.stringify(name)}${didYouMean(name, Object.keys(schema))}`,
        {
          hint: `its options are ${Object.keys(schema).join(', ')}`,
        },
      );
    }
    const value = option.parse(text);
    if (value === undefined) {
      throw new StoreError(
        'MISCONFIGURED',
        `${url.scheme} option ${name} cannot be ${JSON.stringify(text)}`,
        {
          hint: `${name} takes ${option.takes}`,
        },
      );
    }
    values[name] = value;
  }
  return Object.freeze(values) as OptionValues<S>;
}

/**
 * The path of an embedded engine's URL.
 * @throws {StoreError} MISCONFIGURED when it is missing or the URL names a host.
 */
export function embeddedPath(url: StoreUrl, example: string): string {
  if (url.hosts.length > 0 || url.user !== null) {
    throw new StoreError('MISCONFIGURED', `${url.scheme} runs in this process and takes no host`, {
      hint: `write ${example}, or three slashes before an absolute path`,
    });
  }
  if (url.path === '') {
    throw new StoreError('MISCONFIGURED', `${url.masked} names no path`, { hint: `write ${example}` });
  }
  return url.path;
}
