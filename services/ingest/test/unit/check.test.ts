import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryDirectory } from '@tidegauge/process';
import { openStore } from '@tidegauge/storage';
import { entriesOf } from '@tidegauge/test-support/rot';
import { runHere } from '@tidegauge/test-support/run-here';
import { program } from '../../src/check/main.ts';
import { program as repairProgram } from '../../src/check/repair.ts';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import { Spool } from '../../src/spool.ts';
import { MESSAGES, recordingLogger, rotSubjects } from '../rot/subjects.ts';

const folder = temporaryDirectory('check');
after(() => folder.remove());
const sound = join(folder.path, 'sound');
const jsonDay = 'json/readings/2026-11-18.jsonl';
mkdirSync(join(sound, 'scratch'), { recursive: true });
const subjects = new Map((await rotSubjects(join(sound, 'scratch'))).map((each) => [each.name, each.sound]));
cpSync(join(sound, 'scratch/kept'), join(sound, 'json'), { recursive: true });
const FILES: Readonly<Record<string, string>> = {
  'SQLite store, blocks': 'tidegauge.db',
  spool: 'spool/i/000000000000.spool',
  'log of the relay': 'relay/i/000000000000.spool',
  ledger: 'i.ledger',
  clocks: 'i.clocks',
  quarantine: 'i.quarantine.db',
};

/** A data directory without damage. */
function dataDirectory(name: string): string {
  const directory = join(folder.path, name);
  cpSync(join(sound, 'json'), join(directory, 'json'), { recursive: true });
  for (const [subject, file] of Object.entries(FILES)) {
    mkdirSync(join(directory, file, '..'), { recursive: true });
    writeFileSync(join(directory, file), subjects.get(subject)!);
  }
  return directory;
}

async function check(directory: string, store: string) {
  const { code, stdout, stderr } = await runHere(
    program,
    ...['--data-dir', directory, '--store', `${store.replace(':', `:${directory}/`)}`, '--json'],
  );
  return {
    code,
    stderr,
    ...(JSON.parse(stdout) as { checked: string[]; damages: { file: string; unit: string }[] }),
  };
}

function damage(file: string, at: number): void {
  const data = readFileSync(file);
  data[at]! ^= 1;
  writeFileSync(file, data);
}

test('finds no damage in sound files, and names all that it checked', async () => {
  const directory = dataDirectory('without-damage');
  for (const store of ['sqlite:tidegauge.db', 'json:json']) {
    const { code, checked, damages } = await check(directory, store);
    assert.deepEqual([code, damages], [0, []]);
    assert.equal(checked.length, 6);
  }
});

test('names the damaged part of each kind of file, and ends with 1', async () => {
  const directory = dataDirectory('with-damage');
  const path = (name: string) => join(directory, name);
  for (const name of ['spool', 'log of the relay', 'ledger', 'clocks'])
    damage(path(FILES[name]!), Math.floor(subjects.get(name)!.length / 2));
  const quarantine = new DatabaseSync(path(FILES.quarantine!));
  quarantine.exec("update quarantine set payload = x'00' where id = 7");
  quarantine.close();
  const store = new DatabaseSync(path('tidegauge.db'));
  store.exec("update tidegauge_blocks set data = x'00' where id = 2");
  store.close();
  const found = await check(directory, 'sqlite:tidegauge.db');
  assert.equal(found.code, 1);
  const units = Object.fromEntries(
    found.damages.map(({ file, unit }) => [file.slice(directory.length + 1), unit]),
  );
  assert.deepEqual(Object.keys(units).sort(), Object.values(FILES).sort());
  assert.match(units['tidegauge.db']!, /^block 2 of site\/sensor-\d temperature from 2026-11-18T/);
  assert.equal(units['i.quarantine.db'], 'message 7');
  for (const file of ['i.ledger', 'i.clocks', FILES.spool!])
    assert.match(units[file]!, /^entry at byte \d+$/);
  const text = readFileSync(path(jsonDay), 'utf8');
  writeFileSync(path(jsonDay), text.replace('"seq":9}', '"seq":8}'));
  const { damages } = await check(directory, 'json:json');
  const lines = damages.filter(({ file }) => file.endsWith('.jsonl')).map(({ unit }) => unit);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^line at byte \d+ of site\/sensor-1 temperature at 2026-11-18T/);
});

test('refuses a store that does not exist, and reports that a server is not checked', async () => {
  const directory = dataDirectory('without-store');
  for (const path of [`sqlite:${directory}/none.db`, `json:${directory}/none`]) {
    for (const [each, ...args] of [[program, '--data-dir', directory], [repairProgram]] as const) {
      const { code, stderr } = await runHere(each, ...args, '--store', path);
      assert.equal(code, 2);
      assert.match(stderr, /there is no .*\/none(\.db)?: correct the path/);
    }
  }
  const server = await runHere(program, '--data-dir', directory, '--store', 'postgres://user@127.0.0.1/db');
  assert.equal(server.code, 0);
  assert.match(server.stdout, /^postgres:\/\/user@127.0.0.1\/db is not checked: it has no files here\n/);
});

async function repair(store: string, ...args: string[]) {
  const { code, stdout, stderr } = await runHere(repairProgram, '--store', store, ...args, '--json');
  return { code, stderr, ...(stdout === '' ? null : JSON.parse(stdout)) };
}

/** All readings by their identities. */
async function readingsOf(url: string): Promise<ReadonlyMap<string, string>> {
  const store = await openStore(url);
  try {
    return await entriesOf(store);
  } finally {
    await store.close();
  }
}

