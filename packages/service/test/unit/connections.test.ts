import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf, type HttpLimits, listen } from '@tidegauge/service';

async function serve(t: TestContext, app: RequestListener, limits: Partial<HttpLimits>) {
  const server = await listen(app, '127.0.0.1', 0, 'the test', null, limits);
  t.after(() => server.close(0));
  /** Opens a connection from the given loopback address. The connection collects the text that it receives. */
  const open = async (from = '127.0.0.1') => {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: from });
    t.after(() => socket.destroy());
    const client = { socket, text: '', ended: false };
    socket.setEncoding('latin1').on('data', (part: string) => {
      client.text += part;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      client.ended = true;
    });
    await once(socket, 'connect');
    return client;
  };
  return { server, open };
}

const hello: RequestListener = (_request, response) => void response.end('hello');

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`waited ten seconds for ${what}`);
    await sleep(5);
  }
}

function get(socket: Socket, times = 1): void {
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(times));
}

// Most of their time is waiting for limits of time.
describe('a server', { concurrency: true }, () => {
  test('the kernel gives its connections to several acceptors', async (t) => {
    const { server, open } = await serve(t, hello, {});
    // State 0A of proc(5) is TCP_LISTEN.
    const listening = `:${server.port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`;
    const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
    assert.ok(lines.filter((line) => line.includes(listening)).length > 1);
    const clients = await Promise.all(Array.from({ length: 50 }, () => open()));
    for (const { socket } of clients) get(socket);
    await until('the answers', () => clients.every(({ text }) => text.includes('hello')));
  });

  test('pipelined requests are answered in order, one at a time', async (t) => {
    let atOnce = 0;
    let most = 0;
    let count = 0;
    const { open } = await serve(
      t,
      async (_request, response) => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        await sleep(1);
        atOnce -= 1;
        response.end(`<${count++}>`);
      },
      {},
    );
    const client = await open();
    get(client.socket, 200);
    await until('200 answers', () => client.text.includes('<199>'));
    const order = [...client.text.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number));
    assert.deepEqual(order, [...order.keys()]);
    assert.equal(most, 1);
  });

  test('too many pipelined requests end their own connection, and no other', async (t) => {
    const { open } = await serve(
      t,
      (_request, response) => void setTimeout(() => response.end('hello'), 50),
      {
        pipelinedPerClient: 10 * 2200,
        pipelinedBytes: 15 * 2200,
      },
    );
    const honest = await open('127.0.0.2');
    const greedy = await open();
    get(greedy.socket, 12);
    await until('the end of the greedy connection', () => greedy.ended);
    get(honest.socket, 3);
    await until('three answers', () => honest.text.match(/hello/g)?.length === 3);
    // The capacity that the connection used is free again.
    const again = await open();
    get(again.socket, 11);
    await until('eleven answers', () => again.text.match(/hello/g)?.length === 11);
  });

  test('requests that wait count with their headers', async (t) => {
    const { open } = await serve(
      t,
      (_request, response) => void setTimeout(() => response.end('hello'), 50),
      { pipelinedPerClient: 20_000, pipelinedBytes: 40_000 },
    );
    const greedy = await open();
    const large = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(12_000)}\r\n\r\n`;
    greedy.socket.write(large.repeat(2));
    await until('two answers', () => greedy.text.match(/hello/g)?.length === 2);
    greedy.socket.write(large.repeat(3));
    await until('the end of the greedy connection', () => greedy.ended);
  });

  test('requests that wait count with each of their headers', async (t) => {
    const { open } = await serve(
      t,
      (_request, response) => void setTimeout(() => response.end('hello'), 50),
      { pipelinedPerClient: 20_000, pipelinedBytes: 40_000 },
    );
    const greedy = await open();
    const many = `GET / HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(90)}\r\n`;
    greedy.socket.write(many.repeat(3));
    await until('the end of the greedy connection', () => greedy.ended);
  });

  test('a request with too many headers is refused', async (t) => {
    let reached = 0;
    const app: RequestListener = (_request, response) => {
      reached += 1;
      response.end('hello');
    };
    const { open } = await serve(t, app, {});
    const request = (headers: number) => `GET / HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(headers - 1)}\r\n`;
    const client = await open();
    client.socket.write(request(100));
    await until('an answer', () => client.text.includes('hello'));
    client.socket.write(request(101));
    await until('the end', () => client.ended);
    assert.match(client.text, /400 [\s\S]*application\/problem\+json[\s\S]*more than 100 headers/);
    assert.equal(reached, 1);
  });

  test('half-open connections are closed in favour of new ones, of the same client and of others', async (t) => {
    const { open } = await serve(t, hello, { connections: 20, perClient: 15 });
    for (const from of ['127.0.0.1', '127.0.0.3']) {
      for (let n = 0; n < 40; n += 1) (await open(from)).socket.write('GET / HTTP/1.1\r\nX-');
    }
    for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      const honest = await open(from);
      get(honest.socket);
      await until(`an answer for ${from}`, () => honest.text.includes('hello'));
    }
  });

  test('a client with a pending request on each allowed connection gets no more, but other clients do', async (t) => {
    const { open } = await serve(
      t,
      (request, response) => void (request.socket.remoteAddress === '127.0.0.2' && response.end('hello')),
      { connections: 10, perClient: 10 },
    );
    const busy = [];
    for (let n = 0; n < 10; n += 1) {
      const client = await open();
      get(client.socket);
      busy.push(client);
    }
    await sleep(50);
    const refused = await open();
    await until('the refusal', () => refused.ended);
    assert.ok(busy.every(({ ended }) => !ended));
    const honest = await open('127.0.0.2');
    get(honest.socket);
    await until('an answer', () => honest.text.includes('hello'));
    assert.equal(busy.filter(({ ended }) => ended).length, 1);
  });

  test('a body that stops is answered with 408 in time, and a slow body at the time limit of a request', async (t) => {
    const { open } = await serve(t, (request) => void request.resume(), { stallMs: 500, requestMs: 3000 });
    const [stalled, trickles] = [await open(), await open()];
    for (const { socket } of [stalled, trickles])
      socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx');
    const drip = setInterval(() => trickles.socket.write('x'), 50);
    t.after(() => clearInterval(drip));
    await until('the end of the stalled body', () => stalled.ended);
    assert.ok(!trickles.ended, 'in time');
    assert.match(stalled.text, /^HTTP\/1\.1 408 .*stood still for 0\.5 s/s);
    await until('the end of the trickling body', () => trickles.ended);
    // A byte that arrives after the end resets the connection, and the answer can be lost (RFC 9112, section 9.6).
    assert.match(trickles.text, /^(HTTP\/1\.1 408 |$)/);
  });

  test('headers that do not end are cut off at the time limit', async (t) => {
    const { open } = await serve(t, hello, { headersMs: 300 });
    const client = await open();
    const started = performance.now();
    client.socket.write('GET / HTTP/1.1\r\n');
    const drip = setInterval(() => client.socket.write('X-A: 1\r\n'), 50);
    t.after(() => clearInterval(drip));
    await until('the end', () => client.ended);
    assert.ok(performance.now() - started < 3000);
  });
});

// Not with the others: its 32 MB delay them.
test('a client that does not read is disconnected; one with a slow handler or a silent stream is not', async (t) => {
  const { open } = await serve(
    t,
    (request, response) => {
      if (request.url === '/large') response.end(Buffer.alloc(32 * 2 ** 20));
      else if (request.url === '/slow') setTimeout(() => response.end('late'), 700);
      else response.write('stream');
    },
    { stallMs: 200 },
  );
  const [reader, slow, stream] = [await open(), await open(), await open()];
  reader.socket.pause();
  reader.socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  slow.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  stream.socket.write('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('the late answer', () => slow.text.includes('late'));
  assert.match(stream.text, /stream/);
  assert.equal(stream.ended, false);
  reader.socket.resume();
  await until('the cut', () => reader.ended);
  assert.ok(reader.text.length < 32 * 2 ** 20);
});

test('addresses of one client count as one', () => {
  assert.equal(clientOf('192.0.2.7'), '192.0.2.7');
  assert.equal(clientOf('::ffff:192.0.2.7'), '192.0.2.7');
  assert.equal(clientOf('2001:db8:1:2::1'), clientOf('2001:db8:1:2:ffff::'));
  assert.notEqual(clientOf('2001:db8:1:2::1'), clientOf('2001:db8:1:3::1'));
  assert.notEqual(clientOf('2001:db8::1'), clientOf('2001:db9::1'));
  assert.equal(clientOf('fe80::1%eth0'), clientOf('fe80::2'));
});
