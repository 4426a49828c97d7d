import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultProcesses, inOrderOf, lanesOf, leaveOutProofs, takeJob } from '../../test-run/lanes.ts';
import type { Job } from '../../test-run/suites.ts';

const job = (suite: string, name: string): Job => ({ suite, name, files: [`${name}.test.ts`] });
const PROOFS = [job('proofs', 'boards'), job('proofs', 'carry'), job('proofs', 'cassandra-3')];
const OTHERS = [job('unit', 'first'), job('servers', 'second'), job('embedded', 'third')];
const JOBS = [...OTHERS, ...PROOFS];
const namesOf = (jobs: readonly Job[]): string[] => jobs.map(({ name }) => name);

/** Takes one job for each lane in turns until none is left. */
function play(processes: number, jobs: readonly Job[] = JOBS): (string | undefined)[][] {
  const lanes = lanesOf(jobs, processes);
  const turns: (string | undefined)[][] = [];
  for (;;) {
    const turn = lanes.map((lane) => takeJob(lane)?.name);
    if (turn.every((name) => name === undefined)) return turns;
    turns.push(turn);
  }
}

test('two proofs never run at once while other jobs are left, and every job runs once', () => {
  for (const processes of [1, 2, 3, 5, 20]) {
    const turns = play(processes);
    const countIn = (turn: readonly (string | undefined)[], jobs: readonly Job[]): number =>
      jobs.filter(({ name }) => turn.includes(name)).length;
    for (const turn of turns)
      assert.ok(countIn(turn, PROOFS) <= (countIn(turn, OTHERS) === 0 ? 2 : 1), `${processes}: ${turn}`);
    const ran = turns.flat().filter((name) => name !== undefined);
    assert.deepEqual(ran.toSorted(), namesOf(JOBS).toSorted());
  }
});

test('proofs start first, beside other tests, and two processes run them at the end', () => {
  assert.deepEqual(play(2), [
    ['boards', 'first'],
    ['carry', 'second'],
    ['cassandra-3', 'third'],
  ]);
  const more = [...JOBS, job('proofs', 'tls'), job('proofs', 'units')];
  assert.deepEqual(play(2, more).at(-1), ['tls', 'units']);
  assert.deepEqual(play(3), [
    ['boards', 'first', 'second'],
    ['carry', 'third', undefined],
    ['cassandra-3', undefined, undefined],
  ]);
  assert.deepEqual(play(2, OTHERS), [
    ['first', 'second'],
    ['third', undefined],
  ]);
});

test('there are two more processes than cores', () => {
  assert.equal(defaultProcesses(1), 4);
  assert.equal(defaultProcesses(4), 6);
});

test('the proofs that have not started can be left out, and only they', () => {
  for (const processes of [1, 2, 3]) {
    const lanes = lanesOf(JOBS, processes);
    assert.equal(takeJob(lanes[0]!)?.name, 'boards');
    assert.deepEqual(leaveOutProofs(lanes), PROOFS.slice(1));
    assert.deepEqual(leaveOutProofs(lanes), []);
    const left: string[] = [];
    for (const lane of lanes) for (let next = takeJob(lane); next; next = takeJob(lane)) left.push(next.name);
    assert.deepEqual(left.toSorted(), namesOf(OTHERS).toSorted());
  }
});

test('a text decides the order of the proofs, and each of them is the first one for some text', () => {
  assert.deepEqual(inOrderOf('one', JOBS), inOrderOf('one', JOBS));
  const first = new Set<string>();
  for (let text = 0; text < 100; text++) {
    const ordered = namesOf(inOrderOf(String(text), JOBS));
    assert.deepEqual(ordered.slice(0, OTHERS.length), namesOf(OTHERS));
    assert.deepEqual(ordered.toSorted(), namesOf(JOBS).toSorted());
    first.add(ordered[OTHERS.length]!);
  }
  assert.deepEqual([...first].toSorted(), namesOf(PROOFS).toSorted());
});
