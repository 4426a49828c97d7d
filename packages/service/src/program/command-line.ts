import { didYouMean } from '@tidegauge/text';
import { argumentName, flagName, type Gone, goneProblem, type Schema, type Setting } from './settings.ts';

/** A value as the user gave it. */
export interface Source {
  /** The option, argument or variable, as an error message names it. */
  readonly label: string;
  /** More than one where an option was given several times. */
  readonly texts: readonly string[];
}

export interface CommandLine {
  /** What was given, by the key of the setting. */
  readonly given: ReadonlyMap<string, Source>;
  readonly help: boolean;
  readonly printConfig: boolean;
  /** One line for each mistake. */
  readonly problems: readonly string[];
}

/** Options that every program has. */
const HELP = ['--help', '-h'];
const PRINT_CONFIG = '--print-config';

/**
 * Reads `--name value`, `--name=value`, `--switch`, `--no-switch`, aliases with one dash, and arguments.
 * After `--` everything is an argument. Collects mistakes instead of throwing.
 */
export function readCommandLine(schema: Schema, argv: readonly string[], gone: Gone = {}): CommandLine {
  const given = new Map<string, Source>();
  const problems: string[] = [];
  const argumentTexts: string[] = [];
  const options = optionsOf(schema);
  let help = false;
  let printConfig = false;
  const left = [...argv];
  for (let argument = left.shift(); argument !== undefined; argument = left.shift()) {
    if (argument === '--') argumentTexts.push(...left.splice(0));
    else if (!/^-./.test(argument)) argumentTexts.push(argument);
    else if (HELP.includes(argument)) help = true;
    else if (argument === PRINT_CONFIG) printConfig = true;
    else {
      const problem = readOption(argument, left, options, gone, given);
      if (problem !== null) problems.push(problem);
    }
  }
  placeArguments(schema, argumentTexts, given, problems);
  return { given, help, printConfig, problems };
}

/** Takes the value of an option from the arguments that are left. Returns the mistake, or null. */
function readOption(
  argument: string,
  left: string[],
  options: ReturnType<typeof optionsOf>,
  gone: Gone,
  given: Map<string, Source>,
): string | null {
  const { name, attached } = split(argument, options);
  const option = options.get(name);
  if (option === undefined) {
    // The next argument is probably the value of the unknown option, so it is skipped too.
    if (attached === null && /^[^-]/.test(left[0] ?? '')) left.shift();
    return unknownOption(name, options, gone);
  }
  const text = attached ?? option.implied ?? left.shift() ?? '';
  const problem = valueProblem(name, option, attached, text);
  if (problem === null) add(given, option.key, option.setting, { label: name, texts: [text] });
  return problem;
}

function unknownOption(name: string, options: ReadonlyMap<string, Option>, gone: Gone): string {
  const before = new Map(Object.entries(gone).map(([key, now]) => [flagName(key), now]));
  const now = before.get(name) ?? before.get(name.replace('--no-', '--'));
  const near = didYouMean(name, [...options.keys(), '--help', PRINT_CONFIG]);
  return now === undefined ? `unknown option ${name}${near}` : goneProblem(name, now);
}

/** @param text the value; empty without one */
function valueProblem(name: string, option: Option, attached: string | null, text: string): string | null {
  if (text === '' && attached === null) return `${name} needs a value: ${option.setting.kind.takes}`;
  return option.negated && attached !== null ? `${name} has no value` : null;
}

interface Option {
  readonly key: string;
  readonly setting: Setting<unknown>;
  /** The value of an option that is given without one. */
  readonly implied: string | null;
  readonly negated: boolean;
}

function optionsOf(schema: Schema): ReadonlyMap<string, Option> {
  const options = new Map<string, Option>();
  for (const [key, setting] of Object.entries(schema)) {
    if (setting.positional) continue;
    const isSwitch = setting.kind.isSwitch === true;
    const option: Option = { key, setting, implied: isSwitch ? 'true' : null, negated: false };
    options.set(flagName(key), option);
    if (setting.alias !== undefined) options.set(`-${setting.alias}`, option);
    if (isSwitch) {
      options.set(flagName(key).replace('--', '--no-'), { ...option, implied: 'false', negated: true });
    }
  }
  return options;
}

/** The option's name and the value that is attached to it: `--name=value`, `-pvalue`. */
function split(argument: string, options: ReadonlyMap<string, Option>) {
  if (!argument.startsWith('--')) {
    const short = argument.slice(0, 2);
    const attached = !options.has(argument) && options.get(short)?.implied === null;
    return attached ? { name: short, attached: argument.slice(2) } : { name: argument, attached: null };
  }
  const equals = argument.indexOf('=');
  if (equals === -1) return { name: argument, attached: null };
  return { name: argument.slice(0, equals), attached: argument.slice(equals + 1) };
}

/** The last value counts, unless the setting takes several. */
function add(given: Map<string, Source>, key: string, setting: Setting<unknown>, source: Source): void {
  const before = setting.kind.parseAll === undefined ? [] : (given.get(key)?.texts ?? []);
  given.set(key, { ...source, texts: [...before, ...source.texts] });
}

function placeArguments(
  schema: Schema,
  texts: readonly string[],
  given: Map<string, Source>,
  problems: string[],
): void {
  const settings = Object.entries(schema).filter(([, setting]) => setting.positional);
  let next = 0;
  for (const [key, setting] of settings) {
    const end = setting.kind.parseAll === undefined ? next + 1 : texts.length;
    const own = texts.slice(next, end);
    if (own.length > 0) given.set(key, { label: argumentName(key), texts: own });
    next = Math.max(next, end);
  }
  for (const text of texts.slice(next)) {
    problems.push(
      `unexpected argument ${JSON.stringify(text)}${settings.length === 0 ? ': options begin with --' : ''}`,
    );
  }
}
