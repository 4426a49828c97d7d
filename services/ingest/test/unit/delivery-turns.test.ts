import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { keepPrincipal, tokenPrincipal } from '@tidegauge/service';
import { DeliveryTurns } from '../../src/delivery-turns.ts';

const LARGE = 100_000;

/** A request that the API sends for a client. */
function responseFor(sender: string): ServerResponse {
  const response = { destroyed: false, req: { headers: { 'tidegauge-sender': sender }, socket: {} } };
  keepPrincipal(response as unknown as ServerResponse, tokenPrincipal('api'));
  return response as unknown as ServerResponse;
}

test('a client with many large deliveries leaves places for others, also behind the API', async () => {
  const turns = new DeliveryTurns({ namesDuplicates: true });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const deliver = (sender: string, bytes: number) =>
    turns.run(responseFor(sender), bytes, () => {
      begun.push(sender);
      return new Promise<void>((end) => ends.push(end));
    });
  const all = Array.from({ length: 20 }, () => deliver('key a', LARGE));
  assert.deepEqual(begun, ['key a']);
  all.push(deliver('key b', LARGE), deliver('key c', LARGE), deliver('key d', LARGE));
  assert.deepEqual(begun.slice(1), ['key b']);
  all.push(deliver('key a', 100));
  assert.deepEqual(begun.slice(2), ['key a']);
  while (ends.length > 0 || begun.length < all.length) {
    ends.shift()?.();
    await turn();
  }
  await Promise.all(all);
  assert.equal(begun.filter((sender) => sender === 'key d').length, 1);
});

test('small deliveries that have their own commits are few, because sensors wait for all of them', async () => {
  const turns = new DeliveryTurns({ namesDuplicates: false });
  let begun = 0;
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const deliver = (sender: string) =>
    turns.run(responseFor(sender), 100, () => {
      begun++;
      return end;
    });
  const all = Array.from({ length: 50 }, () => deliver('key a'));
  assert.equal(begun, 4);
  all.push(...Array.from({ length: 50 }, () => deliver('key b')));
  assert.equal(begun, 8);
  resolve();
  await Promise.all(all);
  assert.equal(begun, 100);
});
