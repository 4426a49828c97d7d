import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reading } from '@tidegauge/readings';
import { openStore, type Store } from '@tidegauge/storage';
import fc from 'fast-check';
import type { CopyState } from '../../src/copy-record.ts';
import { readState, writeState } from '../../src/copy-record.ts';
import { copyStore } from '../../src/copy-store.ts';
import { DAY_US } from '../../src/digest.ts';
import { Progress } from '../../src/progress.ts';
import { verifyStore } from '../../src/verify-store.ts';

const START = 20_000 * DAY_US;
const PLACE = 'sqlite:/source';

const written = fc.record({
  device: fc.constantFrom('a', 'a/b', 'c'),
  metric: fc.constantFrom('m', 'n'),
  time: fc.integer({ min: 0, max: 6 }).map((half) => START + (half * DAY_US) / 2),
  value: fc.constantFrom<number | string>(0, -0, 1.5, Number.MAX_VALUE, '', '1.5'),
  received: fc.integer({ min: START, max: START + 3 }),
  boot: fc.constant(null),
  seq: fc.constant(null),
  quality: fc.constant('ok' as const),
});

const quiet = { write: () => true };

async function copy(source: Store, target: Store, merge: boolean) {
  await readState(target, PLACE);
  const state: CopyState = { version: 1, from: PLACE, merge, after: null, finished: null };
  await writeState(target, PLACE, state);
  const progress = new Progress(quiet, 'copy');
  try {
    const signal = new AbortController().signal;
    return await copyStore({ source, target }, { place: PLACE, state, signal, progress });
  } finally {
    progress.stop();
  }
}

async function contentOf(store: Store): Promise<Map<string, Reading>> {
  const content = new Map<string, Reading>();
  for await (const device of store.readings.devices()) {
    for await (const reading of store.readings.range({ device, limit: 1000 }))
      content.set(`${device} ${reading.metric} ${reading.time}`, reading);
  }
  return content;
}

interface Filled {
  readonly source: Store;
  readonly target: Store;
  /** What they contain before. */
  readonly left: ReadonlyMap<string, Reading>;
  readonly right: ReadonlyMap<string, Reading>;
}

/** Runs a check with many pairs of stores. */
async function withAnyStores(check: (filled: Filled) => Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(written), fc.array(written), async (ours, theirs) => {
      const source = await openStore('sqlite::memory:');
      const target = await openStore('sqlite::memory:');
      try {
        await source.readings.write(ours);
        await target.readings.write(theirs);
        await check({ source, target, left: await contentOf(source), right: await contentOf(target) });
      } finally {
        await source.close();
        await target.close();
      }
    }),
    { numRuns: 60 },
  );
}

test('makes any target what the rules of a merge give, and the second copy writes nothing', async () => {
  await withAnyStores(async ({ source, target, left, right }) => {
    const expected = new Map(right);
    for (const [identity, reading] of left) {
      const known = expected.get(identity);
      const isNewer =
        known === undefined || (known.value !== reading.value && known.received <= reading.received);
      if (isNewer) expected.set(identity, reading);
    }
    const first = await copy(source, target, true);
    assert.deepEqual(first.problems, []);
    assert.deepEqual(await contentOf(target), expected);
    assert.deepEqual(await contentOf(source), left, 'the source does not change');
    const second = await copy(source, target, true);
    assert.equal(second.written, 0);
    assert.deepEqual(second.problems, []);
  });
});

test('finds each difference between two stores, and none between equal ones', async () => {
  await withAnyStores(async ({ source, target, left, right }) => {
    const progress = new Progress(quiet, 'verify');
    const signal = new AbortController().signal;
    const found = await verifyStore({ source, target }, { signal, progress });
    progress.stop();
    const { counts } = found.differences;
    const of = (is: (a: Reading | undefined, b: Reading | undefined) => boolean) =>
      [...new Set([...left.keys(), ...right.keys()])].filter((key) => is(left.get(key), right.get(key)))
        .length;
    assert.equal(
      counts.missing,
      of((_, b) => b === undefined),
    );
    assert.equal(
      counts.extra,
      of((a) => a === undefined),
    );
    assert.equal(
      counts.different,
      of((a, b) => a !== undefined && b !== undefined && a.value !== b.value),
    );
    assert.deepEqual([found.source.readings, found.target.readings], [left.size, right.size]);
    const isEqual = counts.missing + counts.extra + counts.different + counts.details === 0;
    assert.equal(found.source.digest === found.target.digest, isEqual);
  });
});

test('reports readings that the target refuses, and copies the others', async () => {
  const source = await openStore('sqlite::memory:');
  const target = await openStore('sqlite::memory:');
  const of = (device: string, metric: string): Reading => ({
    device,
    metric,
    time: START,
    value: 1,
    received: START,
    boot: null,
    seq: null,
    quality: 'ok',
  });
  // A device has at most 500 metrics. The target has 400 others.
  await source.readings.write(Array.from({ length: 300 }, (_, index) => of('full', `s${index}`)));
  await source.readings.write([of('other', 'm')]);
  await target.readings.write(Array.from({ length: 400 }, (_, index) => of('full', `t${index}`)));
  const result = await copy(source, target, true);
  assert.equal(result.refused, 200);
  assert.equal(result.written, 101);
  assert.match(
    result.problems[0]!,
    /^full 2024-10-04: the target differs from what was copied: device full has 500 metrics already/,
  );
  assert.equal(result.problems.length, 1);
  assert.equal((await readState(target, PLACE))?.finished, null);
  await source.close();
  await target.close();
});

test('gives an empty target the identity of the source, and none to a target that keeps its data', async () => {
  for (const merge of [false, true]) {
    const source = await openStore('sqlite::memory:');
    const target = await openStore('sqlite::memory:');
    await source.identify('of-the-source');
    await copy(source, target, merge);
    assert.equal(await target.identity(), merge ? null : 'of-the-source');
    await source.close();
    await target.close();
  }
});
