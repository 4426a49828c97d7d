import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { describe, test } from 'node:test';
import {
  type Command,
  flagName,
  isGroup,
  type Program,
  type Schema,
  type Service,
} from '@tidegauge/service/program';
import { npmPrograms } from '../../programs.ts';
import { NODE, NODE_ENVIRONMENT, ROOT } from '../../setup.js';

const TIMEOUT_MS = 60_000;
const AT_ONCE = 3;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program as its npm script does, without the check that everything is installed. */
function runProgram(file: string, args: readonly string[]): Promise<Ended> {
  const { PATH } = process.env;
  const options = { cwd: ROOT, timeout: TIMEOUT_MS, env: { PATH, TMPDIR: tmpdir(), ...NODE_ENVIRONMENT } };
  return new Promise((resolve, reject) => {
    execFile(NODE, [file, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error ?? new Error('the program was killed'));
    });
  });
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
    .map(({ kind }) => kind.limits?.split(', ')[0] ?? 'sample');

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

describe('every npm script that runs a program of ours', { concurrency: AT_ONCE }, async () => {
  for (const { script, file, program } of await npmPrograms()) {
    for (const [args, given] of commandLines(program)) {
      const name = [script, ...args].join(' ');
      const options = optionsOf(given);

      test(`${name} --help prints its usage and every option`, async () => {
        const { code, stdout, stderr } = await runProgram(file, [...args, '--help']);
        assert.equal(code, 0, stderr);
        assert.match(stdout, /^Usage: npm /);
        for (const [key] of options) {
          assert.match(stdout, new RegExp(` --(\\[no-\\])?${flagName(key).slice(2)}\\b`), key);
        }
        assert.ok(
          stdout.split('\n').every((line) => line.length <= 110),
          'a line is too long',
        );
      });

      test(`${name} reports each mistake in one line, with the nearest option, and ends with 2`, async () => {
        const known = options.length > 0 ? flagName(options[0]![0]) : '--help';
        const refused = options.find(
          ([, setting]) => setting.secret === undefined && !setting.kind.isSwitch && isRefused(setting),
        );
        const bad = refused === undefined ? [] : [`${flagName(refused[0])}=${BAD}`];
        const { code, stdout, stderr } = await runProgram(file, [
          ...args,
          ...requiredArguments(given),
          `${known}x`,
          ...bad,
        ]);
        assert.equal(code, 2, stderr);
        assert.equal(stdout, '');
        const lines = stderr.trimEnd().split('\n');
        assert.match(lines[0]!, new RegExp(`^unknown option ${known}x: did you mean --`));
        // A missing required setting gives one more line.
        const about = lines.filter((line) => line.includes(BAD));
        if (refused !== undefined) assert.equal(about.length, 1, stderr);
        assert.ok(
          lines.slice(1).every((line) => line.includes(BAD) || line.includes(' is missing: ')),
          stderr,
        );
      });
    }
  }
});

test('test runners and checks print a usage and refuse an unknown option', async () => {
  for (const file of ['scripts/test.ts', 'scripts/words.ts']) {
    assert.match((await runProgram(file, ['--help'])).stdout, /^Usage/, file);
    assert.equal((await runProgram(file, ['--no-such-option'])).code, 2, file);
  }
});
