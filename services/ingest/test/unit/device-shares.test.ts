import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstLevelOf } from '@tidegauge/readings';
import fc from 'fast-check';
import { DeviceShares } from '../../src/device-shares.ts';

test('a client has half of the room alone, and each of n clients a part of n + 1', () => {
  for (const clients of [1, 2, 3, 9]) {
    const shares = new DeviceShares(1000);
    const taken = new Map<string, number>();
    for (let n = 0; n < 2000; n++) {
      const device = `client-${n % clients}/${n}`;
      if (!shares.hasRoom(device, 1)) continue;
      shares.add(device, 1);
      taken.set(firstLevelOf(device), (taken.get(firstLevelOf(device)) ?? 0) + 1);
    }
    for (const each of taken.values())
      assert.ok(Math.abs(each - 1000 / (clients + 1)) <= clients + 1, `${each} of ${clients}`);
    assert.ok(shares.hasRoom('another', 1000 / (clients + 1) / 3));
  }
});

test('what is given back is free again, with the cost of a client', () => {
  const amounts = fc.array(
    fc.tuple(fc.constantFrom('a', 'a/1', 'a/2', 'b', 'c/1'), fc.integer({ min: 1, max: 99 })),
  );
  fc.assert(
    fc.property(amounts, (list) => {
      const shares = new DeviceShares(1000, () => 10);
      const clients = new Set<string>();
      let sum = 0;
      const given: (readonly [string, number])[] = [];
      for (const [device, amount] of list) {
        if (!shares.hasRoom(device, amount)) continue;
        shares.add(device, amount);
        given.push([device, amount]);
        sum += amount;
        clients.add(firstLevelOf(device));
        assert.equal(shares.all, sum + 10 * clients.size);
      }
      assert.ok(shares.all <= 1000);
      for (const [device, amount] of given) shares.add(device, -amount);
      assert.equal(shares.all, 0);
    }),
  );
});
