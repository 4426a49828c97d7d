import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerMemory, createLogger, listen, problemHandler } from '@tidegauge/service';
import express from 'express';

/** More than the buffers of the kernel on both sides hold. */
const BYTES = 16 * 2 ** 20;

test('large answers that clients do not read are bounded, of one client and of all', async (t) => {
  let late = 0;
  const app = express();
  const memory = new AnswerMemory(3.2 * BYTES);
  memory.bound(app);
  app.get('/large', (_request, response) => {
    // Before the answer is made. It counts once.
    memory.reserve(response, 0.9 * BYTES);
    response.json('x'.repeat(BYTES - 2));
  });
  app.get('/late', async (_request, response) => {
    await once(response, 'close');
    response.json('x'.repeat(BYTES));
    late += 1;
  });
  app.get('/small', (_request, response) => void response.json('x'));
  app.use(problemHandler(createLogger('test', 'silent')));
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  /** Requests a page, and reads the first line of the answer only. */
  const ask = async (from: string, path = '/large'): Promise<{ socket: Socket; status: number }> => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: from });
    t.after(() => socket.destroy());
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    const [line] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return { socket, status: Number(String(line.subarray(9, 12))) };
  };

  // Clients that leave before their answer need none.
  for (const from of ['127.0.0.4', '127.0.0.5', '127.0.0.6']) {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress: from });
    socket.write('GET /late HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await once(socket, 'connect');
    await sleep(20);
    socket.destroy();
  }
  for (let turn = 0; late < 3 && turn < 500; turn += 1) await sleep(10);
  assert.equal(late, 3);

  const held = await ask('127.0.0.1');
  assert.equal(held.status, 200);
  assert.equal((await ask('127.0.0.1')).status, 503, 'of this client');
  assert.equal((await ask('127.0.0.2')).status, 200, 'of another one');
  assert.equal((await ask('127.0.0.3')).status, 503, 'of all');
  assert.equal((await ask('127.0.0.1', '/small')).status, 200, 'a small one');
  held.socket.destroy();
  for (let turn = 0; (await ask('127.0.0.1')).status === 503; turn += 1)
    assert.ok(turn < 500, 'the memory of a connection that ended');
});
