import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { type TestContext, test } from 'node:test';
import express from 'express';
import {
  Access,
  createLogger,
  isSafe,
  type Logger,
  listen,
  Metrics,
  notFound,
  problemHandler,
} from '../../../src/index.ts';

const TOKEN = 'LoNgToKeN-LoNgToKeN';

/** Starts a server with logins and a clock that the test controls. */
async function serve(context: TestContext) {
  const clock = { ms: 1_000_000 };
  const lines: object[] = [];
  const silent = createLogger('test', 'silent');
  const logger = Object.assign(Object.create(silent) as Logger, {
    warn: (fields: object) => lines.push(fields),
  });
  const metrics = new Metrics();
  const access = new Access({
    token: TOKEN,
    variable: 'API_TOKEN',
    required: true,
    openReads: true,
    logger,
    metrics,
    now: () => clock.ms,
  });
  const app = express();
  app.use(
    access.guard(({ method }) => ({ scope: isSafe(method!) ? 'read' : 'write', limitsDevices: false })),
  );
  app.all('/x', (_request, response) => void response.json({}));
  app.use(notFound, problemHandler(silent));
  const server = await listen(app, '0.0.0.0', 0, 'PORT');
  context.after(() => server.close(0));
  /** Sends a request from the given address of this machine. */
  const send = async (from: string, token: string | null, method = 'POST') => {
    const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
    const sent = request({
      host: '127.0.0.1',
      port: server.port,
      path: '/x',
      localAddress: from,
      method,
      headers,
    });
    sent.end();
    const [answer] = await once(sent, 'response');
    answer.resume();
    return { status: answer.statusCode as number, retryAfter: Number(answer.headers['retry-after']) };
  };
  const statuses = async (count: number, from: string, token: string | null) => {
    const found: number[] = [];
    for (let n = 0; n < count; n++) found.push((await send(from, token)).status);
    return found;
  };
  const failures = async (reason: string) =>
    Number(new RegExp(`login_failures_total\\{reason="${reason}"\\} (\\d+)`).exec(await metrics.text())?.[1]);
  return { clock, lines, send, statuses, failures };
}

test('wrong tokens are refused, logged without the token, counted, and throttled for their address only', async (context) => {
  const { clock, lines, send, statuses, failures } = await serve(context);
  assert.deepEqual(await statuses(10, '127.0.0.2', 'wrong-HuNtEr2'), new Array(10).fill(401));
  const refused = await send('127.0.0.2', 'wrong-HuNtEr2');
  assert.equal(refused.status, 429);
  assert.ok(refused.retryAfter >= 1 && refused.retryAfter <= 7, String(refused.retryAfter));
  // A client behind the same router has logged in never before.
  assert.equal((await send('127.0.0.2', TOKEN)).status, 200);
  assert.equal((await send('127.0.0.2', 'wrong-HuNtEr2')).status, 429);
  assert.equal((await send('127.0.0.2', null, 'GET')).status, 200);
  assert.equal((await send('127.0.0.3', TOKEN)).status, 200);
  assert.deepEqual(
    [await failures('wrong'), await failures('throttled'), await failures('missing')],
    [10, 2, 0],
  );
  assert.equal(lines.length, 10);
  assert.match(JSON.stringify(lines[9]), /"client":"127\.0\.0\.2","method":"POST","path":"\/x"/);
  assert.doesNotMatch(JSON.stringify(lines), /HuNtEr2|LoNgToKeN/);
  clock.ms += refused.retryAfter * 1000;
  assert.equal((await send('127.0.0.2', 'wrong-HuNtEr2')).status, 401);
});

test('a client that has logged in is not throttled, regardless of other requests from its address', async (context) => {
  const { send, statuses } = await serve(context);
  assert.equal((await send('127.0.0.4', TOKEN)).status, 200);
  assert.deepEqual(await statuses(12, '127.0.0.4', 'wrong-wrong-wrong'), [
    ...new Array(10).fill(401),
    429,
    429,
  ]);
  assert.equal((await send('127.0.0.4', TOKEN)).status, 200);
});

test('a request without a token is answered with the name of the token, and is no guess', async (context) => {
  const { statuses, failures, lines } = await serve(context);
  assert.deepEqual(await statuses(15, '127.0.0.5', null), new Array(15).fill(401));
  assert.equal(await failures('missing'), 15);
  assert.equal(lines.length, 0);
});

test('the log of failed logins is bounded, and reports how many it left out', async (context) => {
  const { clock, lines, send } = await serve(context);
  for (let n = 0; n < 40; n++) await send(`127.0.1.${n + 1}`, 'wrong-wrong-wrong');
  assert.equal(lines.length, 30);
  clock.ms += 60_000;
  await send('127.0.1.1', 'wrong-wrong-wrong');
  assert.equal((lines[30] as { notLogged: number }).notLogged, 10);
});
