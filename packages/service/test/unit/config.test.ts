import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kind from '@tidegauge/service';
import {
  ConfigError,
  configTable,
  defineConfig,
  loadConfig,
  printConfig,
  printHelp,
} from '@tidegauge/service';

const schema = defineConfig({
  store: {
    kind: kind.url('sqlite', 'postgres'),
    default: 'sqlite:./x.db',
    secret: 'url',
    help: 'Where readings go.',
  },
  httpPort: { kind: kind.port(), default: '8080', help: 'Port of the API.' },
  brokerPassword: { kind: kind.text(), secret: true, help: 'Password for the broker.' },
  sim: { kind: kind.boolean(), default: 'true', help: 'Run simulated sensors.' },
  grace: { kind: kind.duration(0, 60), default: '10s', help: 'Time to stop.' },
  buffer: { kind: kind.bytes(1024, 2 ** 30), default: '64MiB', help: 'Memory bound.' },
});

function problems(argv: string[], env: Record<string, string> = {}): readonly string[] {
  try {
    loadConfig(schema, argv, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  assert.fail('the configuration was accepted');
}

test('defaults apply, optional settings without one are null, and the result is frozen', () => {
  const config = loadConfig(schema, [], {});
  assert.deepEqual(
    { ...config },
    {
      store: 'sqlite:./x.db',
      httpPort: 8080,
      brokerPassword: null,
      sim: true,
      grace: 10,
      buffer: 64 * 2 ** 20,
    },
  );
  assert.ok(Object.isFrozen(config));
});

test('a flag beats the environment, which beats the default', () => {
  assert.equal(loadConfig(schema, [], { HTTP_PORT: '81' }).httpPort, 81);
  assert.equal(loadConfig(schema, ['--http-port', '82'], { HTTP_PORT: '81' }).httpPort, 82);
  assert.equal(loadConfig(schema, ['--http-port=83'], {}).httpPort, 83);
});

test('a switch is turned on by its flag and off by --no- before it', () => {
  assert.equal(loadConfig(schema, ['--no-sim'], {}).sim, false);
  assert.equal(loadConfig(schema, ['--sim'], { SIM: 'false' }).sim, true);
});

test('every mistake is reported at once, each with its name, what it got and what it takes', () => {
  const found = problems(['--http-port', 'eighty', '--colour=red', 'stray'], {
    GRACE: '5',
    STORE: 'mysql://h/db',
  });
  assert.equal(found.length, 5);
  assert.match(found.join('\n'), /--http-port got "eighty", but takes a whole number from 0 to 65535/);
  assert.match(found.join('\n'), /--colour is not a flag of this program/);
  assert.match(found.join('\n'), /"stray" is not understood/);
  assert.match(found.join('\n'), /GRACE got "5", but takes a duration such as 250ms/);
  assert.match(found.join('\n'), /STORE got .* but takes a URL that begins with sqlite: or postgres:/);
});

test('a secret is read from the file that _FILE names and never printed', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-config-'));
  try {
    const file = join(directory, 'password');
    writeFileSync(file, 'hunter2\n');
    const config = loadConfig(schema, ['--store', 'postgres://u:geheim@h/db'], {
      BROKER_PASSWORD_FILE: file,
    });
    assert.equal(config.brokerPassword, 'hunter2');
    const printed = printConfig(schema, config);
    assert.doesNotMatch(printed, /hunter2|geheim/);
    assert.match(printed, /STORE=postgres:\/\/u:\*\*\*@h\/db/);
    assert.match(printed, /BROKER_PASSWORD=\*\*\*/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a secret file that cannot be read is a mistake that names it', () => {
  assert.match(
    problems([], { BROKER_PASSWORD_FILE: '/nowhere/secret' })[0]!,
    /BROKER_PASSWORD_FILE names \/nowhere\/secret/,
  );
});

test('the wrong value of a secret is not repeated in the message', () => {
  assert.doesNotMatch(problems([], { STORE: 'mysql://u:geheim@h/db' })[0]!, /geheim/);
});

test('the help and the table name every setting', () => {
  for (const page of [printHelp('program', schema), configTable(schema)]) {
    for (const name of ['STORE', 'HTTP_PORT', 'BROKER_PASSWORD', 'SIM', 'GRACE', 'BUFFER'])
      assert.ok(page.includes(name));
  }
});
