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
  goneVariables,
  loadConfig,
  printConfig,
  readSettings,
} from '@tidegauge/service';
import { secretsOf } from '../../../src/program/load-config.ts';

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

test('an option has precedence over the environment, which has precedence over the default', () => {
  assert.equal(loadConfig(schema, [], { HTTP_PORT: '81' }).httpPort, 81);
  assert.equal(loadConfig(schema, ['--http-port', '82'], { HTTP_PORT: '81' }).httpPort, 82);
  assert.equal(loadConfig(schema, ['--http-port=83'], {}).httpPort, 83);
});

test('a switch is on with its option and off with --no- before its name', () => {
  assert.equal(loadConfig(schema, ['--no-sim'], {}).sim, false);
  assert.equal(loadConfig(schema, ['--sim'], { SIM: 'false' }).sim, true);
});

test('all mistakes are reported together, each with the name, the value and what is valid', () => {
  const found = problems(['--http-port', 'eighty', '--colour=red', 'stray'], {
    GRACE: '5',
    STORE: 'mysql://h/db',
  });
  assert.equal(found.length, 5);
  assert.match(found.join('\n'), /--http-port must be a whole number from 0 to 65535.*; got "eighty"/);
  assert.match(found.join('\n'), /unknown option --colour/);
  assert.match(found.join('\n'), /unexpected argument "stray"/);
  assert.match(found.join('\n'), /GRACE must be a duration such as 250ms.*; got "5"/);
  assert.match(found.join('\n'), /STORE must be a URL that begins with sqlite: or postgres:; got .*/);
  assert.match(problems(['--store', 'postgres'])[0]!, /: it has no scheme: did you mean postgres:\?$/);
});

