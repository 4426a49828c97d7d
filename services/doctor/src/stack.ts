import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { dockerSize } from './units.ts';

type Json = null | string | number | boolean | readonly Json[] | { readonly [key: string]: Json };
type Variables = Readonly<Record<string, string | undefined>>;

/** The properties of a service that the doctor checks. */
export interface StackService {
  readonly name: string;
  readonly image: string | null;
  /** The number of tasks; null for one on every board that its constraints allow. */
  readonly replicas: number | null;
  /** Labels that a board needs for it: `tidegauge.postgres` → `true`. */
  readonly labels: ReadonlyMap<string, string>;
  /** Whether boards with its labels may be missing: a second member, a further node. */
  readonly optional: boolean;
  readonly ports: readonly number[];
  /** Memory limit, bytes; null without one. */
  readonly limit: number | null;
  readonly reserved: number | null;
  readonly environment: Readonly<Record<string, string>>;
  /** Directories of the board for its data; a task does not start without them. */
  readonly directories: readonly string[];
}

/** The requirements of a deployment, read from the files that will be deployed. */
export interface Stack {
  readonly files: readonly string[];
  readonly services: readonly StackService[];
  /** Secrets that must exist before the deployment. */
  readonly secrets: readonly string[];
  readonly networks: readonly { readonly name: string; readonly mtu: number | null }[];
  readonly variables: Variables;
}

/** A stack file is missing or invalid. The message is for people. */
export class StackError extends Error {
  override readonly name = 'StackError';
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}

/** Written by stacks/bin/digests; it selects images by digest. */
const DIGESTS = 'stacks/digests.env';

/**
 * Reads stack files with the variables of stacks/versions.env and the profile, as stacks/bin/deploy does. The
 * environment has precedence.
 *
 * @throws {StackError} when a file is missing, is not YAML, or needs a variable that is not set
 */
export function readStack(
  directory: string,
  files: readonly string[],
  profile: string | null,
  environment: Variables,
): Stack {
  let variables: Variables = {};
  for (const file of [
    'stacks/versions.env',
    ...(existsSync(join(directory, DIGESTS)) ? [DIGESTS] : []),
    ...(profile === null ? [] : [`stacks/profiles/${profile}.env`]),
  ]) {
    variables = { ...variables, ...parseEnv(readText(directory, file), { ...variables, ...environment }) };
  }
  variables = { ...variables, ...environment };
  const merged = files
    .map((file) => substitute(readYaml(directory, file), variables, file))
    .reduce((whole, part) => merge(whole, part), {});
  return {
    files,
    services: Object.entries(map(at(merged, 'services'))).map(([name, service]) =>
      readService(name, service),
    ),
    secrets: externals(at(merged, 'secrets')),
    networks: Object.entries(map(at(merged, 'networks'))).map(([name, network]) => ({
      name,
      mtu: numberOf(at(network, 'driver_opts', 'com.docker.network.driver.mtu')),
    })),
    variables,
  };
}

function readText(directory: string, file: string): string {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StackError(
      `${join(directory, file)} ${code === 'ENOENT' ? 'does not exist' : `cannot be read: ${message}`}`,
      'set the directory of docker-stack.yml and stacks/: --files DIR',
    );
  }
}

function readYaml(directory: string, file: string): Json {
  try {
    return parse(readText(directory, file), { merge: true }) as Json;
  } catch (error) {
    if (error instanceof StackError) throw error;
    throw new StackError(`${file} is not YAML: ${(error as Error).message}`, 'restore it: git checkout');
  }
}

/** Parses NAME=value lines like a shell with `set -a; . FILE`, as far as the stack files need it. */
export function parseEnv(text: string, variables: Variables): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, quoted, plain] of text.matchAll(
    /^\s*(?:export\s+)?(\w+)=(?:'([^']*)'|"?([^"#\n]*?)"?)\s*(?:#.*)?$/gm,
  )) {
    found[name!] = quoted ?? interpolate(plain!, { ...variables, ...found }, name!);
  }
  return found;
}

/**
 * Expands `$NAME` and `${NAME}`, with `:-` and `-` for a default, and `:?` and `?` for an error; `$$` is a dollar
 * sign.
 */
