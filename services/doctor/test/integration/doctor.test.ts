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
import { queryNtp } from '../../src/sntp.ts';
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

test('a disk is measured with real writes, and no file is left', async () => {
  const directory = join(temporary.path, 'data');
  mkdirSync(directory);
  const { findings } = await examineHere(['--data', directory]);
  const fsync = findings.find(({ check }) => check === 'disk.fsync')!;
  assert.match(fsync.message, /^fsync takes .* at most [\d,]+ commits\/s/);
  assert.deepEqual(readdirSync(directory), []);
});

test('a missing directory and a directory in memory are reported', async () => {
  const missing = await examineHere(['--data', join(temporary.path, 'no', 'such')]);
  only(missing.findings, 'disk.directory', 'warning');
  const { findings } = await examineHere(['--data', '/dev/shm']);
  assert.match(only(findings, 'disk.filesystem', 'error').message, /tmpfs is in memory/);
});

test('the files of the stacks and TIDEGAUGE_DATA cause no finding about queues and /var/lib', async () => {
  const { findings } = await examineHere(['--store', 'postgres'], { TIDEGAUGE_DATA: temporary.path });
  only(findings, 'broker.persistence', 'ok');
  assert.match(findings.find(({ check }) => check === 'disk.directory')!.message, new RegExp(temporary.path));
  assert.doesNotMatch(JSON.stringify(findings), /\/var\/lib\/tidegauge/);
});

test('this machine is described correctly', async () => {
  const { findings, host } = await examineHere(['--data', temporary.path]);
  assert.ok(host.length > 0);
  assert.match(
    only(findings, 'processor.kind', 'ok').message,
    new RegExp(`${process.arch === 'x64' ? 'x86_64' : 'aarch64'}`),
  );
  assert.match(only(findings, 'memory.total', 'ok').message, /GiB/);
  assert.match(findings.find(({ check }) => check === 'kernel.page-size')!.message, /pages of \d+ KiB/);
});

test('the limit of a real mosquitto on messages in flight is compared with the required rate', {
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
  assert.match(
    only(findings, 'broker.connection', 'ok').message,
    /mosquitto version .*, 5 messages in flight/,
  );
  const ceiling = only(findings, 'broker.ceiling', 'error');
  assert.match(ceiling.message, / 5 in flight \(max_inflight_messages\).*less than the required 100,000\/s/);
});

test('messages that mosquitto dropped after it acknowledged them are reported', { skip }, async () => {
  const sleeper = await connectAsync(broker!.url, { clientId: 'sleeper', clean: false });
  await sleeper.subscribeAsync('t', { qos: 1 });
  await sleeper.endAsync();
  const publisher = await connectAsync(broker!.url);
  // Mosquitto publishes the number of dropped messages in $SYS up to a second later.
  await publisher.subscribeAsync('$SYS/broker/publish/messages/dropped');
  const dropped = new Promise<void>((resolve) =>
    publisher.on('message', (_topic, payload) => Number(payload) > 0 && resolve()),
  );
  for (let number = 0; number < 30; number++) await publisher.publishAsync('t', `${number}`, { qos: 1 });
  await dropped;
  await publisher.endAsync();
  const { findings } = await examineHere(['--broker', broker!.url, '--data', temporary.path]);
  assert.match(only(findings, 'broker.dropped', 'warning').message, /messages dropped since it started/);
});

test('the commit times of a running ingest are used', { skip }, async (context) => {
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
  assert.match(only(findings, 'broker.ceiling', 'ok').message, /commit, mean of the running ingest/);
  only(findings, 'clock.offset', 'ok');
});

test('a broker, an ingest or a store that does not answer is an error, and all other checks still run', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const { findings } = await examineHere([
    ...['--broker', `mqtt://127.0.0.1:${port}`, '--ingest', `http://127.0.0.1:${port}`],
    ...['--store', `postgres://u:secret@127.0.0.1:${port}/db`, '--data', temporary.path],
  ]);
  assert.match(only(findings, 'broker.connection', 'error').message, /ECONNREFUSED/);
  assert.match(only(findings, 'ingest.metrics', 'error').message, /ECONNREFUSED/);
  only(findings, 'store.health', 'error');
  only(findings, 'memory.total', 'ok');
  assert.ok(!JSON.stringify(findings).includes('secret'));
});

/** Starts an NTP server whose clock is wrong by `offset` seconds (RFC 4330, section 5), or that has no time. */
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

test('a clock is compared with that of a time server', async (context) => {
  const right = await startNtp(0);
  const late = await startNtp(-3600);
  context.after(() => [right, late].forEach(({ stop }) => void stop()));
  const agrees = await examineHere(['--ntp', right.server, '--data', temporary.path]);
  only(agrees.findings, 'clock.offset', 'ok');
  const { findings } = await examineHere(['--ntp', late.server, '--data', temporary.path]);
  assert.match(only(findings, 'clock.offset', 'error').message, /60 min ahead of NTP server/);
});

test('a time server that is not synchronised, or does not answer, gives no comparison', async (context) => {
  const lost = await startNtp(0, 0);
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  context.after(() => [lost.stop(), silent.close()]);
  await once(silent, 'listening');
  assert.equal((await queryNtp(lost.server)).why, 'it is not synchronised itself');
  assert.equal((await queryNtp(`127.0.0.1:${silent.address().port}`)).why, 'no answer within 3 s');
});

test('exit codes distinguish success, findings and bad usage', async () => {
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
  assert.match(relaxed.stdout, /^not checked: .*--rate/m);
  const strict = await runDoctor([...quick, '--strict', '--data', join(temporary.path, 'none')]);
  assert.equal(strict.code, 1);
  assert.match(strict.stdout, /^warn {3}disk\.directory .* -> run stacks\/bin\/board/m);
  assert.equal((await runDoctor([...quick, '--data', '/dev/shm'])).code, 1);
  const wrong = await runDoctor(['--store', 'oracle', '--profile', '3gb']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /there is no store "oracle"/);
  assert.match(wrong.stderr, /--profile must be one of 1gb, 2gb, 4gb, 8gb.*; got "3gb"/);
});

test('an engine that does not run is one finding with its fix', async () => {
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
  assert.match(only(findings, 'docker.engine', 'error').message, /no Docker engine answers at .* \(ENOENT\)/);
  const { stdout: other } = await runDoctor([
    '--docker-host',
    'ssh://board',
    '--disk-time',
    '100ms',
    '--json',
  ]);
  assert.match(
    only(JSON.parse(other).findings, 'docker.engine', 'error').message,
    /ssh:\/\/board is not the address of a Docker engine/,
  );
});
