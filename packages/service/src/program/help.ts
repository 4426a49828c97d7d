import { placeholderOf } from './kinds.ts';
import {
  beforeArguments,
  type Command,
  type CommandGroup,
  configuredBy,
  isService,
  type Service,
} from './program.ts';
import { argumentName, flagName, type Schema, type Setting, variableName } from './settings.ts';

const WIDTH = 100;
/** Where the text of an option begins, unless all names are shorter. */
const COLUMN = 34;

type Row = readonly [name: string, text: string];

/** The help of a program: usage, arguments, options by group with one line each where it fits, exit codes. */
export function printHelp(program: Service<Schema> | Command<Schema>): string {
  const { settings } = program;
  const by = configuredBy(program);
  const positional = Object.entries(settings).filter(([, { positional }]) => positional);
  const options = Object.entries(settings).filter(([, { positional }]) => !positional);
  const groups = Map.groupBy(options, ([, { group }]) => group ?? 'Options');
  const general: Row[] = [
    ...(options.length === 0
      ? []
      : [['--print-config', 'Print the settings in force, with secrets masked.'] as const]),
    ['-h, --help', 'Print this help.'],
  ];
  const sections: [string, Row[]][] = [
    [
      'Arguments',
      positional.map(([key, setting]) => [argumentUsage(key, setting), textOf(key, setting, by)]),
    ],
    ...[...groups].map(([group, entries]): [string, Row[]] => [
      group,
      entries.map(([key, setting]) => [optionUsage(key, setting), textOf(key, setting, by)]),
    ]),
    ['General', general],
  ];
  const usage = [
    beforeArguments(program.name),
    ...positional.map(([key, setting]) => argumentUsage(key, setting)),
  ];
  return page([
    `Usage: ${[...usage, '[options]'].join(' ')}`,
    wrap(program.summary, 0),
    program.details && wrap(program.details, 0),
    ...sectionsOf(sections),
    by === 'environment' && options.length > 0 ? environmentNote(options[0]![0]) : undefined,
    examplesOf(program.examples),
    exitCodesOf(isMeasuring(program)),
  ]);
}

/** The help of a program with subcommands. */
export function printGroupHelp({ name, summary, details, examples, commands }: CommandGroup): string {
  const rows = Object.entries(commands).map(([command, { settings, summary: text }]): Row => {
    const positional = Object.entries(settings).filter(([, { positional }]) => positional);
    return [[command, ...positional.map(([key, setting]) => argumentUsage(key, setting))].join(' '), text];
  });
  return page([
    `Usage: ${beforeArguments(name)} COMMAND [options]`,
    wrap(summary, 0),
    details && wrap(details, 0),
    ...sectionsOf([['Commands', rows]]),
    `${beforeArguments(name)} COMMAND --help prints the options of a command.`,
    examplesOf(examples),
    exitCodesOf(Object.values(commands).some(isMeasuring)),
  ]);
}

function exitCodesOf(measures: boolean): string {
  const invalid = measures ? ', 3 figures that do not count' : '';
  return `Exit codes: 0 success, 1 failure, 2 bad usage or bad configuration${invalid}.`;
}

function isMeasuring(program: Service<Schema> | Command<Schema>): boolean {
  return !isService(program) && program.measures === true;
}

function environmentNote(key: string): string {
  return wrap(
    `Every option is also an environment variable: ${flagName(key)} is ${variableName(key)}. The option has precedence.`,
    0,
  );
}

function page(parts: readonly (string | undefined)[]): string {
  return `${parts.filter((part) => part !== undefined && part !== '').join('\n\n')}\n`;
}

function examplesOf(examples: readonly string[] | undefined): string | undefined {
  if (examples === undefined || examples.length === 0) return undefined;
  return ['Examples:', ...examples.map((example) => `  ${example}`)].join('\n');
}

function sectionsOf(sections: readonly (readonly [title: string, rows: readonly Row[]])[]): string[] {
  const filled = sections.filter(([, rows]) => rows.length > 0);
  const widest = Math.max(...filled.flatMap(([, rows]) => rows.map(([name]) => name.length)));
  const column = Math.min(COLUMN, widest + 4);
  return filled.map(([title, rows]) => [`${title}:`, ...rows.map((row) => rowOf(row, column))].join('\n'));
}

function rowOf([name, text]: Row, column: number): string {
  const lines = wrap(text, column);
  const own = `  ${name}`;
  return own.length + 2 > column ? `${own}\n${' '.repeat(column)}${lines}` : own.padEnd(column) + lines;
}

/** Breaks a text into lines of `WIDTH` columns; those after the first begin at `indent`. */
function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  for (const paragraph of paragraphsOf(text)) {
    // An indented line is part of a table.
    if (paragraph.startsWith(' ')) {
      lines.push(paragraph);
      continue;
    }
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && indent + line.length + 1 + word.length > WIDTH) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}

/** The lines of a text. Those of one paragraph are joined, because the source breaks them at another width. */
function paragraphsOf(text: string): string[] {
  const isProse = (line: string | undefined) => line !== undefined && /^\S/.test(line);
  const found: string[] = [];
  for (const line of text.split('\n')) {
    if (isProse(line) && isProse(found.at(-1))) found.push(`${found.pop()} ${line}`);
    else found.push(line);
  }
  return found;
}

function argumentUsage(key: string, { kind, default: preset, required }: Setting<unknown>): string {
  const name = `${argumentName(key)}${kind.parseAll === undefined ? '' : '...'}`;
  return required && preset === undefined ? name : `[${name}]`;
}

function optionUsage(key: string, { kind, alias, default: preset }: Setting<unknown>): string {
  const short = alias === undefined ? '' : `-${alias}, `;
  if (kind.isSwitch) return short + flagName(key).replace('--', preset === 'true' ? '--[no-]' : '--');
  return `${short}${flagName(key)} ${placeholderOf(kind)}`;
}

function textOf(
  key: string,
  { kind, help, default: preset, required, secret, positional }: Setting<unknown>,
  by: 'environment' | 'options',
): string {
  const variable = variableName(key);
  const environment = by === 'environment' ? `${variable}_FILE` : `${variable}, ${variable}_FILE`;
  const secrecy = secret === true ? 'secret, or from' : secret === 'url' ? 'or from' : null;
  const facts = [
    kind.limits,
    kind.isSwitch ? (preset === 'true' ? 'default: on' : undefined) : preset && `default: ${preset}`,
    required && !positional ? 'required' : undefined,
    secrecy === null ? undefined : `${secrecy} ${environment}`,
  ].filter((fact) => fact !== undefined && fact !== '');
  return facts.length === 0 ? help : `${help} [${facts.join('; ')}]`;
}
