import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Action, type Bounds, decide, parking, type Scene, type Worker } from '../../src/decide.ts';

const BOUNDS: Bounds = { lostAfterSeconds: 120, settleSeconds: 15, founders: 1 };
const COORDINATOR = 'coordinator';

function worker(id: number, changes: Partial<Worker> = {}): Worker {
  return {
    ...{ id, group: id, address: `10.0.0.${id}`, active: true, identity: `data-${id}` },
    ...{ disabledByUs: false, onlyCopies: 0, absentSeconds: 0 },
    ...changes,
  };
}

function seen(address: string, identity: string, group = 0, unfit: string | null = null) {
  return { address, identity, group, unfit };
}

function scene(
  workers: readonly Worker[],
  sightings: Scene['sightings'],
  changes: Partial<Scene> = {},
): Scene {
  const resolved = sightings.map(({ address }) => address);
  return { workers, coordinator: COORDINATOR, resolved, sightings, settledSeconds: 60, ...changes };
}

/** Applies actions to a list of workers as Citus does, and fails where Citus would refuse. */
function apply(
  workers: readonly Worker[],
  actions: readonly Action[],
  missing: ReadonlySet<number>,
): Worker[] {
  let now = [...workers];
  const change = (id: number, changes: Partial<Worker>): void => {
    now = now.map((one) => (one.id === id ? { ...one, ...changes } : one));
  };
  for (const action of actions) {
    switch (action.do) {
      case 'identify':
        assert.ok(!now.some(({ identity }) => identity === action.identity), 'an identity is unique');
        change(action.id, { identity: action.identity });
        break;
      case 'move':
        for (const { id, to } of action.steps) {
          assert.ok(!now.some((one) => one.address === to && one.id !== id), `two workers at ${to}`);
          change(id, { address: to });
        }
        break;
      case 'disable':
        assert.equal(now.find(({ id }) => id === action.id)?.onlyCopies, 0, 'an only copy stays in use');
        change(action.id, { active: false, disabledByUs: true });
        break;
      default: {
        assert.ok(!now.some(({ id, active }) => active && missing.has(id)), 'every active worker answers');
        if (action.do === 'activate') change(action.id, { active: true, disabledByUs: false });
        else
          for (const { address, identity } of action.newcomers) {
            assert.ok(!now.some((one) => one.address === address), `a worker is at ${address} already`);
            now.push(worker(100 + now.length, { address, identity }));
          }
      }
    }
  }
  return now;
}

const IDENTITIES = 6;
/** Any previous and present state: which workers are in the metadata, where each was, and where it is now, if seen. */
const anyScene = fc
  .record({
    was: fc.shuffledSubarray(
      Array.from({ length: 8 }, (_, index) => `10.0.0.${index}`),
      { minLength: IDENTITIES },
    ),
    is: fc.shuffledSubarray(
      Array.from({ length: 8 }, (_, index) => `10.0.0.${index}`),
      { minLength: IDENTITIES },
    ),
    each: fc.array(
      fc.record({
        known: fc.boolean(),
        answers: fc.boolean(),
        here: fc.boolean(),
        active: fc.boolean(),
        disabledByUs: fc.boolean(),
        onlyCopies: fc.nat(2),
        absentSeconds: fc.constantFrom(0, 119, 120, 9999),
        unfit: fc.option(fc.constant('has another Citus')),
        inDns: fc.boolean(),
      }),
      { minLength: IDENTITIES, maxLength: IDENTITIES },
    ),
    settledSeconds: fc.constantFrom(0, 60),
  })
  .map(({ was, is, each, settledSeconds }) => {
    const workers = each.flatMap(({ known, answers, here, active, ...rest }, index) =>
      known
        ? [
            worker(index + 1, {
              address: was[index]!,
              identity: answers ? `data-${index + 1}` : null,
              active,
              disabledByUs: !active && rest.disabledByUs,
              onlyCopies: rest.onlyCopies,
              absentSeconds: here ? 0 : rest.absentSeconds,
            }),
          ]
        : [],
    );
    const sightings = each.flatMap(({ known, here, unfit }, index) =>
      here ? [seen(is[index]!, `data-${index + 1}`, known ? index + 1 : 0, unfit)] : [],
    );
    const resolved = is.filter((_, index) => each[index]?.inDns);
    return scene(workers, sightings, { resolved, settledSeconds });
  });

