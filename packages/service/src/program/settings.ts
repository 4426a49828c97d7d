import type { Kind } from './kinds.ts';

/** One setting. Its camelCase key gives the option (`--http-port`) and the environment variable (`HTTP_PORT`). */
export interface Setting<T> {
  readonly kind: Kind<T>;
  /** One line for the help and for the generated documentation. */
  readonly help: string;
  /** The default as text, in the format of an environment variable. Without it, the value may be absent (`null`). */
  readonly default?: string;
  readonly required?: true;
  /**
   * `true`: the value is never printed, and the file that `<VARIABLE>_FILE` names may hold it (Docker secrets).
   * `'url'`: a URL that may have a password. A file may hold it too, and it is printed without the password.
   */
  readonly secret?: true | 'url';
  /** An argument without an option. Arguments are read in the order of the schema; a list must be the last. */
  readonly positional?: true;
  /** A second name of the option, after one dash: `p` for `-p VALUE` and `-pVALUE`, `threads` for `-threads VALUE`. */
  readonly alias?: string;
  /** The heading under which the help lists the option. Default: "Options". */
  readonly group?: string;
}

export type Schema = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<S> = S extends { readonly kind: Kind<infer T> }
  ? S extends { readonly default: string } | { readonly required: true }
    ? T
    : T | null
  : never;

/** The values of a schema: every key, parsed. */
export type Config<S extends Schema> = { readonly [K in keyof S]: ValueOf<S[K]> };

/**
 * Settings of earlier versions by key, with what holds in their place. A program refuses the option and warns of the
 * variable, with this text.
 */
export type Gone = Readonly<Record<string, string>>;

/** `name`: the option or the variable. */
export function goneProblem(name: string, now: string): string {
  return `${name} is no longer a setting: ${now}`;
}

/** Keeps the literal types of a schema, from which `Config` derives which values may be null. */
export function defineConfig<const S extends Schema>(schema: S): S {
  return schema;
}

/** The same settings under one heading of the help. */
export function inGroup<const S extends Schema>(group: string, schema: S): S {
  const entries = Object.entries(schema).map(([key, setting]) => [key, { ...setting, group }]);
  return Object.fromEntries(entries) as S;
}

/** `httpPort` -> `HTTP_PORT` */
export function variableName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** `httpPort` -> `--http-port` */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `SERVER` for an argument with the key `server`. */
export function argumentName(key: string): string {
  return variableName(key).replaceAll('_', '-');
}