test('repair takes out a damaged block, and takes its readings from another store', async () => {
  const directory = dataDirectory('repair-block');
  const file = join(directory, 'tidegauge.db');
  const [url, other] = [`sqlite:${file}`, `sqlite:${join(directory, 'other.db')}`];
  cpSync(file, join(directory, 'other.db'));
  const all = await readingsOf(other);
  const db = new DatabaseSync(file);
  const block = db.prepare('select first, last, count from tidegauge_blocks where id = 2').get()!;
  db.exec("update tidegauge_blocks set data = x'00' where id = 2");
  db.close();
  await assert.rejects(readingsOf(url), /block 2/);

  const without = await repair(url);
  assert.equal(without.code, 1, without.stderr);
  assert.deepEqual(
    without.repaired.map(({ taken, lost }: { taken: number; lost: number }) => [taken, lost]),
    [[0, block.count]],
  );
  assert.equal((await readingsOf(url)).size, all.size - Number(block.count));
  const [kept] = readFileSync(`${file}.damaged`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual([kept.id, kept.first, kept.data], [2, block.first, 'AA==']);
  assert.deepEqual(await repair(url), { code: 0, stderr: '', damages: [], repaired: [] });

  const again = new DatabaseSync(file);
  again.exec("update tidegauge_blocks set data = x'00' where id = 1");
  again.close();
  const { code, repaired } = await repair(url, '--from', other);
  assert.deepEqual([code, repaired.length, repaired[0].lost], [0, 1, 0]);
  assert.equal((await readingsOf(url)).size, all.size - Number(block.count), 'only its own range is taken');
});

test('repair takes the reading of a damaged line of a JSON store from another store', async () => {
  const directory = dataDirectory('repair-line');
  const [url, other] = [`json:${join(directory, 'json')}`, `json:${join(directory, 'other')}`];
  cpSync(join(directory, 'json'), join(directory, 'other'), { recursive: true });
  const all = await readingsOf(other);
  const path = join(directory, jsonDay);
  writeFileSync(path, readFileSync(path, 'utf8').replace('"seq":9}', '"seq":8}'));
  assert.equal((await readingsOf(url)).size, all.size - 1);
  const store = await openStore(url);
  const { code, damages, repaired, stderr } = await repair(url, '--from', other);
  assert.equal(code, 0, stderr);
  assert.match(damages[0].fix, /^it is taken out, and kept in .*\.jsonl\.damaged$/);
  assert.match(readFileSync(`${path}.damaged`, 'utf8'), /^\{"crc":.*"seq":8\}\n$/);
  assert.deepEqual([repaired.length, repaired[0].taken, repaired[0].lost], [1, 1, 0]);
  assert.deepEqual([...(await readingsOf(url))], [...all]);
  // A process that used the file before goes on with the new one.
  const time = Date.UTC(2026, 10, 18, 12) * 1000;
  const rest = { received: time, boot: null, seq: null, quality: 'ok' } as const;
  await store.readings.write([{ device: 'probe-new', metric: 'level', time, value: 1, ...rest }]);
  await store.close();
  assert.equal((await readingsOf(url)).size, all.size + 1);
  const { damages: left } = await check(directory, 'json:json');
  assert.deepEqual(left, []);
});

test('repair refuses a server, and the store itself as its source', async () => {
  const server = await repair('postgres://user@127.0.0.1/db');
  assert.equal(server.code, 2);
  assert.match(server.stderr, /its own programs for repairs/);
  const own = await repair('sqlite:a.db', '--from', 'sqlite:a.db');
  assert.equal(own.code, 2);
  assert.match(own.stderr, /--from is the store itself/);
});

test('finds a changed name of a series in SQLite by its index', async () => {
  const directory = dataDirectory('structure');
  const file = join(directory, 'tidegauge.db');
  const data = readFileSync(file);
  data[data.indexOf('site/sensor-0temperature')]! ^= 1;
  writeFileSync(file, data);
  const { code, damages } = await check(directory, 'sqlite:tidegauge.db');
  assert.equal(code, 1);
  assert.deepEqual(new Set(damages.map(({ unit }) => unit)), new Set(['table series']));
});

test('finds no damage in files that are being written', async () => {
  const directory = dataDirectory('in-use');
  const { logger } = recordingLogger();
  const spool = new Spool(join(directory, 'spool/i'), 1e9, logger);
  for (const _ of spool.recover());
  const ledger = new LedgerFile(join(directory, 'i.ledger'), logger);
  ledger.recover();
  ledger.start();
  let isDone = false;
  const writing = (async () => {
    for (let seq = 0; !isDone; seq++) {
      await spool.append(MESSAGES.slice(0, 50));
      ledger.ledger.record('busy', 'b', seq);
      ledger.flush(Date.now() * 1000);
      await delay(2);
    }
  })();
  const results = [];
  try {
    for (let round = 0; round < 5; round++) results.push(await check(directory, 'sqlite:tidegauge.db'));
  } finally {
    isDone = true;
    await writing;
    await spool.close();
    await ledger.close();
  }
  assert.deepEqual(
    results.map(({ damages }) => damages),
    [[], [], [], [], []],
  );
});

test('refuses a directory that does not exist', async () => {
  const { code, stderr } = await runHere(
    program,
    '--data-dir',
    join(folder.path, 'none'),
    '--store',
    'null:',
  );
  assert.notEqual(code, 0);
  assert.match(stderr, /does not exist: check DATA_DIR/);
});
