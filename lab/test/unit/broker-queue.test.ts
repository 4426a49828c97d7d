import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { BrokerQueue, type Persistence, type Queued } from '../../src/broker-queue.ts';

const BOUNDS = { queuedBytes: 10_000, heldBytes: 10_000, retainedBytes: 10_000, awayMs: 0 };

function install(bounds: typeof BOUNDS): { queue: BrokerQueue; persistence: Persistence } {
  const nothing = async (): Promise<undefined> => undefined;
  const persistence: Persistence = {
    ...{ outgoingEnqueue: nothing, outgoingEnqueueCombi: nothing, outgoingUpdate: nothing },
    ...{ outgoingClearMessageId: nothing, outgoingStream: () => Readable.from([]), storeRetained: nothing },
    ...{ incomingStorePacket: nothing, incomingDelPacket: nothing, cleanIncoming: nothing },
  };
  const queue = new BrokerQueue(bounds);
  queue.install(persistence);
  return { queue, persistence };
}

function message(brokerCounter: number, bytes: number): Queued {
  const base = { cmd: 'publish', brokerId: 'b', topic: 't', qos: 1, retain: false, dup: false };
  return { ...base, brokerCounter, payload: Buffer.alloc(bytes) };
}

test('a full queue accepts messages again after its messages are acknowledged', async () => {
  const { queue, persistence } = install({ ...BOUNDS, awayMs: 60_000 });
  await persistence.outgoingEnqueueCombi([{ clientId: 'reader', qos: 1 }], message(1, 20_000));
  queue.note('reader', false);
  assert.equal(queue.full, true, 'a reader that disconnects for a moment keeps its messages');
  const sent = message(1, 20_000);
  await persistence.outgoingUpdate({ id: 'reader' }, sent);
  await persistence.outgoingClearMessageId({ id: 'reader' }, sent);
  assert.equal(queue.full, false);
});

test('the queue of a client that stays disconnected does not affect others', async () => {
  const { queue, persistence } = install(BOUNDS);
  const readers = [
    { clientId: 'gone', qos: 1 },
    { clientId: 'reader', qos: 1 },
  ];
  queue.note('reader', true);
  for (const number of [1, 2]) {
    await persistence.outgoingEnqueueCombi(readers.slice(0, number === 1 ? 2 : 1), message(number, 6000));
    assert.equal(queue.full, false);
  }
  const kept: unknown[] = [];
  for await (const entry of persistence.outgoingStream({ id: 'reader' })) kept.push(entry);
  assert.equal(kept.length, 1);
});
