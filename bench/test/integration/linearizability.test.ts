import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { go, goTool } from '@tidegauge/lab/go';
import { buildLinearizability } from '@tidegauge/lab/linearizability';
import { testWith } from '@tidegauge/lab/unavailable';
import { runProgramSync, temporaryDirectory, waitUntil } from '@tidegauge/process';
import { suspended } from '../../src/linearizability/faults.ts';
import type { History, Operation, Semantics } from '../../src/linearizability/history.ts';
import { judge, operationsTable } from '../../src/linearizability/judge.ts';

const MODULE = fileURLToPath(new URL('../../linearizability/', import.meta.url));
const BENCH = fileURLToPath(new URL('../../programs/linearizability.ts', import.meta.url));
const LIMIT = { timeoutMs: 10_000 };
const STRICT: Semantics = { insertIsUpsert: false, updateIsUpsert: false };
const UPSERT: Semantics = { insertIsUpsert: true, updateIsUpsert: true };

const test = await testWith('linearizability', buildLinearizability);

/** A history of one key. Times are small numbers. */
function historyOf(semantics: Semantics, ...operations: readonly Partial<Operation>[]): History {
  const base = { client: 0, key: 'a', type: 'read', call: 0, return: null } as const;
  return { semantics, operations: operations.map((each) => ({ ...base, ...each })) };
}

const field = (value: string) => ({ field0: value });
const insert = (value: string, call: number, end: number, done = true) =>
  ({ type: 'insert', fields: field(value), call, return: end, done }) as const;
const update = (value: string, call: number, end: number, done = true) =>
  ({ type: 'update', fields: field(value), call, return: end, done }) as const;
const remove = (call: number, end: number, done = true) =>
  ({ type: 'delete', call, return: end, done }) as const;
const read = (value: string | null, call: number, end: number) =>
  ({ call, return: end, done: value !== null, ...(value === null ? {} : { found: field(value) }) }) as const;
const unknown = (type: 'insert' | 'update', value: string, call: number) =>
  ({ type, fields: field(value), call, return: null }) as const;

const REFUSED: Readonly<Record<string, History>> = {
  'a stale read': historyOf(STRICT, insert('1', 0, 1), update('2', 2, 3), read('1', 4, 5)),
  'a lost update': historyOf(
    STRICT,
    insert('1', 0, 1),
    update('2', 2, 3),
    update('3', 4, 5),
    read('2', 6, 7),
  ),
  'a lost insert': historyOf(STRICT, insert('1', 0, 1), read(null, 2, 3)),
  'a value that nobody wrote': historyOf(STRICT, insert('1', 0, 1), read('9', 2, 3)),
  'two inserts that both created the record': historyOf(STRICT, insert('1', 0, 5), insert('2', 1, 6)),
  'an update of a deleted record': historyOf(STRICT, insert('1', 0, 1), remove(2, 3), update('2', 4, 5)),
  'two reads in different orders of two updates': historyOf(
    STRICT,
    insert('1', 0, 1),
    ...[update('2', 2, 20), update('3', 2, 20)],
    ...[read('2', 3, 4), read('3', 5, 6), read('2', 7, 8)],
  ),
  'an effect that was there and is gone': historyOf(
    STRICT,
    insert('1', 0, 1),
    unknown('update', '2', 2),
    ...[read('2', 3, 4), read('1', 5, 6)],
  ),
  'a record that stays after its delete, with upserts': historyOf(
    UPSERT,
    insert('1', 0, 1),
    remove(2, 3),
    read('1', 4, 5),
  ),
};

const ACCEPTED: Readonly<Record<string, History>> = {
  'an empty history': historyOf(STRICT),
  'a read of either value during an update': historyOf(
    STRICT,
    insert('1', 0, 1),
    update('2', 2, 9),
    ...[read('1', 3, 4), read('2', 5, 6)],
  ),
  'an update of unknown outcome that takes effect late': historyOf(
    STRICT,
    insert('1', 0, 1),
    unknown('update', '2', 2),
    ...[read('1', 3, 4), read('1', 5, 6), read('2', 7, 8)],
  ),
  'an update of unknown outcome that never takes effect': historyOf(
    STRICT,
    insert('1', 0, 1),
    unknown('update', '2', 2),
    read('1', 100, 101),
  ),
  'an insert of unknown outcome that was done before another one': historyOf(
    STRICT,
    unknown('insert', '1', 0),
    insert('2', 1, 2, false),
    read('1', 3, 4),
  ),
  'an insert of an existing record, with upserts': historyOf(
    UPSERT,
    ...[insert('1', 0, 1), insert('2', 2, 3), read('2', 4, 5)],
  ),
  'an update of a missing record, with upserts': historyOf(UPSERT, update('1', 0, 1), read('1', 2, 3)),
};

