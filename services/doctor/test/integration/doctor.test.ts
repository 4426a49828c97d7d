import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startMosquitto, temporaryDirectory } from '@tidegauge/lab';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { connectAsync } from 'mqtt';
import { askNtp } from '../../src/sntp.ts';
import { only } from '../support/findings.ts';
import { examineHere, runDoctor } from '../support/run-doctor.ts';

const started = await startOrSkip('mosquitto', () =>
  startMosquitto({ conf: ['max_inflight_messages 5', 'max_queued_messages 10', 'sys_interval 1'] }),
);
const skip = 'skip' in started ? started.skip : false;
const broker = 'server' in started ? started.server : null;
after(() => broker?.stop());

const temporary = temporaryDirectory('doctor');
after(() => temporary.remove());

test('a disk is measured with real writes, and nothing is left on it', async () => {
  const directory = join(temporary.path, 'data');
  mkdirSync(directory);
  const { findings } = await examineHere(['--data', directory]);
  const fsync = findings.find(({ check }) => check === 'disk.fsync')!;
  assert.match(fsync.says, /^fsync takes .* at most [\d,]+ commits\/s/);
  assert.deepEqual(readdirSync(directory), []);
});

test('a directory that is not there, and one in memory, are told', async () => {
  const missing = await examineHere(['--data', join(temporary.path, 'no', 'such')]);
  only(missing.findings, 'disk.directory', 'warning');
  const { findings } = await examineHere(['--data', '/dev/shm']);
  assert.match(only(findings, 'disk.filesystem', 'error').says, /tmpfs is memory/);
});

test('this machine is told as it is', async () => {
  const { findings, host } = await examineHere(['--data', temporary.path]);
  assert.ok(host.length > 0);
  assert.match(
    only(findings, 'processor.kind', 'ok').says,
    new RegExp(`${process.arch === 'x64' ? 'x86_64' : 'aarch64'}`),
  );
  assert.match(only(findings, 'memory.total', 'ok').says, /GiB/);
  assert.match(findings.find(({ check }) => check === 'kernel.page-size')!.says, /pages of \d+ KiB/);
});

test("a real mosquitto's own bound on messages in flight is set against the wanted rate", {
  skip,
}, async () => {
  const { findings } = await examineHere([
    '--broker',
    broker!.url,
    '--rate',
    '100000',
    '--data',
    temporary.path,
  ]);
  assert.match(only(findings, 'broker.connection', 'ok').says, /mosquitto version .*, 5 messages in flight/);
  const ceiling = only(findings, 'broker.ceiling', 'error');
  assert.match(ceiling.says, / 5 in flight \(max_inflight_messages\).*less than the wanted 100,000\/s/);
});

test('what mosquitto dropped while saying yes is seen', { skip }, async () => {
  const sleeper = await connectAsync(broker!.url, { clientId: 'sleeper', clean: false });
  await sleeper.subscribeAsync('t', { qos: 1 });
  await sleeper.endAsync();
  const publisher = await connectAsync(broker!.url);
  // $SYS tells of it a second later; one more look then.
  await publisher.subscribeAsync('$SYS/broker/publish/messages/dropped');
  const told = new Promise<void>((resolve) =>
    publisher.on('message', (_topic, payload) => Number(payload) > 0 && resolve()),
  );
  for (let number = 0; number < 30; number++) await publisher.publishAsync('t', `${number}`, { qos: 1 });
  await told;
  await publisher.endAsync();
  const { findings } = await examineHere(['--broker', broker!.url, '--data', temporary.path]);
  assert.match(only(findings, 'broker.dropped', 'warning').says, /messages dropped since it started/);
});

test('a running ingest tells how long its commits take', { skip }, async (context) => {
  const ingest = await startIngestProcess({
    BROKER: broker!.url,
    STORE: `sqlite:${join(temporary.path, 'readings.db')}`,
    DATA_DIR: join(temporary.path, 'ingest'),
  });
  context.after(() => ingest.stop());
  const publisher = await connectAsync(broker!.url);
  await publisher.publishAsync('sensors/a/temperature', '21.5', { qos: 1 });
  await publisher.endAsync();
  await ingest.until(({ readings }) => readings.stored > 0, 60_000);
  const args = ['--ingest', ingest.url, '--rate', '1', '--data', temporary.path];
  const { findings } = await examineHere(args);
  assert.match(only(findings, 'broker.ceiling', 'ok').says, /commit, mean of the running ingest/);
  only(findings, 'clock.offset', 'ok');
});

