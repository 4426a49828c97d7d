import { readFileSync } from 'node:fs';
import { secretsIn } from '@tidegauge/text';
import { keepSecret } from '../secrets.ts';
import { type CommandLine, readCommandLine, type Source } from './command-line.ts';
import { ConfigError } from './config-error.ts';
import {
  argumentName,
  type Config,
  flagName,
  type Gone,
  goneProblem,
  type Schema,
  type Setting,
  variableName,
} from './settings.ts';
import { shown } from './shown.ts';
import { whyFailed } from './why-failed.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings in force. */
export interface Settings<S extends Schema> {
  readonly config: Config<S>;
  /** What each value was read from, by the key of the setting. Settings without a value are left out. */
  readonly sources: ReadonlyMap<string, Source>;
}

/**
 * Reads settings. Precedence, from low to high: default, file (`…_FILE`), environment, option.
 *
 * @throws {ConfigError} with one line for each mistake, unknown options included
 */
export function loadConfig<S extends Schema>(
  schema: S,
  argv: readonly string[],
  env: Environment,
  gone: Gone = {},
): Config<S> {
  return readSettings(schema, argv, env, gone).config;
}

/**
 * As `loadConfig`, with what each value was read from.
 *
 * @throws {ConfigError}
 */
export function readSettings<S extends Schema>(
  schema: S,
  argv: readonly string[],
  env: Environment,
  gone: Gone = {},
): Settings<S> {
  return settingsOf(schema, readCommandLine(schema, argv, gone), env);
}

/**
 * The settings of a command line that has been read.
 *
 * @throws {ConfigError}
 */
export function settingsOf<S extends Schema>(
  schema: S,
  commandLine: CommandLine,
  env: Environment,
): Settings<S> {
  const problems = [...commandLine.problems];
  const config: Record<string, unknown> = {};
  const sources = new Map<string, Source>();
  for (const [key, setting] of Object.entries(schema)) {
    const given = commandLine.given.get(key) ?? fromEnvironment(key, setting, env, problems);
    const source = given ?? defaultOf(key, setting, problems);
    if (source !== null) sources.set(key, source);
    config[key] = source === null ? null : parse(source, setting, problems);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: Object.freeze(config) as Config<S>, sources };
}

/**
 * The variables that a program reads that is configured by options only: those of its secrets, and of URLs that
 * can have a password. A variable that is meant for a service must not change a benchmark.
 */
export function secretsOf(schema: Schema, env: Environment): Environment {
  const names = Object.entries(schema)
    .filter(([, { secret }]) => secret !== undefined)
    .flatMap(([key]) => [variableName(key), `${variableName(key)}_FILE`]);
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

/**
 * One line for each variable of a setting that is gone. Such a variable ends no start: after an upgrade, a board must take
 * readings before somebody reads what changed.
 */
export function goneVariables(gone: Gone, env: Environment): readonly string[] {
  return Object.entries(gone).flatMap(([key, now]) => {
    const variable = variableName(key);
    return (env[variable] ?? '') === '' ? [] : [goneProblem(variable, now)];
  });
}

function fromEnvironment(
  key: string,
  setting: Setting<unknown>,
  env: Environment,
  problems: string[],
): Source | null {
  if (setting.positional) return null;
  const variable = variableName(key);
  const text = env[variable];
  if (text !== undefined && text !== '') return { label: variable, texts: [text] };
  const file = setting.secret === undefined ? undefined : env[`${variable}_FILE`];
  if (file === undefined || file === '') return null;
  try {
    return { label: `${variable}_FILE`, texts: [readFileSync(file, 'utf8').trim()] };
  } catch (error) {
    problems.push(`${variable}_FILE names ${file}, which cannot be read: ${whyFailed(error)}`);
    return null;
  }
}

function defaultOf(key: string, setting: Setting<unknown>, problems: string[]): Source | null {
  if (setting.default !== undefined) return { label: variableName(key), texts: [setting.default] };
  if (setting.required) {
    const name = setting.positional ? argumentName(key) : `${variableName(key)} (${flagName(key)})`;
    problems.push(`${name} is missing: ${setting.kind.takes}`);
  }
  return null;
}

function parse({ label, texts }: Source, { kind, secret }: Setting<unknown>, problems: string[]): unknown {
  for (const text of texts) {
    if (secret === true) keepSecret(text);
    for (const inside of secretsIn(text)) keepSecret(inside);
  }
  try {
    return kind.parseAll === undefined ? kind.parse(texts[0]!) : kind.parseAll(texts);
  } catch (error) {
    const got =
      secret === undefined ? texts.map((text) => JSON.stringify(shown(text))).join(', ') : 'a secret value';
    problems.push(`${label} must be ${kind.takes}; got ${got}: ${(error as Error).message}`);
    return null;
  }
}
