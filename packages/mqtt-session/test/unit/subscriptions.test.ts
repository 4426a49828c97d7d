import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  difference,
  type Subscription,
  subscriptionProblem,
  toSubscriptionMap,
} from '../../src/subscriptions.ts';

test('only new and changed filters are subscribed, and only removed filters are unsubscribed', () => {
  const current = toSubscriptionMap([
    { filter: 'a', qos: 1 },
    { filter: 'b', qos: 1 },
    { filter: 'c', qos: 1, shareGroup: 'g' },
  ]);
  const desired = toSubscriptionMap([
    { filter: 'a', qos: 1, retainHandling: 1 },
    { filter: 'b', qos: 2 },
    { filter: 'c', qos: 1 },
  ]);
  assert.deepEqual(difference(current, desired), {
    added: [
      { filter: 'b', qos: 2 },
      { filter: 'c', qos: 1 },
    ],
    removed: ['$share/g/c'],
  });
});

test('a filter held with unknown options is subscribed again', () => {
  const wanted: Subscription = { filter: 'a', qos: 1 };
  assert.deepEqual(difference(new Map([['a', null]]), toSubscriptionMap([wanted])), {
    added: [wanted],
    removed: [],
  });
});

test('filters that the specification forbids are reported with the reason', () => {
  const bad: readonly (readonly [Subscription, RegExp])[] = [
    [{ filter: '', qos: 1 }, /empty/],
    [{ filter: 'a/#/b', qos: 1 }, /last level/],
    [{ filter: 'a/b#', qos: 1 }, /stand alone/],
    [{ filter: 'a+/b', qos: 1 }, /stand alone/],
    [{ filter: 'a\0', qos: 1 }, /U\+0000/],
    [{ filter: 'x'.repeat(65536), qos: 1 }, /65535/],
    [{ filter: 'a', qos: 3 as 2 }, /qos/],
    [{ filter: 'a', qos: 1, shareGroup: 'a/b' }, /share group/],
  ];
  for (const [subscription, reason] of bad) assert.match(subscriptionProblem(subscription) ?? '', reason);
  for (const filter of ['#', '+', '/', 'a/+/b/#', '+/+', '$SYS/#']) {
    assert.equal(subscriptionProblem({ filter, qos: 1 }), null, filter);
  }
});
