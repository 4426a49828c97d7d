import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepPrincipal, type Principal, senderOf, Turns, tokenPrincipal } from '@tidegauge/service';

test('clients take turns, and a client that left has no turn', async () => {
  const turns = new Turns(1);
  const log: string[] = [];
  const ask = (client: string, name: string, destroyed = false) => {
    const response = { destroyed, req: { socket: { remoteAddress: client } } } as never;
    return turns.run(response, async () => {
      log.push(name);
      await sleep(1);
      return name;
    });
  };
  const all = [
    ask('a', 'a1'),
    ask('a', 'a2'),
    ask('a', 'a3', true),
    ask('a', 'a4'),
    ask('b', 'b1'),
    ask('b', 'b2'),
  ];
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', null, 'a4', 'b1', 'b2']);
  assert.deepEqual(log, ['a1', 'a2', 'b1', 'b2', 'a4']);
  assert.equal(await ask('c', 'c1'), 'c1');
});

test('a service with its token names the client for whom it sends, and nobody else does', () => {
  const senderWith = (principal: Principal, headers: object): string => {
    const response = { req: { headers, socket: { remoteAddress: '192.0.2.1' } } } as never;
    keepPrincipal(response, principal);
    return senderOf(response);
  };
  const named = { 'tidegauge-sender': 'key 1' };
  assert.equal(senderWith(tokenPrincipal('api'), named), 'key 1');
  assert.equal(senderWith(tokenPrincipal('api'), {}), 'token api');
  const key: Principal = { ...tokenPrincipal('2'), kind: 'key' };
  assert.equal(senderWith(key, named), 'key 2');
});
