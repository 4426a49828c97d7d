import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { ConfigError, type Logger } from '@tidegauge/service';
import { Accounts } from '../../src/accounts.ts';
import { MqttDelivery } from '../../src/delivery.ts';
import { Quarantine } from '../../src/quarantine.ts';
import type { QuarantineEntry } from '../../src/quarantine-rows.ts';
import { QuarantineWriter } from '../../src/quarantine-writer.ts';

const directory = mkdtempSync(join(tmpdir(), 'tidegauge-quarantine-'));
after(() => rmSync(directory, { recursive: true }));

function entry(topic: string, size = 10): QuarantineEntry {
  const payload = Buffer.alloc(size, 0xff);
  return {
    source: 'mqtt',
    topic,
    part: null,
    payload,
    format: 'auto',
    received: 1_795_000_000_000_001,
    reason: 'malformed',
    detail: 'no',
    position: 'byte 0',
    readings: 1,
  };
}

test('items are read back unchanged, also after a restart', () => {
  const file = join(directory, 'whole.db');
  const first = new Quarantine(file, 'i', 1 << 20);
  first.add([entry('a'), entry('b')]);
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
    source: 'mqtt',
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

test('the source of an item and its selected readings survive a restart', () => {
  const file = join(directory, 'origin.db');
  const first = new Quarantine(file, 'i', 1 << 20);
  const part = { of: 9, places: [0, 8] };
  first.add([{ ...entry('POST /readings'), source: 'http', part }, entry('POST /readings')]);
  first.close();
  const second = new Quarantine(file, 'i', 1 << 20);
  const found = [second.get(1)!, second.get(2)!];
  assert.deepEqual(
    found.map(({ document, entry }) => [document.source, entry.source, entry.part]),
    [
      ['http', 'http', part],
      ['mqtt', 'mqtt', null],
    ],
  );
  second.close();
});

test('a quarantine of version 0.1.0 opens, and its items keep their source', () => {
  const file = join(directory, 'old.db');
  const old = new DatabaseSync(file);
  old.exec(`CREATE TABLE quarantine (id INTEGER PRIMARY KEY AUTOINCREMENT, received INTEGER NOT NULL,
    topic TEXT NOT NULL, format TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, position TEXT,
    readings INTEGER NOT NULL, payload BLOB NOT NULL) STRICT`);
  const insert = old.prepare('INSERT INTO quarantine VALUES (NULL, 1, ?, ?, ?, ?, NULL, 1, ?)');
  const items = [
    ['POST /readings?device=a&metric=m', 'plain', 'invalid_value', 'http'],
    ['POST /readings', 'json', 'malformed', 'http'],
    ['POST /readings?device=a&metric=m', 'auto', 'unknown_topic', 'mqtt'],
    ['POST /readings/1', 'json', 'invalid_name', 'mqtt'],
    ['sensors/a/m', 'auto', 'malformed', 'mqtt'],
  ] as const;
  for (const [topic, format, reason] of items) insert.run(topic, format, reason, 'no', Buffer.from('x'));
  old.close();
  for (const opening of ['upgrades it', 'finds it upgraded']) {
    const quarantine = new Quarantine(file, 'i', 1 << 20);
    const sources = quarantine.list(10, null, null).items.map(({ source }) => source);
    assert.deepEqual(
      sources.toReversed(),
      items.map(([, , , source]) => source),
      opening,
    );
    assert.equal(quarantine.total, items.length);
    quarantine.close();
  }
});

test('pages go from newest to oldest and end', () => {
  const quarantine = new Quarantine(join(directory, 'pages.db'), 'i', 1 << 20);
  quarantine.add(['a', 'b', 'c'].map((topic) => entry(topic)));
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

test('the oldest items are dropped at the bound, and their number is returned', () => {
  const quarantine = new Quarantine(join(directory, 'bound.db'), 'i', 10_000);
  let dropped = 0;
  for (let number = 0; number < 20; number++) dropped += quarantine.add([entry(`t${number}`, 1000)]);
  assert.equal(quarantine.total + dropped, 20);
  assert.equal(quarantine.dropped, dropped);
  assert.equal(quarantine.total, 6);
  assert.equal(quarantine.list(1, null, null).items[0]!.topic, 't19');
  // What is larger than the bound is left out.
  assert.equal(quarantine.add([entry('huge', 50_000)]), 1);
  assert.equal(quarantine.total, 6);
  quarantine.close();
});

const BROKER = ['home/a/t', 'home/b/t', 'zigbee2mqtt/c', 'deep/x/y/quiet/t', 'deep/x/y/other/t'];

for (const [how, { client, topicOf }] of Object.entries<{
  client?: string;
  topicOf: (number: number) => string;
}>({
  'that varies its topics': { topicOf: (number) => `home/evil/${number % 50}/${number}` },
  'at the fourth level': { topicOf: (number) => `deep/x/y/loud/${number}` },
  'with a login': { client: 'user evil', topicOf: (number) => `home/${number}/t` },
  'that sends everything at once': { topicOf: () => 'home/evil/t' },
})) {
  test(`a sender ${how} loses its own items at the bound, and nobody else does, also after a restart`, () => {
    const file = join(directory, `shares ${how}.db`);
    let quarantine = new Quarantine(file, 'i', 1 << 19);
    // Each has 20 KB.
    for (const topic of BROKER) quarantine.add(Array.from({ length: 20 }, () => entry(topic, 1000)));
    quarantine.add(
      Array.from({ length: 20 }, () => ({ ...entry('home/1/t', 1000), client: 'user innocent' })),
    );
    let dropped = 0;
    for (let number = 0; number < 60; number++) {
      if (number === 30) {
        quarantine.close();
        quarantine = new Quarantine(file, 'i', 1 << 19);
      }
      const item = { ...entry(topicOf(number), 20_000), client };
      const batch = how.endsWith('at once') ? Array.from({ length: 5 }, () => item) : [item];
      dropped += quarantine.add(batch);
    }
    assert.ok(dropped > 30, `${dropped}`);
    const topics = quarantine.list(1000, null, null).items.map(({ topic, size }) => `${topic} ${size}`);
    for (const topic of [...BROKER, 'home/1/t'])
      assert.equal(topics.filter((each) => each === `${topic} 1000`).length, 20, topic);
    // Discarded items leave their shares.
    for (let id = 1; id < 200; id++) quarantine.discard(id);
    quarantine.close();
  });
}

test('a sender that fills the quarantine without end does not fill the log', async () => {
  const quarantine = new Quarantine(join(directory, 'log.db'), 'i', 10_000);
  const lines: unknown[] = [];
  const logger = { warn: (fields: unknown) => void lines.push(fields) } as unknown as Logger;
  const writer = new QuarantineWriter({
    ...{ quarantine, logger, accounts: new Accounts(), paceMs: 0, signal: new AbortController().signal },
    settle: () => {},
    onBroken: (error) => assert.fail(String(error)),
  });
  const nothing = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };
  for (let number = 0; number < 20; number++) {
    const refused = entry(`t${number}`, 1000);
    const message = {
      topic: refused.topic,
      payload: refused.payload,
      size: 1000,
      qos: 1,
      retain: false,
    } as const;
    const kind = { format: 'auto', ack: 'durable' } as const;
    const delivery = new MqttDelivery(message, kind, { settled() {} }, 1000, [], [], null, null);
    writer.refused(delivery, refused, nothing);
    await writer.idle();
  }
  assert.equal(quarantine.dropped, 14);
  assert.deepEqual(lines, [{ dropped: 1 }]);
  quarantine.close();
});

test('one batch of a loud and a quiet sender keeps the item of the quiet one', () => {
  const quarantine = new Quarantine(join(directory, 'mixed.db'), 'i', 1 << 20);
  const loud = Array.from({ length: 100 }, (_, number) => entry(`home/evil/${number}`, 30_000));
  quarantine.add([entry('home/quiet/t'), ...loud]);
  assert.equal(quarantine.list(1000, null, null).items.at(-1)!.topic, 'home/quiet/t');
  quarantine.close();
});

test('a quarantine of version 0.2.0 opens, and at the bound its items give way to those of others', () => {
  const file = join(directory, 'v0.2.db');
  const old = new DatabaseSync(file);
  old.exec(`CREATE TABLE quarantine (id INTEGER PRIMARY KEY AUTOINCREMENT, received INTEGER NOT NULL,
    topic TEXT NOT NULL, format TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, position TEXT,
    readings INTEGER NOT NULL, source TEXT NOT NULL DEFAULT 'mqtt', part BLOB, payload BLOB NOT NULL) STRICT`);
  const insert = old.prepare(
    "INSERT INTO quarantine VALUES (NULL, 1, ?, 'auto', 'malformed', 'no', NULL, 1, 'mqtt', NULL, ?)",
  );
  for (let number = 0; number < 50; number++) insert.run(`home/old/${number}`, Buffer.alloc(10_000));
  old.close();
  for (let opening = 0; opening < 2; opening++) {
    const quarantine = new Quarantine(file, 'i', 1 << 20);
    assert.equal(quarantine.total, 50);
    assert.equal(quarantine.get(50)!.entry.topic, 'home/old/49');
    quarantine.close();
  }
  const quarantine = new Quarantine(file, 'i', 1 << 20);
  for (let number = 0; number < 60; number++) quarantine.add([entry('home/new/t', 10_000)]);
  assert.equal(quarantine.find(1), null);
  assert.equal(quarantine.list(1000, null, 'malformed').total, quarantine.total);
  const items = quarantine.list(1000, null, null).items;
  assert.equal(items.filter(({ topic }) => topic === 'home/new/t').length > 40, true);
  quarantine.close();
});

test('an item can be discarded once', () => {
  const quarantine = new Quarantine(join(directory, 'discard.db'), 'i', 1 << 20);
  quarantine.add([entry('a')]);
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

/** Bytes of a quarantine on disk, with all files that SQLite keeps for it. */
function diskUsage(name: string): number {
  const files = readdirSync(directory).filter((file) => file.startsWith(name) && !file.endsWith('-shm'));
  return files.reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
}

test('the files stay below the bound, whichever field of an item is long', () => {
  const bound = 8 << 20;
  const quarantine = new Quarantine(join(directory, 'disk.db'), 'i', bound);
  const sizes = [1, 700, 1400, 2100, 3950, 4062, 8200, 65_000, 1_500_000];
  let most = 0;
  let dropped = 0;
  let put = 0;
  for (let round = 0; round < 120; round++) {
    const size = sizes[round % sizes.length]!;
    const count = Math.min(300, Math.ceil(500_000 / (size + 200)));
    const batch = Array.from({ length: count }, (_, number) => ({
      ...entry('t', 1),
      ...[{ topic: 'ж'.repeat(size / 2) }, { payload: Buffer.alloc(size) }, { detail: 'x'.repeat(size) }][
        (round + number) % 3
      ],
    }));
    put += batch.length;
    dropped += quarantine.add(batch);
    for (let id = 7; id < put; id += 97) if (quarantine.discard(id)) put--;
    most = Math.max(most, diskUsage('disk.db'));
  }
  assert.ok(most <= bound, `${most} bytes`);
  assert.ok(most > bound / 2, `${most} bytes only: the bound is not used`);
  assert.equal(quarantine.total, put - dropped);
  quarantine.close();
});

test('a lower bound applies from the next start', () => {
  const first = new Quarantine(join(directory, 'lowered.db'), 'i', 4 << 20);
  for (let number = 0; number < 100; number++) first.add([entry(`t${number}`, 30_000)]);
  const { total } = first;
  first.close();
  const second = new Quarantine(join(directory, 'lowered.db'), 'i', 1 << 20);
  assert.ok(diskUsage('lowered.db') <= 1 << 20, `${diskUsage('lowered.db')} bytes`);
  assert.equal(second.total + second.dropped, total);
  assert.equal(second.list(1, null, null).items[0]!.topic, 't99');
  second.close();
});

test('of a batch that exceeds the bound, the newest items are kept and the number of others is returned', () => {
  const quarantine = new Quarantine(join(directory, 'batch.db'), 'i', 100_000);
  const dropped = quarantine.add(Array.from({ length: 50 }, (_, number) => entry(`t${number}`, 10_000)));
  assert.equal(quarantine.total + dropped, 50);
  assert.equal(quarantine.dropped, dropped);
  assert.equal(quarantine.list(1, null, null).items[0]!.topic, 't49');
  assert.ok(quarantine.total >= 5);
  quarantine.close();
});

test('a list is bounded in bytes, shortens long texts, and still shows every item', () => {
  const quarantine = new Quarantine(join(directory, 'list.db'), 'i', 256 << 20);
  const topics = Array.from({ length: 1000 }, (_, number) => `${number}`.padEnd(65_000, '\u0001'));
  for (let from = 0; from < topics.length; from += 10)
    quarantine.add(topics.slice(from, from + 10).map((topic) => entry(topic)));
  const seen: string[] = [];
  let after: number | null = null;
  do {
    const page = quarantine.list(1000, after, null);
    assert.ok(Buffer.byteLength(JSON.stringify(page)) < 0.6 * 1024 * 1024);
    for (const { topic, shortened } of page.items) {
      assert.equal(topic.length, 500);
      assert.ok(topic.endsWith('…') && shortened);
      seen.push(String(Number.parseInt(topic, 10)));
    }
    after = page.next;
  } while (after !== null);
  assert.deepEqual(seen, topics.map((_, number) => `${number}`).reverse());
  const whole = quarantine.find(1)!;
  assert.equal(whole.topic, topics[0]);
  assert.equal(whole.shortened, undefined);
  assert.deepEqual(Buffer.from(quarantine.read(1, 4, 100)), Buffer.alloc(6, 0xff));
  quarantine.close();
});
