import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { didYouMean, maskUrl, maskUrls, secretsIn } from '@tidegauge/text';
import type { Kind } from './config-kinds.ts';
import { keepSecret } from './secrets.ts';

/** One setting. Its camelCase key gives the variable (`HTTP_PORT`) and the flag (`--http-port`). */
export interface Setting<T> {
  readonly kind: Kind<T>;
  /** One line for the help and the generated table. */
  readonly help: string;
  /** As text, like the environment would give it; without one the setting may be absent (`null`). */
  readonly default?: string;
  readonly required?: true;
  /**
   * `true`: never printed, and readable from the file that `<VARIABLE>_FILE` names (Docker secrets).
   * `'url'`: a URL that may have a password, likewise readable from a file; printed without the password.
   */
  readonly secret?: true | 'url';
}

export type Schema = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<S> = S extends { readonly kind: Kind<infer T> }
  ? S extends { readonly default: string } | { readonly required: true }
    ? T
    : T | null
  : never;

/** The frozen result: every key of the schema, parsed. */
export type Config<S extends Schema> = { readonly [K in keyof S]: ValueOf<S[K]> };

/** Keeps the literal types of a schema, so that `Config` knows what may be null. */
export function defineConfig<const S extends Schema>(schema: S): S {
  return schema;
}

/** Everything wrong with a configuration at once, a line per mistake: which, what it got, what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export function variableName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

interface Source {
  readonly label: string;
  readonly text: string;
}

/**
 * Reads settings with the precedence default < file (`…_FILE`) < environment < flag.
 *
 * @throws {ConfigError} with one line per mistake; unknown flags are mistakes.
 */
export function loadConfig<S extends Schema>(
  schema: S,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Config<S> {
  const problems: string[] = [];
  const flags = readFlags(schema, argv, problems);
  const config: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(schema)) {
    const source = flags.get(key) ?? fromEnvironment(key, setting, env, problems);
    config[key] = source === null ? absent(key, setting, problems) : parse(source, setting, problems);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config) as Config<S>;
}

function readFlags(schema: Schema, argv: readonly string[], problems: string[]): Map<string, Source> {
  const keys = new Map(Object.keys(schema).map((key) => [flagName(key).slice(2), key]));
  const found = new Map<string, Source>();
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      [...keys].map(([name, key]) => [
        name,
        { type: isSwitch(schema[key]!) ? 'boolean' : 'string' } as const,
      ]),
    ),
    strict: false,
    allowPositionals: true,
    allowNegative: true,
    tokens: true,
  });
  // What follows an unknown flag was meant as its value.
  let valueOfUnknown = -1;
  for (const token of tokens) {
    if (token.kind === 'positional' && token.index !== valueOfUnknown)
      problems.push(`${JSON.stringify(token.value)} is not understood: flags begin with --`);
    if (token.kind !== 'option') continue;
    const negated = token.rawName.startsWith('--no-') && !keys.has(token.rawName.slice(2));
    const name = negated ? token.rawName.slice(5) : token.name;
    const key = keys.get(name);
    if (key === undefined || (negated && !isSwitch(schema[key]!))) {
      const flags = [...keys].flatMap(([flag, of]) =>
        isSwitch(schema[of]!) ? [flag, `no-${flag}`] : [flag],
      );
      const known = [...flags, 'help', 'print-config'].map((flag) => `--${flag}`);
      problems.push(`${token.rawName} is not a flag of this program${didYouMean(token.rawName, known)}`);
      if (token.value === undefined) valueOfUnknown = token.index + 1;
    } else if (isSwitch(schema[key]!)) {
      found.set(key, { label: token.rawName, text: token.value ?? String(!negated) });
    } else if (token.value === undefined) {
      problems.push(`${token.rawName} has no value: it takes ${schema[key]!.kind.takes}`);
    } else {
      found.set(key, { label: token.rawName, text: token.value });
    }
  }
  return found;
}

function isSwitch(setting: Setting<unknown>): boolean {
  return setting.kind.takes === 'true or false';
}

function fromEnvironment(
  key: string,
  setting: Setting<unknown>,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): Source | null {
  const variable = variableName(key);
  const text = env[variable];
  if (text !== undefined && text !== '') return { label: variable, text };
  const file = setting.secret === undefined ? undefined : env[`${variable}_FILE`];
  if (file === undefined || file === '') return null;
  try {
    return { label: `${variable}_FILE`, text: readFileSync(file, 'utf8').trim() };
  } catch (error) {
    problems.push(`${variable}_FILE names ${file}, which cannot be read: ${(error as Error).message}`);
    return null;
  }
}

function absent(key: string, setting: Setting<unknown>, problems: string[]): unknown {
  if (setting.default !== undefined) return setting.kind.parse(setting.default);
  if (setting.required) {
    problems.push(`${variableName(key)} (${flagName(key)}) is missing: it takes ${setting.kind.takes}`);
  }
  return null;
}

function parse(source: Source, setting: Setting<unknown>, problems: string[]): unknown {
  if (setting.secret === true) keepSecret(source.text);
  for (const secret of secretsIn(source.text)) keepSecret(secret);
  try {
    return setting.kind.parse(source.text);
  } catch (error) {
    const got = setting.secret === undefined ? JSON.stringify(shown(source.text)) : 'a value (secret)';
    problems.push(`${source.label} got ${got}, but takes ${setting.kind.takes}: ${(error as Error).message}`);
    return null;
  }
}

/** The effective configuration, a `VARIABLE=value` line each, secrets masked. */
export function printConfig<S extends Schema>(schema: S, config: Config<S>): string {
  return Object.entries(schema)
    .map(([key, setting]) => {
      const value = config[key];
      if (value === null) return `# ${variableName(key)} is not set`;
      return `${variableName(key)}=${setting.secret === true ? '***' : shown(value)}`;
    })
    .join('\n');
}

/** A value as it may be printed: whatever setting it is of, a URL has no password. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(',');
  const text = String(value);
  return /^[a-z][a-z0-9+.-]*:/i.test(text) ? maskUrl(text) : maskUrls(text);
}

/** The help page of a program. */
export function printHelp(usage: string, schema: Schema): string {
  const blocks = Object.entries(schema).map(([key, setting]) => {
    const file = setting.secret === undefined ? '' : `, ${variableName(key)}_FILE`;
    const preset =
      setting.default === undefined
        ? setting.required
          ? 'required'
          : 'not set'
        : `default ${setting.default}`;
    return `  ${flagName(key)}, ${variableName(key)}${file}\n      ${setting.help}\n      Takes ${setting.kind.takes}; ${preset}.`;
  });
  return `${usage}\n\nEvery setting is a flag or an environment variable; the flag wins.\n\n${blocks.join('\n')}\n
  --print-config\n      Print the effective configuration, secrets masked, and end.\n  --help\n      Print this and end.\n`;
}

/** The settings as a Markdown table, for the documentation (a test keeps it equal). */
export function configTable(schema: Schema): string {
  const rows = Object.entries(schema).map(([key, setting]) => {
    const name = `\`${variableName(key)}\`${setting.secret === undefined ? '' : ' (or `_FILE`)'}`;
    const preset =
      setting.default === undefined ? (setting.required ? '*required*' : '') : `\`${setting.default}\``;
    return `| ${name} | ${preset} | ${setting.help} Takes ${setting.kind.takes}. |`;
  });
  return ['| variable | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}
