import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ACK_BYTES, AckQueue, PUBACK, PUBREC } from '../../src/ack-queue.ts';

interface Ack {
  readonly type: number;
  readonly id: number;
}

function take(queue: AckQueue): Ack[] {
  const bytes = Buffer.alloc(queue.ready * ACK_BYTES);
  assert.equal(queue.take(bytes, 0), bytes.length);
  const acks: Ack[] = [];
  for (let i = 0; i < bytes.length; i += ACK_BYTES) {
    assert.equal(bytes[i + 1], 2);
    acks.push({ type: bytes[i]!, id: bytes.readUInt16BE(i + 2) });
  }
  return acks;
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('push' as const), ack: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
);

test('for any order of release, the written acknowledgements are a prefix of the received messages', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(step, { maxLength: 300, size: 'max' }),
      (limit, steps) => {
        const queue = new AckQueue(limit);
        const received: Ack[] = [];
        const released = new Set<number>();
        const written: Ack[] = [];
        for (const next of steps) {
          if (next.do === 'push') {
            const ack = { type: next.ack ? PUBACK : PUBREC, id: (received.length * 7) % 65536 };
            const ticket = queue.push(ack.type, ack.id);
            assert.equal(
              ticket === -1,
              received.length - written.length === limit,
              'full exactly at the limit',
            );
            if (ticket === -1) continue;
            assert.equal(ticket, received.length, 'tickets count messages');
            received.push(ack);
          } else if (next.do === 'release' && received.length > 0) {
            const ticket = next.which % received.length;
            assert.equal(queue.release(ticket), !released.has(ticket), 'a ticket is released once');
            released.add(ticket);
          } else if (next.do === 'take') {
            written.push(...take(queue));
          }
          assert.equal(queue.size, received.length - written.length);
        }
        written.push(...take(queue));
        let prefix = 0;
        while (released.has(prefix)) prefix += 1;
        assert.deepEqual(written, received.slice(0, prefix), 'all that may be written is, once, in order');
      },
    ),
    { numRuns: 500 },
  );
});

test('every one of 65535 messages released in random order is written once and in receive order', () => {
  const queue = new AckQueue(65535);
  const typeOf = (index: number) => (index % 2 === 0 ? PUBACK : PUBREC);
  const tickets = Array.from({ length: 65535 }, (_, i) => queue.push(typeOf(i), i + 1));
  assert.equal(queue.push(PUBACK, 1), -1);
  for (let i = tickets.length - 1; i > 0; i -= 1) {
    const j = (i * 7919 + 13) % (i + 1);
    [tickets[i], tickets[j]] = [tickets[j]!, tickets[i]!];
  }
  const written: Ack[] = [];
  for (const ticket of tickets) {
    queue.release(ticket);
    if (ticket % 100 === 0) written.push(...take(queue));
  }
  written.push(...take(queue));
  assert.deepEqual(
    written,
    Array.from({ length: 65535 }, (_, i) => ({ type: typeOf(i), id: i + 1 })),
  );
});

test('a reason other than success is written after its packet id, once, and between acknowledgements without one', () => {
  const queue = new AckQueue(4);
  const write = () => {
    const bytes = Buffer.alloc(queue.readyBytes + 1);
    return [...bytes.subarray(1, queue.take(bytes, 1))];
  };
  for (const id of [1, 0x102, 3]) queue.push(PUBACK, id);
  queue.release(0);
  assert.equal(queue.readyBytes, ACK_BYTES);
  queue.release(1, 0x97);
  queue.release(2);
  assert.equal(queue.readyBytes, 3 * ACK_BYTES + 1);
  assert.deepEqual(write(), [PUBACK, 2, 0, 1, PUBACK, 3, 1, 2, 0x97, PUBACK, 2, 0, 3]);
  assert.deepEqual([queue.readyBytes, write()], [0, []]);
  queue.push(PUBREC, 4);
  queue.push(PUBREC, 5);
  queue.release(3, 0x87);
  queue.release(4, 0x83);
  assert.deepEqual(write(), [PUBREC, 3, 0, 4, 0x87, PUBREC, 3, 0, 5, 0x83]);
});

test('tickets that were never issued are refused', () => {
  const queue = new AckQueue(4);
  queue.push(PUBACK, 9);
  assert.equal(queue.release(-1), false);
  assert.equal(queue.release(1), false);
  assert.equal(queue.ready, 0);
});
