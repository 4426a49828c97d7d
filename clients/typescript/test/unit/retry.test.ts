import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { dataOf, ProblemError, TidegaugeClient } from '../../src/index.ts';
import { collect } from '../collect.ts';

/** An HTTP server that answers with each status in turn, and then with the last one. */
async function answering(t: TestContext, ...statuses: readonly number[]) {
  const seen: { path: string; authorization: string | undefined; at: number }[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url!, authorization: request.headers.authorization, at: performance.now() });
    const status = statuses[Math.min(seen.length, statuses.length) - 1]!;
    response.writeHead(status, status === 503 ? { 'Retry-After': '1' } : {});
    response.end(status === 200 ? '{"devices":[],"next":null}' : '<h1>Not from the API</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test('a request that fails temporarily is repeated after Retry-After, with the token', async (t) => {
  const { url, seen } = await answering(t, 503, 200);
  const devices = await collect(new TidegaugeClient({ url, token: 'tg_key' }).devices());
  assert.deepEqual(devices, []);
  assert.deepEqual(
    seen.map(({ authorization }) => authorization),
    ['Bearer tg_key', 'Bearer tg_key'],
  );
  assert.ok(seen[1]!.at - seen[0]!.at >= 990, 'Retry-After is one second');
});

test('a request is not repeated when it is refused, or when the time is over', async (t) => {
  for (const status of [401, 503]) {
    const { url, seen } = await answering(t, status);
    const devices = new TidegaugeClient({ url }).devices({ retryForMs: 0 });
    await assert.rejects(
      () => devices.next(),
      (error) => error instanceof ProblemError && error.status === status && error.problem === null,
    );
    assert.equal(seen.length, 1);
  }
});

test('the signal of the caller ends the wait between two tries', async (t) => {
  const { url } = await answering(t, 503);
  const signal = AbortSignal.timeout(100);
  await assert.rejects(() => new TidegaugeClient({ url }).devices({ signal }).next(), {
    name: 'TimeoutError',
  });
});

test('an address that is not of an API is refused with an example', () => {
  for (const url of ['127.0.0.1:8080', 'mqtt://127.0.0.1', 'http://', ''])
    assert.throws(() => new TidegaugeClient({ url }), /such as http:\/\/127\.0\.0\.1:8080/);
});

test('dataOf gives the data, or throws the problem of the API', () => {
  assert.equal(dataOf({ data: 1, response: new Response() }), 1);
  const problem = {
    type: 'about:blank',
    title: 'Not found',
    status: 404,
    detail: 'There is no device a.',
    instance: '/',
  };
  assert.throws(() => dataOf({ error: problem, response: new Response(null, { status: 404 }) }), {
    message: 'Not found (404): There is no device a.',
    problem,
  });
});
