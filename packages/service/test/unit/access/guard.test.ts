import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Access } from '../../../src/access/index.ts';
import type { Oidc } from '../../../src/access/oidc.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { createLogger, Metrics } from '../../../src/index.ts';

const OPERATOR: Principal = {
  ...{ kind: 'oidc', id: 'grace', scopes: ['read', 'write'], devices: null },
  isCurrent: () => true,
};

test('a request whose client left while its token was verified begins nothing', async (context) => {
  const verified = Promise.withResolvers<Principal>();
  const asked = Promise.withResolvers<void>();
  const oidc = {
    isToken: () => true,
    known: () => null,
    verify() {
      asked.resolve();
      return verified.promise;
    },
  } as unknown as Oidc;
  const access = new Access({
    ...{ token: null, variable: 'HTTP_TOKEN', required: true, openReads: false, oidc },
    ...{ logger: createLogger('test', 'silent'), metrics: new Metrics() },
  });
  context.after(() => access.close());
  const guard = access.guard(() => ({ scope: 'write', action: 'test', limitsDevices: true, isData: false }));
  let begun = 0;
  const closed = Promise.withResolvers<void>();
  const server = createServer((incoming, response) => {
    response.once('close', closed.resolve);
    void guard(incoming as never, response as never, () => {
      begun++;
      response.end();
    });
  }).listen(0, '127.0.0.1');
  context.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const options = { host: '127.0.0.1', port, method: 'POST', headers: { Authorization: 'Bearer a.b.c' } };
  const sent = request(options).on('error', () => {});
  sent.end();
  await asked.promise;
  sent.destroy();
  await closed.promise;
  verified.resolve(OPERATOR);
  await new Promise(setImmediate);
  assert.equal(begun, 0);
});
