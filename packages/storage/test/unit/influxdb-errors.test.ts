import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rejection } from '../../conformance/data.ts';
import { createStore, DISK_FULL, openStore, type StoreErrorCode } from '../../src/index.ts';
import { answerError } from '../../src/influxdb/errors.ts';

// Messages of InfluxDB 1.8.
const ANSWERS: readonly (readonly [status: number, message: string, StoreErrorCode])[] = [
  [401, 'authorization failed', 'MISCONFIGURED'],
  [401, 'unable to parse authentication credentials', 'MISCONFIGURED'],
  [403, '"reader" user is not authorized to write to database "tidegauge"', 'MISCONFIGURED'],
  [200, 'error authorizing query: reader not authorized to execute statement', 'MISCONFIGURED'],
  [404, 'database not found: "tidegauge"', 'MISCONFIGURED'],
  [200, 'database not found: tidegauge', 'MISCONFIGURED'],
  [400, 'partial write: max-series-per-database limit exceeded: (1000000) dropped=1', 'UNAVAILABLE'],
  [400, 'partial write: max-values-per-tag limit exceeded (100000/100000) dropped=1', 'UNAVAILABLE'],
  [400, 'partial write: field type conflict: input field "n" is type string dropped=1', 'REJECTED'],
  [400, `unable to parse 'readings n=': missing field value`, 'REJECTED'],
  [413, 'Request Entity Too Large', 'REJECTED'],
  [503, 'max-concurrent-write-limit exceeded', 'OVERLOADED'],
  [500, 'engine: cache-max-memory-size exceeded: (1073741824/1073741824)', 'OVERLOADED'],
  [500, 'write failed: timeout', 'UNAVAILABLE'],
  [500, 'engine is closed', 'UNAVAILABLE'],
  [500, 'write /var/lib/influxdb/wal/_00001.wal: no space left on device', 'UNAVAILABLE'],
  [500, 'something new', 'UNEXPECTED'],
];

for (const [status, message, code] of ANSWERS) {
  test(`${status} ${message} is ${code}`, () => {
    const error = answerError(status, message, 'db:8086/tidegauge');
    assert.equal(error.code, code);
    assert.equal(error.message, `influxdb db:8086/tidegauge: ${message}`);
    assert.ok(error.hint);
    if (message.includes('no space')) assert.equal(error.hint, DISK_FULL);
  });
}

/** A server that accepts connections and never answers. */
async function silentServer(context: TestContext): Promise<string> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('open fails within the connect timeout when the server does not answer', async (context) => {
  const host = await silentServer(context);
  const started = performance.now();
  const error = await rejection(openStore(`influxdb://${host}/tidegauge?connect=200`), 'UNAVAILABLE');
  assert.ok(performance.now() - started < 2000);
  assert.match(error.message, new RegExp(host));
});

test('open names the host that refuses connections', async () => {
  const error = await rejection(openStore('influxdb://127.0.0.1:1/tidegauge'), 'UNAVAILABLE');
  assert.match(error.message, /influxdb 127\.0\.0\.1:1\/tidegauge: /);
});

test('refuses URLs without one host and a plain database', async () => {
  for (const url of ['influxdb:tidegauge', 'influxdb://h', 'influxdb://a,b/d', 'influxdb://h/a%22b']) {
    const error = await rejection(createStore(url), 'MISCONFIGURED');
    assert.match(error.hint!, /influxdb:\/\/user:password@host:8086\/database/);
  }
});
