import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Postgres, startPostgres } from '@tidegauge/lab/postgres';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startServiceProcess } from '@tidegauge/test-support/service-process';
import { resolver } from '../../src/resolve.ts';
import { startDnsServer } from './dns-server.ts';

// Tests that need no Citus. Tests with Citus are in membership.test.ts.
const WAIT_MS = 60_000;
const READY = /"http":"(http:[^"]+)".*"citus-membership is ready"/;

const started = await startOrSkip('postgres', () => startPostgres({ sharedBuffers: 32 }));
const skip = 'skip' in started ? started.skip : false;
const postgres = 'server' in started ? started.server : (null as unknown as Postgres);
after(() => postgres?.stop());

test('addresses are sorted and unique; no address gives an empty list, and a DNS failure an error', async (context) => {
  const dns = await startDnsServer();
  context.after(() => dns.stop());
  const resolve = resolver('tasks.citus_worker', [dns.at]);
  dns.answer(['10.0.1.9', '10.0.1.3', '10.0.1.9']);
  assert.deepEqual(await resolve(), ['10.0.1.3', '10.0.1.9']);
  dns.answer([]);
  assert.deepEqual(await resolve(), []);
  dns.answer(null);
  await assert.rejects(resolve(), { code: 'ESERVFAIL' });
});

test('the service reports an unreachable coordinator, is alive but not ready, and stops on request', {
  skip,
}, async (context) => {
  const dns = await startDnsServer();
  context.after(() => dns.stop());
  const service = await startServiceProcess(
    'citus-membership',
    {
      COORDINATOR: `postgres://${postgres.user}@127.0.0.1:${postgres.port}/postgres`,
      PASSWORD: postgres.password,
      DNS_SERVERS: dns.at,
      INTERVAL: '100ms',
      METRICS_PORT: '0',
    },
    READY,
  );
  const failures = async (): Promise<number> => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return Number(/^citus_membership_failures_total\{what="coordinator"\} (\d+)$/m.exec(text)?.[1]);
  };
  for (const deadline = Date.now() + WAIT_MS; (await failures()) < 2; await sleep(50)) {
    assert.ok(Date.now() < deadline, 'it does not try again');
  }
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
  const ready = await fetch(`${service.url}/readyz`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /the coordinator cannot be reached/);
  const refused = await fetch(`${service.url}/rebalance`, { method: 'POST' });
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /the coordinator was not reached yet/);
  assert.equal(await service.stop(), 0);
});

test('a password in the URL, or an open port without a token, is refused with a hint', async () => {
  const start = (env: Readonly<Record<string, string>>) =>
    startServiceProcess('citus-membership', env, READY);
  await assert.rejects(
    start({ COORDINATOR: 'postgres://postgres:secret@citus-coordinator/tidegauge' }),
    /exit code 2: .*the password goes into PASSWORD_FILE/s,
  );
  await assert.rejects(
    start({ COORDINATOR: 'postgres://postgres@citus-coordinator/tidegauge', HTTP_LISTEN: '0.0.0.0' }),
    /exit code 2: .*set HTTP_TOKEN_FILE/s,
  );
});
