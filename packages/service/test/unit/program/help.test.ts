import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boolean,
  bytes,
  defineCommand,
  duration,
  integer,
  list,
  oneOf,
  port,
  printGroupHelp,
  printHelp,
  repeated,
  text,
} from '@tidegauge/service/program';

const command = defineCommand({
  name: 'npm run sample',
  summary: 'Does one thing.',
  examples: ['npm run sample -- a.csv --rounds 5'],
  settings: {
    file: { kind: text('a file name'), positional: true, required: true, help: 'The file to read.' },
    more: { kind: repeated(text('a file name')), positional: true, help: 'Further files.' },
    rounds: { kind: integer(1, 50), default: '3', help: 'Rounds to run.' },
    mode: { kind: oneOf(['fast', 'safe']), default: 'safe', help: 'The mode.', group: 'Tuning' },
    wait: { kind: duration(0.25, 7200), help: 'Time between rounds.', group: 'Tuning' },
    memory: { kind: bytes(1024, 2 ** 31), help: 'Memory to use.', group: 'Tuning' },
    ports: { kind: list(port()), help: 'Ports to use.', group: 'Tuning' },
    token: { kind: text(), secret: true, help: 'Token of the API.' },
    colour: { kind: boolean(), default: 'true', help: 'Print colours.' },
  },
  run: () => 0,
});

test('the help has one line for each option, in groups', () => {
  assert.equal(
    printHelp(command),
    `Usage: npm run sample -- FILE [MORE...] [options]

Does one thing.

Arguments:
  FILE              The file to read.
  [MORE...]         Further files.

Options:
  --rounds N        Rounds to run. [1 to 50; default: 3]
  --token TEXT      Token of the API. [secret, or from TOKEN, TOKEN_FILE]
  --[no-]colour     Print colours. [default: on]

Tuning:
  --mode fast|safe  The mode. [default: safe]
  --wait DURATION   Time between rounds. [250ms to 2h]
  --memory SIZE     Memory to use. [1KiB to 2GiB]
  --ports PORT,…    Ports to use.

General:
  --print-config    Print the settings in force, with secrets masked.
  -h, --help        Print this help.

Examples:
  npm run sample -- a.csv --rounds 5

Exit codes: 0 success, 1 failure, 2 bad usage or bad configuration.
`,
  );
});

test('the help of a measurement, alone or in a group, has its own exit code too', () => {
  const measuring = { ...command, measures: true } as const;
  const codes = /^Exit codes: 0 success, 1 failure, 2 bad .*, 3 figures that do not count\.$/m;
  assert.match(printHelp(measuring), codes);
  assert.match(printGroupHelp({ name: 'x', summary: 'X.', commands: { sample: command, measuring } }), codes);
});

test('no line of the help is longer than 100 columns', () => {
  const help = 'A sentence of many words that goes on and on, '.repeat(6).trim();
  const page = printHelp({ ...command, summary: help, settings: { long: { kind: text(), help } } });
  assert.ok(page.split('\n').every((line) => line.length <= 100));
  assert.ok(page.replace(/\s+/g, ' ').includes(help));
});

test('lines of one paragraph are joined before they are wrapped, and tables stay', () => {
  const prose = `${'word '.repeat(22)}end\nof it.`;
  const help = printHelp({ ...command, details: `${prose}\n  a  table\n  b  row\n\nNext.` });
  const wrapped = `${'word '.repeat(20).trimEnd()}\nword word end of it.\n  a  table\n  b  row\n\nNext.\n`;
  assert.ok(help.includes(wrapped), help);
});

test('the help of a service explains its variables', () => {
  const page = printHelp({ ...command, stopSeconds: () => 1, start: async () => ({ stop: async () => {} }) });
  assert.match(page, /^Every option is also an environment variable: --rounds is ROUNDS\./m);
  assert.match(page, /--token TEXT .*\[secret, or from TOKEN_FILE\]/);
});

test('the help of a group lists its commands with their arguments', () => {
  const page = printGroupHelp({
    name: 'npm run tool',
    summary: 'Has commands.',
    commands: { sample: command },
  });
  assert.match(page, /^Usage: npm run tool -- COMMAND \[options\]$/m);
  assert.match(page, /^ {2}sample FILE \[MORE\.\.\.\] {2}Does one thing\.$/m);
});

test('only npm needs -- before the arguments', () => {
  assert.match(printHelp({ ...command, name: 'tidegauge sample' }), /^Usage: tidegauge sample FILE /);
  const group = printGroupHelp({ name: 'tidegauge tool', summary: 'X.', commands: { sample: command } });
  assert.match(group, /^Usage: tidegauge tool COMMAND \[options\]$/m);
  assert.match(group, /^tidegauge tool COMMAND --help prints/m);
});