export function interpolate(text: string, variables: Variables, where: string): string {
  return text.replaceAll(
    /\$(?:(\$)|(\w+)|\{(\w+)(?:(:?[-?])([^}]*))?\})/g,
    (_, dollar?: string, short?: string, name?: string, operator?: string, rest = '') => {
      if (dollar !== undefined) return '$';
      const value = variables[short ?? name!];
      if (value !== undefined && (value !== '' || operator?.startsWith(':') !== true)) return value;
      if (operator?.endsWith('?') === true)
        throw new StackError(
          `${where} needs ${name}: ${rest}`,
          `set ${name} in stacks/versions.env or in the profile`,
        );
      return rest as string;
    },
  );
}

function substitute(value: Json, variables: Variables, where: string): Json {
  if (typeof value === 'string') return interpolate(value, variables, where);
  if (Array.isArray(value)) return value.map((item: Json) => substitute(item, variables, where));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, substitute(item, variables, where)]),
  );
}

/** Merges maps, appends lists, and replaces everything else. */
function merge(whole: Json, part: Json): Json {
  if (Array.isArray(whole) && Array.isArray(part)) return [...whole, ...part];
  if (!isMap(whole) || !isMap(part)) return part;
  const both = { ...whole };
  for (const [key, value] of Object.entries(part)) {
    const old = both[key];
    both[key] = old === undefined ? value : merge(old, value);
  }
  return both;
}

function readService(name: string, service: Json): StackService {
  const deploy = at(service, 'deploy');
  const replicas = numberOf(at(deploy, 'replicas')) ?? 1;
  const constraints = list(at(deploy, 'placement', 'constraints')).map(String);
  const amount = (kind: string) => dockerSize(String(at(deploy, 'resources', kind, 'memory') ?? ''));
  return {
    name,
    image: text(at(service, 'image')),
    replicas: at(deploy, 'mode') === 'global' ? null : replicas,
    labels: new Map(constraints.flatMap(labelOf)),
    // The stack files write optional constraints without spaces, so that stacks/bin/deploy does not require them.
    optional: constraints.some((constraint) => /^node\.labels\.\S+==\S+$/.test(constraint)),
    ports: list(at(service, 'ports')).flatMap(publishedPort),
    limit: amount('limits'),
    reserved: amount('reservations'),
    environment: environmentOf(at(service, 'environment')),
    directories: list(at(service, 'volumes')).flatMap(boundDirectory),
  };
}

function labelOf(constraint: string): [string, string][] {
  const [, label, value] = /^\s*node\.labels\.([^\s=]+)\s*==\s*(\S+)\s*$/.exec(constraint) ?? [];
  return label === undefined ? [] : [[label, value!]];
}

/** `8080:8080`, `127.0.0.1:1883:1883/tcp`, or the long form. A port that Docker chooses is left out. */
function publishedPort(port: Json): number[] {
  const published = isMap(port)
    ? numberOf(port.published)
    : numberOf(/(?:^|:)(\d+):\d+(?:\/\w+)?$/.exec(String(port))?.[1] ?? null);
  return published === null || published === 0 ? [] : [published];
}

function boundDirectory(volume: Json): string[] {
  const source = isMap(volume)
    ? volume.type === 'bind' && text(volume.source ?? null)
    : /^(\/[^:]+):/.exec(String(volume))?.[1];
  return source ? [source] : [];
}

function environmentOf(environment: Json): Record<string, string> {
  const pairs = Array.isArray(environment)
    ? environment.map((line: Json) => /^([^=]+)=?(.*)$/s.exec(String(line))!.slice(1, 3))
    : Object.entries(map(environment)).map(([name, value]) => [name, String(value ?? '')]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

function externals(secrets: Json): string[] {
  return Object.entries(map(secrets))
    .filter(([, secret]) => at(secret, 'external') !== null && at(secret, 'external') !== false)
    .map(([name, secret]) => text(at(secret, 'name')) ?? name);
}

function isMap(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function map(value: Json): { readonly [key: string]: Json } {
  return isMap(value) ? value : {};
}

function list(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function at(value: Json, ...path: readonly string[]): Json {
  return path.reduce<Json>((inner, key) => map(inner)[key] ?? null, value);
}

function text(value: Json): string | null {
  return value === null ? null : String(value);
}

function numberOf(value: Json | undefined): number | null {
  const number = value === null || value === undefined || value === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}
