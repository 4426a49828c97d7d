import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  type Command,
  type Config,
  configuredBy,
  flagName,
  isGroup,
  type Program,
  printConfig,
  readSettings,
  type Schema,
  type Service,
  type Setting,
  variableName,
} from '@tidegauge/service/program';
import { configurationPage, FILE } from '../../configuration.ts';
import { listPrograms } from '../../programs.ts';

test('docs/configuration.md is what npm run docs writes', async () => {
  assert.equal(readFileSync(FILE, 'utf8'), await configurationPage());
});

/** Texts of every kind of value. A setting is tried with each that its kind accepts. */
const TEXTS: readonly string[] = [
  ...['true', 'false', '0', '1', '3', '1883', '65535', '20000', '1e3', '-5', '0.5', '1d'],
  ...['3ms', '250ms', '1.5s', '90s', '10s', '2m', '1h', '1.5h', '3600s', '7d', '90d', '365d'],
  ...['1024', '1.5KiB', '64MiB', '0.5GiB', '4GiB', '200GiB', '10GiB', '5000', '5%', '500MB'],
  ...['sample', 'a.b', 'a b', 'a,b', ' a , b', '#5', '=', 'a=b', "it's", '"quoted"', '$HOME', 'ä', '***'],
  ...['sensors/+/x/#', 'site-1', '{device}', '{cpu}', '{measurement}.{field}', 'Europe/Berlin', 'UTC'],
  ...['127.0.0.1', '::1', '127.0.0.1:1', 'host:123', 'a.example, b.example', 'AA', '1-5'],
  ...['http://127.0.0.1:8080', 'https://u:geheim@a.example/x?y=1', 'https://app.example.org'],
  ...['mqtt://u:geheim@broker', 'mqtts://broker:8883'],
  ...['sqlite:./x.db', 'postgres://u:geheim@h/db', 'postgres', 'json:./x'],
  ...[
    'RS256, EdDSA',
    'tidegauge:read=read, other=write',
    '500:30s,2000:1m',
    'op_read:p(99)<20,op_read:avg<5',
  ],
  ...[
    'selectOne=0.5,updateSome=0.5',
    'daily=7',
    'raw:30d,1m:1y,1h:forever',
    '2026-01-01',
    'fieldcount=5',
    'p=a=b,c',
  ],
  ...['./print-config.out', process.execPath, process.cwd(), '2026-01-01T00:00:00Z', 'a', 'w', 'raw', 'app'],
];

/** Texts for lists only: of one text, everything up to the last @ is masked. */
const LISTS: readonly string[] = ['http://u:geheim@a, http://v:geheim@b'];

type Runnable = Command<Schema> | Service<Schema>;

function commandsOf(program: Program): readonly (readonly [name: string, command: Runnable])[] {
  return isGroup(program) ? Object.entries(program.commands) : [['', program]];
}

/** The texts that a setting accepts: its own choices and its default, and those of every kind. */
function acceptedBy({ kind, default: preset }: Setting<unknown>): readonly string[] {
  const choices = kind.limits?.split(/, ?/) ?? [];
  const inline = kind.placeholder?.split('|') ?? [];
  const lists = kind.separator === undefined ? [] : LISTS;
  const candidates = [...(preset === undefined ? [] : [preset]), ...choices, ...inline, ...TEXTS, ...lists];
  return [...new Set(candidates)].filter((text) => {
    try {
      kind.parse(text);
      return true;
    } catch {
      return false;
    }
  });
}

interface Given {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Gives every setting one of its texts: the one of this number, from the first again after the last. */
function given(command: Runnable, accepted: ReadonlyMap<string, readonly string[]>, number: number): Given {
  const argv: string[] = [];
  const positional: string[] = [];
  const env: Record<string, string> = {};
  for (const [key, setting] of Object.entries(command.settings)) {
    const texts = accepted.get(key)!;
    const several = setting.kind.parseAll === undefined ? 1 : 1 + (number % 2);
    const chosen = Array.from({ length: several }, (_, at) => texts[(number + at) % texts.length]!);
    if (setting.positional) positional.push(...chosen);
    else if (configuredBy(command) === 'environment' && number % 2 === 0) env[variableName(key)] = chosen[0]!;
    else argv.push(...chosen.map((text) => `${flagName(key)}=${text}`));
  }
  return { argv: [...argv, '--', ...positional], env };
}

/** What a printed configuration gives to the program that printed it. Arguments are comments between variables. */
function fedBack(command: Runnable, printed: string): Given {
  const lines = printed.split('\n');
  const values = lines.filter((line) => line !== '' && !line.startsWith('# '));
  if (configuredBy(command) === 'options') return { argv: values, env: {} };
  const argument = '# argument: ';
  const argv = lines.filter((line) => line.startsWith(argument)).map((line) => line.slice(argument.length));
  const env = Object.fromEntries(values.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  return { argv: ['--', ...argv], env };
}

/** The configuration with its secrets as they are printed. */
function withoutSecrets(command: Runnable, config: Config<Schema>): object {
  return Object.fromEntries(
    Object.entries(command.settings).map(([key, { secret }]) => {
      const text = JSON.stringify(config[key]);
      return [key, secret === true && config[key] !== null ? '***' : text.replaceAll('geheim', '***')];
    }),
  );
}

for (const { script, program } of await listPrograms()) {
  for (const [name, command] of commandsOf(program)) {
    test(`${`${script} ${name}`.trim()} accepts every configuration that --print-config prints`, () => {
      const accepted = new Map(
        Object.entries(command.settings).map(([key, setting]) => [key, acceptedBy(setting)]),
      );
      for (const [key, texts] of accepted) assert.notEqual(texts.length, 0, `no text for ${key}`);
      const rounds = Math.max(1, ...[...accepted.values()].map(({ length }) => length));
      for (let number = 0; number < rounds; number += 1) {
        const { argv, env } = given(command, accepted, number);
        const settings = readSettings(command.settings, argv, env);
        const printed = printConfig(command.settings, settings, configuredBy(command));
        assert.doesNotMatch(printed, /geheim/);
        const back = fedBack(command, printed);
        const again = readSettings(command.settings, back.argv, back.env);
        assert.deepEqual(
          withoutSecrets(command, again.config),
          withoutSecrets(command, settings.config),
          printed,
        );
      }
    });
  }
}