test('a secret is read from the file that _FILE names and never printed', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-config-'));
  try {
    const file = join(directory, 'password');
    writeFileSync(file, 'hunter2\n');
    const settings = readSettings(schema, ['--store', 'postgres://u:geheim@h/db'], {
      BROKER_PASSWORD_FILE: file,
    });
    assert.equal(settings.config.brokerPassword, 'hunter2');
    const printed = printConfig(schema, settings);
    assert.doesNotMatch(printed, /hunter2|geheim/);
    assert.match(printed, /STORE=postgres:\/\/u:\*\*\*@h\/db/);
    assert.match(printed, /BROKER_PASSWORD=\*\*\*/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a program that has options only reads its secrets and URLs from variables, and nothing else', () => {
  const env = { STORE: 'sqlite:a.db', BROKER_PASSWORD_FILE: '/run/secret', HTTP_PORT: '83' };
  const read = secretsOf(schema, env);
  assert.deepEqual(
    Object.entries(read).filter(([, value]) => value !== undefined),
    [
      ['STORE', 'sqlite:a.db'],
      ['BROKER_PASSWORD_FILE', '/run/secret'],
    ],
  );
});

test('a secret file that cannot be read is reported with its name', () => {
  assert.match(
    problems([], { BROKER_PASSWORD_FILE: '/nowhere/secret' })[0]!,
    /BROKER_PASSWORD_FILE names \/nowhere\/secret/,
  );
});

test('an invalid secret is not printed', () => {
  assert.doesNotMatch(problems([], { STORE: 'mysql://u:geheim@h/db' })[0]!, /geheim/);
});

test('the table names every setting by its variable', () => {
  const table = configTable(schema);
  for (const name of ['STORE', 'HTTP_PORT', 'BROKER_PASSWORD', 'SIM', 'GRACE', 'BUFFER'])
    assert.ok(table.includes(`| \`${name}\``), name);
});

test('an unknown option is reported with the nearest known one', () => {
  assert.deepEqual(problems(['--htpt-port', '1']), ['unknown option --htpt-port: did you mean --http-port?']);
  assert.deepEqual(problems(['--hlep']), ['unknown option --hlep: did you mean --help?']);
});

test('the password of any URL is masked, in every setting, in lists and in error messages', () => {
  const open = defineConfig({
    broker: { kind: kind.url('mqtt'), help: 'x' },
    ingest: { kind: kind.list(kind.url('http')), help: 'x' },
  });
  const settings = readSettings(open, [], {
    BROKER: 'mqtt://u:hun@ter@2?password=hun@h',
    INGEST: 'http://a:hunter2@b, http://c?token=hunter2, http://d:hunter2@e',
  });
  assert.equal(
    printConfig(open, settings),
    'BROKER=mqtt://u:***\nINGEST=http://a:***@b,http://c?token=***,http://d:***@e',
  );
  assert.throws(
    () => loadConfig(open, ['--broker', 'amqp://u:hunter2@h'], {}),
    ({ message }: Error) => message.includes('"amqp://u:***@h"') && !message.includes('hunter2'),
  );
  assert.throws(
    () => loadConfig(open, ['--broker', 'mqtt://u:hun/ter@2?password=hun@h'], {}),
    ({ message }: Error) => message.includes('"mqtt://u:***"') && !/hun|ter@/.test(message),
  );
});

test('a URL with an impossible host or port is refused', () => {
  const open = defineConfig({
    ingest: { kind: kind.list(kind.url('http')), help: 'x' },
    broker: { kind: kind.url('mqtt', 'mqtts', 'ws', 'wss'), help: 'x' },
    store: { kind: kind.url('sqlite', 'postgres', 'mongodb'), help: 'x' },
  });
  const wrong: readonly [flag: string, url: string, message: RegExp][] = [
    ['--ingest', 'http://ingest:94640', /port 94640 is not one from 1 to 65535/],
    ['--ingest', 'http://a:9464,http://ingest:65536', /port 65536/],
    ['--ingest', 'http://ingest:0', /port 0/],
    ['--ingest', 'http://ingest:x', /cannot be read/],
    ['--ingest', 'http://[::1', /cannot be read/],
    ['--ingest', 'http://in gest', /cannot be read/],
    ['--ingest', 'http:', /names no host/],
    ['--ingest', 'http:///metrics', /names no host/],
    ['--broker', 'mqtt://u:p@broker:99999', /port 99999/],
    ['--broker', 'wss://:443', /cannot be read/],
    ['--store', 'postgres://u:p@db:70000/t', /port 70000/],
    ['--store', 'mongodb://u:p@db1:27017,db2:70000/t', /port 70000/],
  ];
  for (const [flag, url, message] of wrong) {
    assert.throws(() => loadConfig(open, [flag, url], {}), message, url);
  }
  const right: readonly [flag: string, url: string][] = [
    ['--ingest', 'http://ingest:9464,http://[::1]:65535, http://tasks.ingest'],
    ['--broker', 'mqtt://u:p:70000@broker'],
    ['--store', 'sqlite:./a:70000.db'],
    ['--store', 'mongodb://u:p@[::1]:27017,db2/t'],
  ];
  for (const [flag, url] of right) assert.ok(loadConfig(open, [flag, url], {}), url);
});

test('an option that is gone is refused, and a variable is named, with what holds in its place', () => {
  const gone = { rounds: 'there are always 5', keepFile: 'the file is always kept' };
  const refused = (argv: string[], lines: string) =>
    assert.throws(
      () => loadConfig(schema, argv, {}, gone),
      ({ problems }: ConfigError) => problems.join() === lines,
    );
  refused(['--rounds', '5'], '--rounds is no longer a setting: there are always 5');
  refused(['--no-keep-file'], '--no-keep-file is no longer a setting: the file is always kept');
  assert.equal(loadConfig(schema, [], { ROUNDS: '5' }, gone).httpPort, 8080);
  assert.deepEqual(goneVariables(gone, { ROUNDS: '5', KEEP_FILE: '' }), [
    'ROUNDS is no longer a setting: there are always 5',
  ]);
});
