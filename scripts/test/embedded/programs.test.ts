import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgramSync } from '@tidegauge/process';
import {
  type Command,
  flagName,
  isGroup,
  type Program,
  type Schema,
  type Service,
} from '@tidegauge/service/program';
import type { Ended } from '@tidegauge/test-support/run-here';
import { MISTAKES } from '../../../bench/test/mistakes.ts';
import { listPrograms, npmScripts, TIDEGAUGE } from '../../programs.ts';
import { NODE, ROOT } from '../../setup.js';
import type { CommandLine } from '../walk-programs.ts';

const WALK = fileURLToPath(new URL('../walk-programs.ts', import.meta.url));

/** Runs command lines in one process, because the start of a process takes longer than all of them. */
async function walk(lines: readonly CommandLine[]): Promise<readonly Ended[]> {
  const { PATH, TMPDIR = '' } = process.env;
  const child = fork(WALK, { execPath: NODE, cwd: ROOT, env: { PATH, TMPDIR } });
  child.send(lines as CommandLine[]);
  const [ended] = (await once(child, 'message')) as [readonly Ended[]];
  return ended;
}

/** The command lines of a program: itself, or each of its subcommands. */
function commandLines(program: Program): [args: string[], given: Command<Schema> | Service<Schema>][] {
  if (!isGroup(program)) return [[[], program]];
  return Object.entries(program.commands).map(([name, command]) => [[name], command]);
}

/** The options of a command, without its arguments. */
const optionsOf = ({ settings }: { readonly settings: Schema }) =>
  Object.entries(settings).filter(([, { positional }]) => !positional);

/** Valid values for the arguments that a command requires. */
const requiredArguments = ({ settings }: { readonly settings: Schema }) =>
  Object.values(settings)
    .filter(({ positional, required }) => positional && required)
    .map(({ kind: { limits, placeholder = '' } }) => {
      const inline = placeholder.includes('|') ? placeholder.split('|') : ['package.json'];
      return (limits?.split(', ') ?? inline)[0]!;
    });

/** A value that only settings of kind text accept. */
const BAD = '%%';

function isRefused(setting: Schema[string]): boolean {
  try {
    setting.kind.parse(BAD);
    return false;
  } catch {
    return true;
  }
}

/** Arguments with an unknown option and, if the command has an option that can refuse one, a bad value. */
function mistakesFor(given: Command<Schema> | Service<Schema>) {
  const options = optionsOf(given);
  const known = options.length > 0 ? flagName(options[0]![0]) : '--help';
  const refused = options.find(
    ([, setting]) => setting.secret === undefined && !setting.kind.isSwitch && isRefused(setting),
  );
  const bad = refused === undefined ? [] : [`${flagName(refused[0])}=${BAD}`];
  return { known, hasBad: refused !== undefined, args: [...requiredArguments(given), `${known}x`, ...bad] };
}

const programs = await listPrograms();
const commands = programs.flatMap(({ script, program }) =>
  commandLines(program).map(([args, given]) => ({ script, args, given, mistakes: mistakesFor(given) })),
);
const ended = await walk([
  ...commands.flatMap(({ script, args, mistakes }) => [
    { script, args: [...args, '--help'] },
    { script, args: [...args, ...mistakes.args] },
  ]),
  ...MISTAKES.map(({ bench, args }) => ({ script: `bench ${bench}`, args })),
]);

describe('every program of tidegauge, and every npm script that runs a program of ours', () => {
  for (const [index, { script, args, given, mistakes }] of commands.entries()) {
    const name = [script, ...args].join(' ');

    test(`${name} --help prints its usage and every option`, () => {
      const { code, stdout, stderr } = ended[2 * index]!;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Usage: (npm|tidegauge) /);
      for (const [key] of optionsOf(given)) {
        assert.match(stdout, new RegExp(` --(\\[no-\\])?${flagName(key).slice(2)}\\b`), key);
      }
      assert.ok(
        stdout.split('\n').every((line) => line.length <= 110),
        'a line is too long',
      );
    });

    test(`${name} reports each mistake in one line, with the nearest option, and ends with 2`, () => {
      const { code, stdout, stderr } = ended[2 * index + 1]!;
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      const lines = stderr.trimEnd().split('\n');
      assert.match(lines[0]!, new RegExp(`^unknown option ${mistakes.known}x: did you mean --`));
      // A missing required setting gives one more line.
      const about = lines.filter((line) => line.includes(BAD));
      if (mistakes.hasBad) assert.equal(about.length, 1, stderr);
      assert.ok(
        lines.slice(1).every((line) => line.includes(BAD) || line.includes(' is missing: ')),
        stderr,
      );
    });
  }

  for (const [index, { bench, what, line }] of MISTAKES.entries()) {
    test(`bench ${bench} refuses ${what} with one line`, () => {
      const { code, stdout, stderr } = ended[2 * commands.length + index]!;
      assert.equal(code, 2, stderr);
      assert.match(stderr, line);
      assert.equal(stderr.trimEnd().split('\n').length, 1);
      assert.equal(stdout, '');
    });
  }

  test('each file runs its program when it is started, and does nothing when it is imported', () => {
    for (const { file } of programs) {
      const source = readFileSync(join(ROOT, file), 'utf8');
      assert.match(source, /^if \(import\.meta\.main\).*\brun\(program\)/ms, file);
    }
  });

  test('an npm script that runs tidegauge has the name of its program', () => {
    const names = Object.entries(npmScripts()).flatMap(([script, command]) => {
      const name = command.split(`${TIDEGAUGE} `)[1];
      return name === undefined ? [] : [[script, name]];
    });
    assert.ok(names.length > 10);
    for (const [script, name] of names) {
      assert.equal(script, name);
      assert.ok(
        programs.some((each) => each.script === name),
        name,
      );
    }
  });
});

test('test runners and checks print a usage and refuse an unknown option', () => {
  const start = (file: string, option: string) =>
    runProgramSync(NODE, [file, option], { accept: 'any', cwd: ROOT, timeoutMs: 60_000 });
  for (const file of ['scripts/test.ts', 'scripts/words.ts']) {
    assert.match(start(file, '--help').stdout, /^Usage/, file);
    assert.equal(start(file, '--no-such-option').code, 2, file);
  }
});