for (const [name, history] of Object.entries(REFUSED)) {
  test(`the judge refuses ${name}`, async () => {
    const { violated, undecided, shortest } = await judge(history);
    assert.deepEqual({ violated, undecided }, { violated: ['a'], undecided: [] });
    assert.ok(shortest !== null && shortest.length > 0);
  });
}

for (const [name, history] of Object.entries(ACCEPTED)) {
  test(`the judge accepts ${name}`, async () => {
    const { violated, undecided, shortest } = await judge(history);
    assert.deepEqual({ violated, undecided, shortest }, { violated: [], undecided: [], shortest: null });
  });
}

test('a violation is shown with the operations that it needs, and no others', async () => {
  const long = Array.from({ length: 40 }, (_, number) =>
    update(`u${number}`, 10 + 4 * number, 12 + 4 * number),
  );
  const { operations } = historyOf(STRICT, insert('1', 0, 1), ...long, read('u3', 500, 501));
  const other = operations.map((each) => ({ ...each, key: 'b' })).slice(0, -1);
  const { keys, violated, shortest } = await judge({
    semantics: STRICT,
    operations: [...other, ...operations],
  });
  assert.deepEqual({ keys, violated }, { keys: 2, violated: ['a'] });
  assert.ok(shortest!.length <= 3, operationsTable(shortest!));
  assert.match(operationsTable(shortest!), /read: \{field0=u3\}/);
});

test('a history that is not valid is refused with its line', async () => {
  await assert.rejects(
    judge(historyOf(STRICT, insert('1', 5, 4))),
    /line 2 of the history: the operation ended at 4, before its call at 5/,
  );
  await assert.rejects(judge(historyOf(STRICT, {})), /line 2 of the history: a read without a result/);
});

test('operations through two APIs on SQLite are linearizable, also when they are killed', async () => {
  const folder = temporaryDirectory('linearizability');
  try {
    const [history, html] = [join(folder.path, 'history'), join(folder.path, 'page.html')];
    const options = ['--kill', 'api', '--history', history, '--html', html];
    const { stdout } = runProgramSync(process.execPath, [BENCH, '--quick', ...options]);
    assert.match(stdout, /^sqlite: linearizable$/m);
    assert.match(stdout, / [1-9]\d* kills$/m);
    assert.match(readFileSync(html, 'utf8'), /^<!DOCTYPE html>/i);

    // The same operations, but one read returns what was there before an update that had ended.
    const [semantics, ...operations] = readFileSync(history, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const ended = operations.find(({ type, done }) => type === 'update' && done) as Operation;
    const stale = {
      ...ended,
      client: 9999,
      type: 'read',
      call: ended.return! + 1,
      return: ended.return! + 2,
    };
    const broken = [...operations, { ...stale, fields: undefined, found: { field0: 'x', field1: 'y' } }];
    const { violated } = await judge({ semantics, operations: broken as Operation[] });
    assert.deepEqual(violated, [ended.key]);
  } finally {
    folder.remove();
  }
});

test('a suspended node does not run until it continues', async () => {
  const child = spawn('sleep', ['600']);
  try {
    const stateOf = (): string => /\) (\w)/.exec(readFileSync(`/proc/${child.pid}/stat`, 'utf8'))![1]!;
    const node = suspended({ name: 'sleep', pids: () => [child.pid!], cgroup: null, fault: null });
    await node.kill();
    await waitUntil('the process to be suspended', () => stateOf() === 'T', LIMIT);
    await node.restart();
    await waitUntil('the process to continue', () => stateOf() === 'S', LIMIT);
  } finally {
    child.kill('SIGKILL');
  }
});

test('the judge is formatted, and go vet finds nothing', async () => {
  const { code, stdout, stderr } = runProgramSync(goTool('gofmt'), ['-l', MODULE], { accept: 'any' });
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
  await go(['vet', './...'], { cwd: MODULE });
});
