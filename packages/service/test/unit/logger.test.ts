import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readable } from '../../src/log-lines.ts';

const SERVICE = fileURLToPath(new URL('../../src/index.ts', import.meta.url));
const PROGRAM = `
import { createLogger, defineConfig, loadConfig, text, url } from ${JSON.stringify(SERVICE)};
const schema = defineConfig({
  broker: { kind: url('mqtt'), help: 'x' },
  apiToken: { kind: text(), secret: true, help: 'x' },
});
const config = loadConfig(schema, [], process.env);
const logger = createLogger('test', 'info');
const error = new Error('connect to ' + config.broker, { cause: new Error('login as HuNtEr2/p@ss') });
logger.warn({ broker: config.broker, nested: { list: [new URL(config.broker)] }, err: error, token: 'x' }, 'away');
logger.child({ at: config.broker }).info('with ' + config.apiToken + ' at ' + config.broker);
logger.error(error);
`;
const ENV = { ...process.env, BROKER: 'mqtt://me:HuNtEr2%2Fp%40ss@h:1883', API_TOKEN: 'LoNgToKeN-LoNgToKeN' };
const NODE = [process.execPath, '--input-type=module-typescript', '--eval', PROGRAM];

test('writes a line of JSON per event to a pipe, and no secret of the configuration in any form', () => {
  const { stderr, status } = spawnSync(NODE[0]!, NODE.slice(1), { env: ENV, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 3);
  assert.equal(lines[0].broker, 'mqtt://me:***@h:1883');
  assert.deepEqual(lines[0].nested, { list: ['mqtt://me:***@h:1883'] });
  assert.match(lines[0].err.stack, /connect to mqtt:\/\/me:\*\*\*@h:1883/);
  assert.equal(lines[1].msg, 'with *** at mqtt://me:***@h:1883');
  assert.doesNotMatch(stderr, /HuNtEr2|LoNgToKeN/);
});

test('writes readable lines to a terminal', () => {
  const script = `import pty, sys; sys.exit(pty.spawn(${JSON.stringify(NODE)}) >> 8)`;
  const { stdout, status } = spawnSync('python3', ['-c', script], {
    env: { ...ENV, NO_COLOR: '1' },
    encoding: 'utf8',
    input: '',
  });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^\d\d:\d\d:\d\d\.\d{3} WARN test: away \(broker=mqtt:\/\/me:\*\*\*@h:1883, /m);
  assert.match(stdout, /^ {2}Error: connect to mqtt:\/\/me:\*\*\*@h:1883/m);
  assert.doesNotMatch(stdout, /HuNtEr2|LoNgToKeN|^\{/m);
});

test('writes no control sequences to a terminal', () => {
  const event = {
    level: 'warn',
    time: '2026-01-01T00:00:00Z',
    name: 'ingest',
    msg: 'bad topic',
    topic: 'a\u001b]0;x\u0007\u009b',
  };
  assert.equal(
    readable(event, false),
    '00:00:00.000 WARN ingest: bad topic (topic=a\\u001b]0;x\\u0007\\u009b)\n',
  );
  const injected = { ...event, topic: 'a\n00:00:00.000 ERROR api: owned' };
  assert.match(readable(injected, false), /\(topic=a\\n00:00:00.000 ERROR api: owned\)\n$/);
  assert.equal(readable(injected, false).split('\n').length, 2, 'one line');
  assert.ok(readable(event, true).startsWith('00:00:00.000 \u001b[33mWARN\u001b[0m ingest'));
});
