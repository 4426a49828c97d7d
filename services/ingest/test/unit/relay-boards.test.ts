import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '@tidegauge/process';
import { createLogger } from '@tidegauge/service';
import { Boards } from '../../src/relay/boards.ts';

const logger = createLogger('test', 'silent');
const MINUTE_MS = 60_000;

function setUp(context: TestContext) {
  const folder = temporaryDirectory('boards');
  context.after(() => folder.remove());
  const file = join(folder.path, 'boards');
  const clock = { now: Date.UTC(2026, 10, 27) };
  return { file, clock, open: () => new Boards(file, logger, () => clock.now) };
}

const contact = (id: string) => ({
  board: id,
  name: `name of ${id}`,
  backlogBytes: 5,
  lagSeconds: 7,
  devices: [],
  compare: null,
});

test('a board is lost after five minutes, also when the centre was restarted meanwhile', (context) => {
  const { clock, open } = setUp(context);
  const first = open();
  first.contact(contact('board-01'), 'key a');
  first.contact(contact('board-02'), 'key a');
  assert.deepEqual([first.size, first.lost, first.lagSeconds], [2, 0, 7]);
  clock.now += 4 * MINUTE_MS;
  first.contact(contact('board-02'), 'key a');
  clock.now += 2 * MINUTE_MS;
  const second = open();
  assert.equal(second.id, first.id);
  assert.deepEqual(
    second.list().map(({ id, name, lost }) => [id, name, lost]),
    [
      ['board-01', 'name of board-01', true],
      ['board-02', 'name of board-02', false],
    ],
  );
  assert.deepEqual([second.lost, second.remove('board-01'), second.lost], [1, true, 0]);
  assert.equal(open().size, 1);
});

test('a key has at most a hundred boards', (context) => {
  const boards = setUp(context).open();
  for (let board = 0; board < 100; board++) boards.contact(contact(`board-a-${board}`), 'key a');
  assert.throws(() => boards.contact(contact('board-a-100'), 'key a'), /This key has 100 boards/);
  boards.contact(contact('board-a-1'), 'key a');
  boards.contact(contact('board-b-1'), 'key b');
  assert.equal(boards.size, 101);
});

test('a damaged list begins again, and nothing is written before a board is known', (context) => {
  const { file, open } = setUp(context);
  assert.equal(open().size, 0);
  assert.equal(existsSync(file), false);
  writeFileSync(file, '{"id":');
  const boards = open();
  boards.contact(contact('board-01'), 'key a');
  assert.equal(open().size, 1);
});