test('no worker is ever removed, listed twice, or left with the address of another server', () => {
  fc.assert(
    fc.property(anyScene, (before) => {
      const here = new Map(before.sightings.map((one) => [one.identity, one.address]));
      const missing = new Set(
        before.workers.filter(({ identity }) => !here.has(identity ?? '')).map(({ id }) => id),
      );
      const { actions } = decide(before, BOUNDS);
      const identified = actions.flatMap((action) => (action.do === 'identify' ? [action.id] : []));
      for (const id of identified) missing.delete(id);
      const after = apply(before.workers, actions, missing);

      if (before.resolved?.length === 0) assert.deepEqual(actions, []);
      for (const { id } of before.workers)
        assert.ok(
          after.some((one) => one.id === id),
          'no worker is removed',
        );
      const identities = after.flatMap(({ identity }) => identity ?? []);
      assert.equal(new Set(identities).size, identities.length, 'no worker is listed twice');
      if (before.resolved?.length === 0) return;
      const answersAt = new Map(before.sightings.map((one) => [one.address, one.identity]));
      for (const { identity, address } of after) {
        if (identity === null) continue;
        assert.equal(address, here.get(identity) ?? address, 'a worker has the address where it was seen');
        assert.equal(answersAt.get(address) ?? identity, identity, 'no other server answers at its address');
      }
    }),
    { numRuns: 3000 },
  );
});

test('a second round in the same situation changes nothing, except that lost workers are disabled one by one', () => {
  fc.assert(
    fc.property(anyScene, (before) => {
      const here = new Set(before.sightings.map(({ identity }) => identity));
      let workers = before.workers;
      for (let round = 0; round <= IDENTITIES + 1; round++) {
        const missing = new Set(
          workers.filter(({ identity }) => !here.has(identity ?? '')).map(({ id }) => id),
        );
        const { actions } = decide({ ...before, workers }, BOUNDS);
        if (actions.length === 0) return;
        for (const action of actions) if (action.do === 'identify') missing.delete(action.id);
        workers = apply(workers, actions, missing);
      }
      assert.fail('the actions never end');
    }),
    { numRuns: 3000 },
  );
});

test('without DNS results nothing is done, however long workers are absent', () => {
  const away = [1, 2, 3].map((id) => worker(id, { absentSeconds: 9999 }));
  for (const resolved of [null, []]) {
    assert.deepEqual(decide(scene(away, [], { resolved }), BOUNDS).actions, []);
    const strangers = [seen('10.0.0.9', 'new')];
    assert.deepEqual(decide(scene(away, strangers, { resolved }), BOUNDS).actions, []);
  }
});

test('no worker is disabled when less than half of the workers are seen', () => {
  const workers = [1, 2, 3, 4, 5].map((id) => worker(id, { absentSeconds: id > 2 ? 9999 : 0 }));
  const two = [seen('10.0.0.1', 'data-1', 1), seen('10.0.0.2', 'data-2', 2)];
  assert.deepEqual(decide(scene(workers, two), BOUNDS).actions, []);
  const three = [...two, seen('10.0.0.3', 'data-3', 3)];
  assert.deepEqual(decide(scene(workers, three), BOUNDS).actions, [
    { do: 'disable', id: 4, address: '10.0.0.4' },
  ]);
});

test('a worker with the only copy of a shard is waited for', () => {
  const workers = [worker(1), worker(2, { absentSeconds: 9999, onlyCopies: 4 })];
  assert.deepEqual(decide(scene(workers, [seen('10.0.0.1', 'data-1', 1)]), BOUNDS).actions, []);
});