test('a broker, an ingest or a store that does not answer is an error, and the rest is looked at all the same', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const { findings } = await examineHere([
    ...['--broker', `mqtt://127.0.0.1:${port}`, '--ingest', `http://127.0.0.1:${port}`],
    ...['--store', `postgres://u:secret@127.0.0.1:${port}/db`, '--data', temporary.path],
  ]);
  assert.match(only(findings, 'broker.connection', 'error').says, /ECONNREFUSED/);
  assert.match(only(findings, 'ingest.metrics', 'error').says, /ECONNREFUSED/);
  only(findings, 'store.health', 'error');
  only(findings, 'memory.total', 'ok');
  assert.ok(!JSON.stringify(findings).includes('secret'));
});

/** An NTP server whose clock is off by `offset` seconds (RFC 4330, section 5); or one that has no time. */
async function startNtp(offset: number, stratum = 2): Promise<{ server: string; stop: () => void }> {
  const socket = createSocket('udp4');
  socket.on('message', (request, { port, address }) => {
    const answer = Buffer.alloc(48);
    answer[0] = (4 << 3) | 4;
    answer[1] = stratum;
    request.copy(answer, 24, 40, 48);
    for (const at of [32, 40]) {
      const now = Date.now() / 1000 + offset + 2_208_988_800;
      answer.writeUInt32BE(Math.floor(now), at);
      answer.writeUInt32BE(Math.floor((now % 1) * 2 ** 32), at + 4);
    }
    socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { server: `127.0.0.1:${socket.address().port}`, stop: () => socket.close() };
}

test("a clock is compared with a time server's", async (context) => {
  const right = await startNtp(0);
  const late = await startNtp(-3600);
  context.after(() => [right, late].forEach(({ stop }) => void stop()));
  const agrees = await examineHere(['--ntp', right.server, '--data', temporary.path]);
  only(agrees.findings, 'clock.offset', 'ok');
  const { findings } = await examineHere(['--ntp', late.server, '--data', temporary.path]);
  assert.match(only(findings, 'clock.offset', 'error').says, /60 min ahead of NTP server/);
});

test('a time server that has no time, or does not answer, proves nothing', async (context) => {
  const lost = await startNtp(0, 0);
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  context.after(() => [lost.stop(), silent.close()]);
  await once(silent, 'listening');
  assert.equal((await askNtp(lost.server)).why, 'it has no time itself');
  assert.equal((await askNtp(`127.0.0.1:${silent.address().port}`)).why, 'no answer within 3 s');
});

test('exit codes tell fine, findings and wrong usage apart', async () => {
  const quick = ['--docker-host', 'none', '--disk-time', '100ms', '--data', temporary.path];
  const relaxed = await runDoctor(quick);
  // What this machine itself lacks is not known here: errors fail, warnings and unknowns do not.
  const errors = relaxed.stdout.match(/^ERROR /gm)?.length ?? 0;
  assert.equal(relaxed.code, errors === 0 ? 0 : 1, relaxed.stdout);
  assert.match(relaxed.stdout, /^ok {5}memory\.total/m);
  assert.match(
    relaxed.stdout,
    new RegExp(`: ${errors === 0 ? 'passed' : 'not passed'} \\(${errors} error, `),
  );
  assert.match(relaxed.stdout, /^not looked at: .*--rate/m);
  const strict = await runDoctor([...quick, '--strict', '--data', join(temporary.path, 'none')]);
  assert.equal(strict.code, 1);
  assert.match(strict.stdout, /^warn {3}disk\.directory .* -> run stacks\/bin\/board/m);
  assert.equal((await runDoctor([...quick, '--data', '/dev/shm'])).code, 1);
  const wrong = await runDoctor(['--store', 'oracle', '--profile', '3gb']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /there is no store "oracle"/);
  assert.match(wrong.stderr, /--profile must be one of 1gb, 2gb, 4gb, 8gb.*; got "3gb"/);
});

test('an engine that is not there is one finding with its mend', async () => {
  const socket = join(temporary.path, 'none.sock');
  const { code, stdout } = await runDoctor([
    '--docker-host',
    `unix://${socket}`,
    '--disk-time',
    '100ms',
    '--json',
  ]);
  assert.equal(code, 1);
  const { findings } = JSON.parse(stdout);
  assert.match(only(findings, 'docker.engine', 'error').says, /no Docker engine answers at .* \(ENOENT\)/);
  const { stdout: other } = await runDoctor([
    '--docker-host',
    'ssh://board',
    '--disk-time',
    '100ms',
    '--json',
  ]);
  assert.match(
    only(JSON.parse(other).findings, 'docker.engine', 'error').says,
    /ssh:\/\/board is not understood/,
  );
});
