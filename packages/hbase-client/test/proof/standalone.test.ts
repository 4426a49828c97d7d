import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startHbase } from '@tidegauge/lab/hbase';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { Cluster } from '../../src/cluster.ts';
import { Deadline } from '../../src/deadline.ts';
import { HBaseClient, type HBaseClientOptions, HBaseError } from '../../src/index.ts';
import { readOptions } from '../../src/options.ts';
import { describeAdmin } from '../support/admin-suite.ts';
import { describeData } from '../support/data-suite.ts';
import { describeRows } from '../support/rows-suite.ts';

const CONNECT_MS = 1500;

/** Opens a client, which must fail within the connect timeout. Resolves to the error. */
async function openFails(options: HBaseClientOptions): Promise<HBaseError> {
  const client = new HBaseClient({ connectTimeoutMs: CONNECT_MS, ...options });
  const started = performance.now();
  const error = await client.open().then(
    () => assert.fail('it opened'),
    (reason: unknown) => reason,
  );
  // Twice the timeout, for a busy machine.
  assert.ok(performance.now() - started < 2 * CONNECT_MS);
  client.close();
  assert.ok(error instanceof HBaseError, String(error));
  return error;
}

/** Listens on loopback, and passes every chunk to `answer`. */
async function listener(
  answer: (socket: Socket, chunk: Buffer) => void,
): Promise<{ place: string; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => answer(socket, chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { place: `127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe('open fails within the connect timeout and names the host', () => {
  test('when the port is closed', async () => {
    const { place, server } = await listener(() => {});
    server.close();
    await once(server, 'close');
    const error = await openFails({ zookeeper: place });
    assert.equal(error.code, 'UNREACHABLE');
    assert.match(error.message, new RegExp(`${place}.*ECONNREFUSED`));
    assert.match((await openFails({ masters: place })).message, new RegExp(place));
  });

  test('when the host name cannot be resolved', async () => {
    const error = await openFails({ zookeeper: 'nosuchhost.invalid' });
    assert.equal(error.code, 'UNREACHABLE');
    assert.match(error.message, /nosuchhost\.invalid:2181/);
  });

  test('when a server, or each of two servers, does not answer', async () => {
    const { place, server } = await listener(() => {});
    const error = await openFails({ zookeeper: [place, place] });
    assert.equal(error.code, 'UNREACHABLE');
    assert.match(error.message, new RegExp(`${place}: no answer within \\d+ ms; ${place}`));
    const master = await openFails({ masters: place });
    assert.equal(master.code, 'UNREACHABLE');
    assert.match(master.message, new RegExp(place));
    server.close();
  });

  test('when the server uses another protocol', async () => {
    const { place, server } = await listener((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    for (const options of [{ zookeeper: place }, { masters: place }]) {
      const error = await openFails(options);
      assert.match(error.message, new RegExp(`${place}.* does not use the`));
    }
    server.close();
  });

  test('when the HBase that ZooKeeper names is too old', async () => {
    // The two answers of a real ZooKeeper, with another version.
    const { place, server } = await listener(oldZooKeeper);
    const error = await openFails({ zookeeper: place });
    assert.equal(error.code, 'UNSUPPORTED_SERVER');
    assert.equal(error.message, 'rs1:16020 is HBase 1.7.2');
    assert.match(error.hint ?? '', /2\.4 or later/);
    server.close();
  });
});

// Its tables have about a hundred regions, each with a buffer of 2 MB when it has data.
const started = await startOrSkip('hbase', () => startHbase({ heapMegabytes: 512 }));
if ('skip' in started) {
  describe('a real HBase', { skip: started.skip });
} else {
  const { server } = started;
  after(() => server.stop());
  const zookeeper = `127.0.0.1:${server.port}`;

  describeAdmin('HBase 2.6.1', () => server.port);
  describeData('a standalone HBase', () => server);
  describeRows('a standalone HBase', () => server);

  describe('a real HBase', () => {
    test('is found through its masters too', async () => {
      const client = new HBaseClient({ zookeeper });
      const cluster = new Cluster(readOptions({ zookeeper }));
      const { host, port } = await cluster.registry.activeMaster(Deadline.after(10_000));
      cluster.close();
      const other = new HBaseClient({ masters: `${host}:${port}` });
      await other.open();
      await other.admin.createTable('by_masters', { families: { f: {} } });
      await other.table('by_masters').put('r', [{ family: 'f', qualifier: 'q', value: 'v' }]);
      assert.equal(await client.table('by_masters').exists('r'), true);
      client.close();
      other.close();
    });

    test('is not found under another znode, and the error contains the path', async () => {
      const error = await openFails({ zookeeper, znodeParent: '/elsewhere' });
      assert.equal(error.code, 'UNAVAILABLE');
      assert.match(error.message, /there is no \/elsewhere/);
      assert.match(error.hint ?? '', /zookeeper\.znode\.parent/);
    });

    test('leaves no timer or socket in the client after close', async () => {
      const program = `
        import { HBaseClient } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)};
        const client = new HBaseClient({ zookeeper: ${JSON.stringify(zookeeper)} });
        await client.admin.createTable('closing', { families: { f: {} } });
        const table = client.table('closing');
        for (let row = 0; row < 300; row += 1) {
          await table.put(String(row), [{ family: 'f', qualifier: 'q', value: 'v' }]);
        }
        const scan = table.scan({ pageRows: 10 });
        await scan.next();
        const codes = [table.get('1'), table.increment('1', 'f', 'n', 1), scan.next()].map((call) =>
          call.then(() => 'answered', (error) => error.code));
        client.close();
        client.close();
        console.log((await Promise.all(codes)).join());
        const late = await table.get('1').catch((error) => error.code);
        const left = () => process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|Immediate/.test(name));
        // A socket closes after some turns of the event loop.
        for (let turn = 0; turn < 20 && left().length > 0; turn += 1) await new Promise(setImmediate);
        console.log(late, left().length, left().join());
      `;
      const args = ['--input-type=module-typescript', '--eval', program];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
      const [codes, late] = stdout.split('\n').map((line) => line.trim());
      // A page that was read before the close can still be returned.
      assert.match(codes!, /^CLOSED,(CLOSED|OUTCOME_UNKNOWN),(CLOSED|answered)$/);
      assert.equal(late, 'CLOSED 0');
    });
  });
}

/** Sends a ConnectResponse, then a GetDataResponse per request: the server of hbase:meta, `/hbase`, its version. */
function oldZooKeeper(socket: Socket, chunk: Buffer): void {
  for (let at = 0; at < chunk.length; at += 4 + chunk.readInt32BE(at)) {
    const request = chunk.subarray(at + 4, at + 4 + chunk.readInt32BE(at));
    // A ConnectRequest begins with protocol version 0, other requests with their number, from 1.
    if (request.readInt32BE(0) === 0 && request.length > 40) {
      const session = Buffer.alloc(37);
      session.writeInt32BE(10_000, 4);
      session.writeInt32BE(16, 16);
      socket.write(framed(session));
      continue;
    }
    if (request.readInt32BE(4) !== 4) continue;
    const path = request.subarray(12, 12 + request.readInt32BE(8)).toString();
    const server = Buffer.concat([text(1, 'rs1'), Buffer.from([0x10, 0x94, 0x7d, 0x18, 0x07])]);
    const version = Buffer.concat([
      ...[text(1, '1.7.2'), text(2, ''), text(3, ''), text(4, ''), text(5, ''), text(6, '')],
    ]);
    const data = path.endsWith('/meta-region-server')
      ? znode(message(1, server))
      : path.includes('/rs/')
        ? znode(message(2, version))
        : Buffer.alloc(0);
    const header = Buffer.alloc(20);
    header.writeInt32BE(request.readInt32BE(0), 0);
    header.writeInt32BE(data.length, 16);
    socket.write(framed(Buffer.concat([header, data, Buffer.alloc(68)])));
  }
}

function framed(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** Adds the prefix that HBase writes before the content of its znodes. */
function znode(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xff, 0, 0, 0, 2]), Buffer.from('idPBUF'), message]);
}

function message(field: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2, body.length]), body]);
}

function text(field: number, value: string): Buffer {
  return message(field, Buffer.from(value));
}