test('two workers that exchanged addresses are moved by way of unused addresses', () => {
  const workers = [worker(1), worker(2)];
  const { actions } = decide(
    scene(workers, [seen('10.0.0.2', 'data-1', 1), seen('10.0.0.1', 'data-2', 2)]),
    BOUNDS,
  );
  assert.deepEqual(actions, [
    {
      do: 'move',
      steps: [
        { id: 1, to: parking(1) },
        { id: 2, to: parking(2) },
        { id: 1, to: '10.0.0.2' },
        { id: 2, to: '10.0.0.1' },
      ],
    },
  ]);
});

test('a new worker at the address of a lost worker joins after the lost one is moved, and does not replace it', () => {
  const lost = worker(2, { active: false, disabledByUs: true, absentSeconds: 9999 });
  const { actions } = decide(
    scene([worker(1), lost], [seen('10.0.0.1', 'data-1', 1), seen('10.0.0.2', 'new')]),
    BOUNDS,
  );
  assert.deepEqual(actions, [
    { do: 'move', steps: [{ id: 2, to: parking(2) }] },
    { do: 'add', newcomers: [{ address: '10.0.0.2', identity: 'new' }] },
  ]);
});

test('a returning worker is activated if the service disabled it, and stays disabled if a person did', () => {
  const away = { active: false, absentSeconds: 0 };
  const workers = [worker(1), worker(2, { ...away, disabledByUs: true }), worker(3, away)];
  const sightings = [
    seen('10.0.0.1', 'data-1', 1),
    seen('10.0.0.7', 'data-2', 2),
    seen('10.0.0.3', 'data-3', 3),
  ];
  assert.deepEqual(decide(scene(workers, sightings), BOUNDS).actions, [
    { do: 'move', steps: [{ id: 2, to: '10.0.0.7' }] },
    { do: 'activate', id: 2, address: '10.0.0.7' },
  ]);
});

test('the first workers join together when there are enough and no more appear', () => {
  const two = [seen('10.0.0.1', 'a'), seen('10.0.0.2', 'b')];
  const early = decide(scene([], two, { settledSeconds: 14 }), BOUNDS);
  assert.deepEqual(early.actions, []);
  assert.match(early.waiting.get('10.0.0.1')!, /first 1 workers/);
  assert.deepEqual(decide(scene([], two), { ...BOUNDS, founders: 3 }).actions, []);
  assert.deepEqual(decide(scene([], two), { ...BOUNDS, founders: 2 }).actions, [
    {
      do: 'add',
      newcomers: [
        { address: '10.0.0.1', identity: 'a' },
        { address: '10.0.0.2', identity: 'b' },
      ],
    },
  ]);
});

test('a server that must not join has a reason', () => {
  const workers = [worker(1), worker(2, { identity: null })];
  const sightings = [
    seen('10.0.0.1', 'data-1', 1),
    seen('10.0.0.2', 'else', 7),
    seen('10.0.0.3', 'foreign', 5),
    seen('10.0.0.4', 'bare', 0, 'has no citus extension in database tidegauge'),
    seen('10.0.0.5', 'copy'),
    seen('10.0.0.6', 'copy'),
    seen('10.0.0.8', COORDINATOR),
  ];
  const { actions, waiting } = decide(scene(workers, sightings), BOUNDS);
  assert.deepEqual(actions, []);
  assert.deepEqual(Object.fromEntries(waiting), {
    '10.0.0.2': 'was added manually and does not answer as that worker',
    '10.0.0.3': 'holds data of another coordinator, or of this one before',
    '10.0.0.4': 'has no citus extension in database tidegauge',
    '10.0.0.5': 'answers at several addresses with the same data',
    '10.0.0.6': 'answers at several addresses with the same data',
    '10.0.0.8': 'is the coordinator itself',
  });
});

test('no worker joins while an active worker is missing', () => {
  const { actions, waiting } = decide(
    scene(
      [worker(1), worker(2, { absentSeconds: 5 })],
      [seen('10.0.0.1', 'data-1', 1), seen('10.0.0.9', 'new')],
    ),
    BOUNDS,
  );
  assert.deepEqual(actions, []);
  assert.match(waiting.get('10.0.0.9')!, /waits for 10\.0\.0\.2/);
});
