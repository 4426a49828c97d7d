import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listen } from '@tidegauge/service';
import express from 'express';

/** Sends requests on one connection, of which the last one closes it. Returns the answers. */
async function send(t: TestContext, app: RequestListener, requests: string): Promise<string> {
  const server = await listen(app, '127.0.0.1', 0, 'the test');
  t.after(() => server.close(0));
  const socket = connect(server.port, '127.0.0.1');
  t.after(() => socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  socket.write(requests);
  await once(socket, 'close');
  return text;
}

function chunked(method: string, parts: readonly string[]): string {
  const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
  const headers = `Host: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
  return `${method} / HTTP/1.1\r\n${headers}${chunks}0\r\n\r\n`;
}

test('a body of many short chunks is whole, and has few parts', async (t) => {
  const sizes: number[] = [];
  let body = '';
  const app = express();
  app.post('/', (request, response) => {
    request.on('data', (part: Buffer) => {
      sizes.push(part.length);
      body += part;
    });
    request.once('end', () => response.end());
  });
  const short = Array.from({ length: 10_000 }, (_, index) => String(index % 10));
  const parts = [...short, 'x'.repeat(9000), 'y'];
  await send(t, app, chunked('POST', parts));
  assert.equal(body, parts.join(''));
  assert.deepEqual(sizes, [1, 1, 1, 1, 1, 1, 1, 1, 4096, 4096, 4096, 4096, 2609]);
});

test('long parts are not copied, and a short body is passed on as it arrives', async (t) => {
  const sizes: number[] = [];
  const app: RequestListener = (request, response) => {
    request.on('data', (part: Buffer) => sizes.push(part.length));
    request.once('end', () => response.end());
  };
  await send(t, app, chunked('POST', ['a', ...Array.from({ length: 10 }, () => 'x'.repeat(5000)), 'b']));
  assert.deepEqual(sizes, [1, ...Array.from({ length: 10 }, () => 5000), 1]);
});

test('the body of a GET is dropped, also while nothing reads it', async (t) => {
  let kept = -1;
  const app: RequestListener = (request, response) => {
    setTimeout(() => {
      kept = request.readableLength;
      response.end('answered');
    }, 50);
  };
  const answer = await send(
    t,
    app,
    chunked(
      'GET',
      Array.from({ length: 2000 }, () => 'x'),
    ),
  );
  assert.match(answer, /200 OK[\s\S]*answered/);
  assert.equal(kept, 0);
});
