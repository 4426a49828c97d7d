import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigError } from '@tidegauge/service';
import { type Poison, Quarantine } from '../../src/quarantine.ts';

const directory = mkdtempSync(join(tmpdir(), 'tidegauge-quarantine-'));
after(() => rmSync(directory, { recursive: true }));

function poison(topic: string, size = 10): Poison {
  const payload = Buffer.alloc(size, 0xff);
  return {
    topic,
    payload,
    format: 'auto',
    received: 1_795_000_000_000_001,
    reason: 'malformed',
    detail: 'no',
    position: 'byte 0',
    readings: 1,
  };
}

test('what is put in comes out whole, also after a restart', () => {
  const file = join(directory, 'whole.db');
  const first = new Quarantine(file, 'i', 1 << 20);
  first.add([poison('a'), poison('b')]);
  first.close();
  const second = new Quarantine(file, 'i', 1 << 20);
  const { items, total } = second.list(10, null, null);
  assert.equal(total, 2);
  assert.deepEqual(
    items.map((item) => [item.id, item.topic]),
    [
      ['i.2', 'b'],
      ['i.1', 'a'],
    ],
  );
  const { document } = second.get(1)!;
  assert.deepEqual(document, {
    id: 'i.1',
    received: '2026-11-18T11:06:40.000001Z',
    topic: 'a',
    reason: 'malformed',
    detail: 'no',
    position: 'byte 0',
    size: 10,
    readings: 1,
    payload: Buffer.alloc(10, 0xff).toString('base64'),
  });
  assert.equal(second.get(99), null);
  second.close();
});

test('pages go from newest to oldest and end', () => {
  const quarantine = new Quarantine(join(directory, 'pages.db'), 'i', 1 << 20);
  quarantine.add(['a', 'b', 'c'].map((topic) => poison(topic)));
  const first = quarantine.list(2, null, null);
  assert.deepEqual(
    first.items.map((item) => item.topic),
    ['c', 'b'],
  );
  const second = quarantine.list(2, first.next, null);
  assert.deepEqual(
    second.items.map((item) => item.topic),
    ['a'],
  );
  assert.equal(second.next, null);
  assert.equal(quarantine.list(2, null, 'other').items.length, 0);
  quarantine.close();
});

test('the oldest make room when the bound is reached, and their number is told', () => {
  const quarantine = new Quarantine(join(directory, 'bound.db'), 'i', 10_000);
  let dropped = 0;
  for (let number = 0; number < 20; number++) dropped += quarantine.add([poison(`t${number}`, 1000)]);
  assert.equal(quarantine.total + dropped, 20);
  assert.equal(quarantine.dropped, dropped);
  assert.equal(quarantine.total, 7);
  assert.equal(quarantine.list(1, null, null).items[0]!.topic, 't19');
  quarantine.add([poison('huge', 50_000)]);
  assert.equal(quarantine.list(10, null, null).items[0]!.topic, 'huge');
  assert.equal(quarantine.total, 1);
  quarantine.close();
});

test('a discarded item is gone, once', () => {
  const quarantine = new Quarantine(join(directory, 'discard.db'), 'i', 1 << 20);
  quarantine.add([poison('a')]);
  assert.equal(quarantine.discard(1), true);
  assert.equal(quarantine.discard(1), false);
  assert.equal(quarantine.total, 0);
  quarantine.close();
});

test('a path that cannot be a file is a configuration mistake that names it', () => {
  const file = join(directory, 'plain');
  writeFileSync(file, '');
  assert.throws(
    () => new Quarantine(join(file, 'q.db'), 'i', 1 << 20),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /plain\/q\.db cannot be opened.*DATA_DIR/);
      return true;
    },
  );
});
