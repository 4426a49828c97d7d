import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Client, type ClientMember } from '../../src/server/client.ts';

const MIB = 2 ** 20;

class Member implements ClientMember {
  receivedAt = 0;
  refreshed = 0;

  refreshHold(): void {
    this.refreshed += 1;
  }
}

function clientOf(count: number): { client: Client<Member>; members: readonly Member[] } {
  const client = new Client<Member>('user a');
  const members = Array.from({ length: count }, () => new Member());
  for (const member of members) client.connections.add(member);
  return { client, members };
}

const heldOf = (client: Client<Member>, members: readonly Member[]) =>
  members.map((member) => client.holds(member));

async function turns(count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await turn();
}

test('after its share of a turn a client rests: what sends is held, and silent connections are left alone', async () => {
  const { client, members } = clientOf(4);
  client.take(members[0]!, MIB);
  assert.deepEqual(heldOf(client, members), [false, false, false, false]);
  client.take(members[1]!, 1);
  client.take(members[2]!, 1);
  assert.deepEqual(heldOf(client, members), [false, true, true, false]);
  await turns(10);
  assert.deepEqual(heldOf(client, members), [false, false, false, false]);
  assert.deepEqual(
    members.map(({ refreshed }) => refreshed),
    [0, 2, 2, 0],
  );
});

test('a client that sends much while it rests has all connections held', async () => {
  const { client, members } = clientOf(3);
  client.take(members[0]!, MIB + 1);
  client.take(members[0]!, MIB);
  assert.deepEqual(heldOf(client, members), [true, false, false]);
  client.take(members[1]!, 1);
  assert.deepEqual(heldOf(client, members), [true, true, true]);
  await turns(10);
  assert.deepEqual(heldOf(client, members), [false, false, false]);
  assert.equal(members[2]!.refreshed, 2);
});

test('a client that is paused stays so after its rest', async () => {
  const { client, members } = clientOf(2);
  client.take(members[0]!, MIB + 1);
  client.pause();
  await turns(10);
  assert.deepEqual(heldOf(client, members), [true, true]);
  client.resume();
  assert.deepEqual(heldOf(client, members), [false, false]);
});

test('bytes of several turns are no reason to rest', async () => {
  const { client, members } = clientOf(1);
  for (let number = 0; number < 3; number += 1) {
    client.take(members[0]!, MIB - 1);
    await turn();
  }
  assert.deepEqual(heldOf(client, members), [false]);
});
