import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultProcesses, lanesOf, leaveOutStacks, takeJob } from '../../test-run/lanes.ts';
import type { Job } from '../../test-run/suites.ts';

const job = (suite: string, name: string): Job => ({ suite, name, files: [`${name}.test.ts`] });
const STACKS = [job('stack', 'boards'), job('stack', 'carry'), job('stack', 'swarm-3')];
const CLUSTERS = [job('servers', 'cassandra-3'), job('servers', 'hbase-3')];
const OTHERS = [job('unit', 'first'), job('servers', 'second'), job('embedded', 'third')];
const JOBS = [...OTHERS, ...STACKS, ...CLUSTERS];

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

test('two clusters never run at once, nor two stacks while other jobs are left, and every job runs once', () => {
  for (const processes of [1, 2, 3, 5, 20]) {
    const turns = play(processes);
    const countIn = (turn: readonly (string | undefined)[], jobs: readonly Job[]): number =>
      jobs.filter(({ name }) => turn.includes(name)).length;
    for (const turn of turns) {
      assert.ok(countIn(turn, CLUSTERS) <= 1, `${processes}: ${turn}`);
      assert.ok(countIn(turn, STACKS) <= (countIn(turn, OTHERS) === 0 ? 2 : 1), `${processes}: ${turn}`);
    }
    const ran = turns.flat().filter((name) => name !== undefined);
    assert.deepEqual(ran.toSorted(), JOBS.map(({ name }) => name).toSorted());
  }
});

test('stacks and clusters start first, in parallel with other tests, and their processes help with these', () => {
  assert.deepEqual(play(3), [
    ['boards', 'cassandra-3', 'first'],
    ['carry', 'hbase-3', 'second'],
    ['swarm-3', 'third', undefined],
  ]);
  const more = [...JOBS, job('stack', 'tls'), job('stack', 'units')];
  assert.deepEqual(play(3, more).at(-1), ['tls', 'units', undefined]);
  assert.deepEqual(play(4), [
    ['boards', 'cassandra-3', 'first', 'second'],
    ['carry', 'hbase-3', 'third', undefined],
    ['swarm-3', undefined, undefined, undefined],
  ]);
  assert.deepEqual(play(2, OTHERS), [
    ['first', 'second'],
    ['third', undefined],
  ]);
});

test('there is one more process than cores, and another one if there are stacks', () => {
  assert.equal(defaultProcesses(OTHERS, 1), 3);
  assert.equal(defaultProcesses(OTHERS, 4), 5);
  assert.equal(defaultProcesses(JOBS, 2), 4);
});

test('the stacks that have not started can be left out, and only they', () => {
  for (const processes of [1, 2, 3]) {
    const lanes = lanesOf(JOBS, processes);
    assert.equal(takeJob(lanes[0]!)?.name, 'boards');
    assert.deepEqual(leaveOutStacks(lanes), STACKS.slice(1));
    assert.deepEqual(leaveOutStacks(lanes), []);
    const left: string[] = [];
    for (const lane of lanes) for (let next = takeJob(lane); next; next = takeJob(lane)) left.push(next.name);
    assert.deepEqual(left.toSorted(), [...CLUSTERS, ...OTHERS].map(({ name }) => name).toSorted());
  }
});
