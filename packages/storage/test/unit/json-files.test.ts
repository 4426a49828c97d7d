import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { collect, reading, rejection, series, stored, T0 } from '../../conformance/data.ts';
import { createStore, openStore, type Store, StoreError } from '../../src/index.ts';
import { JsonBackend } from '../../src/json/backend.ts';
import { SYSTEM_ERRORS, toStoreError } from '../../src/json/errors.ts';
import { withChecksum, withoutChecksum } from '../../src/json/line-checksum.ts';

const HOUR = 3_600_000_000;
const DAY = 24 * HOUR;

interface Warning {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

let folder = '';
let stores: Store[] = [];
let warnings: Warning[] = [];

const logger = {
  debug() {},
  info() {},
  error() {},
  warn: (fields: object) => {
    warnings.push(fields as Warning);
  },
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidegauge-json-'));
  warnings = [];
});

afterEach(async () => {
  for (const store of stores) await store.close();
  stores = [];
  await rm(folder, { recursive: true, force: true });
});

/** Opens a store on the folder. Each has its own open files and its own index, like a separate process. */
async function open(options = ''): Promise<Store> {
  const store = await openStore(`json:${folder}/data${options}`, { logger });
  stores.push(store);
  return store;
}

/** The lines that are not blank. Every batch starts with a line of blanks. */
const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
const path = (name: string) => join(folder, 'data', name);
const today = () => path('readings/2026-11-21.jsonl');

describe('json files', () => {
  test('contain one reading per line in a readable form', async () => {
    const store = await open();
    await store.readings.write([
      reading({ device: 'site-3/probe-7', value: -0 }),
      reading({ device: 'site-3/probe-7', time: T0 + 1, value: 'on', boot: 'b', seq: 7, quality: 'skewed' }),
    ]);
    const expected = [
      `{"device":"site-3/probe-7","metric":"temperature","time":${T0},"value":-0,"received":${T0 + 1500}}`,
      `{"device":"site-3/probe-7","metric":"temperature","time":${T0 + 1},"value":"on","received":${T0 + 1501},` +
        `"boot":"b","seq":7,"quality":"skewed"}`,
    ];
    assert.deepEqual(lines(await readFile(today(), 'utf8')), expected.map(withChecksum));
    const catalogue = await readFile(path('series.jsonl'), 'utf8');
    assert.equal(
      catalogue.trim(),
      withChecksum('{"day":"2026-11-21","device":"site-3/probe-7","metrics":["temperature"]}'),
    );
  });

  test('skip a line with a changed value, and use the others', async () => {
    const batch = series('a', 5);
    await (await open()).readings.write(batch);
    const text = await readFile(today(), 'utf8');
    const place = `"time":${batch[2]!.time},`;
    // A digit of the time: the line stays a valid reading.
    await writeFile(
      today(),
      text.replace(
        place,
        place.replace(/\d,$/, (end) => (end === '1,' ? '2,' : '1,')),
      ),
    );
    const store = await open();
    assert.deepEqual(await stored(store, 'a'), batch.toSpliced(2, 1));
    assert.equal(warnings.length, 1);
  });

  test('use lines without a checksum, as version 0.2.0 and other programs write them', async () => {
    const batch = series('a', 5);
    await (await open()).readings.write(batch);
    const text = await readFile(today(), 'utf8');
    const plain = lines(text).map((line) => withoutChecksum(line)!);
    assert.ok(plain.every((line) => !line.includes('crc')));
    await writeFile(today(), `${plain.join('\n')}\n`);
    assert.deepEqual(await stored(await open(), 'a'), batch);
    assert.deepEqual(warnings, []);
  });

  test('use the later states of a document after a damaged one', async () => {
    const device = { name: 'a', site: null, city: 'Bari', kind: null, year: null, attributes: {} };
    const store = await open();
    for (const city of ['Bari', 'Como', 'Pisa']) await store.devices.put({ ...device, city });
    const text = await readFile(path('devices.jsonl'), 'utf8');
    await writeFile(path('devices.jsonl'), text.replace('Como', 'Cuno'));
    assert.equal((await (await open()).devices.get('a'))?.city, 'Pisa');
    assert.equal(warnings.length, 1);
  });

  test('do not grow by duplicates', async () => {
    const store = await open();
    const batch = series('a', 100);
    await store.readings.write(batch);
    const { size } = await stat(today());
    await store.readings.write(batch);
    await (await open()).readings.write(batch);
    assert.equal((await stat(today())).size, size);
  });

  test('survive an incomplete line of a crashed writer', async () => {
    const batch = series('a', 30);
    await (await open()).readings.write(batch.slice(0, 10));
    const torn = (await stat(today())).size;
    await appendFile(today(), '\n{"device":"a","metric":"temperature","time":17952192');
    const other = await open();
    assert.deepEqual(await stored(other, 'a'), batch.slice(0, 10));
    assert.deepEqual(warnings, []);
    await other.readings.write(batch.slice(10, 20));
    await stores[0]!.readings.write(batch.slice(20));
    for (const store of [...stores, await open()]) assert.deepEqual(await stored(store, 'a'), batch);
    assert.deepEqual(
      new Set(warnings.map(({ file, offset }) => `${file} ${offset}`)),
      new Set([`${today()} ${torn + 1}`]),
    );
  });

  test('skip invalid lines, and log each once with file and byte', async () => {
    const store = await open();
    const batch = series('a', 20);
    await store.readings.write(batch.slice(0, 10));
    const { size } = await stat(today());
    const wrongDay = JSON.stringify(reading({ device: 'a', time: T0 + DAY }));
    const garbage = ['what is this', '{"device":"a"}', '[1]', '\0'.repeat(5000), wrongDay, '\u{1F30A}'];
    await appendFile(today(), `${garbage.join('\n')}\n`);
    await store.readings.write(batch.slice(10));
    for (let round = 0; round < 2; round += 1) assert.deepEqual(await stored(store, 'a'), batch);
    assert.equal(warnings.length, garbage.length);
    assert.deepEqual(warnings[0], { file: today(), offset: size, length: garbage[0]!.length });
  });

  test('skip very long lines without reading them into memory', async () => {
    const store = await open();
    await store.readings.write(series('a', 2));
    await appendFile(today(), `${'x'.repeat(3_000_000)}\n`);
    assert.deepEqual(await stored(await open(), 'a'), series('a', 2));
    assert.equal(warnings.length, 1);
  });

  test('are read again after they were truncated', async () => {
    const store = await open();
    const batch = series('a', 3);
    await store.readings.write(batch);
    const [, second] = lines(await readFile(today(), 'utf8'));
    await writeFile(today(), `${second}\n`);
    assert.deepEqual(await stored(store, 'a'), [batch[1]]);
  });
});

describe('json files that were deleted or copied', () => {
  test('are created again by the next write', async () => {
    const store = await open();
    const [first, second] = series('a', 2);
    await store.readings.write([first!]);
    await store.devices.register(['a']);
    await rm(today());
    await rm(path('devices.jsonl'));
    await store.readings.write([second!]);
    await store.devices.register(['b']);
    for (const one of [store, await open()]) {
      assert.deepEqual(await stored(one, 'a'), [second]);
      assert.equal(await one.devices.get('a'), null);
      assert.notEqual(await one.devices.get('b'), null);
    }
  });

  test('are found after a copy by the next start, also without the catalogue', async () => {
    const batch = [...series('a', 3), reading({ device: 'a', time: T0 + DAY }), reading({ device: 'b' })];
    await (await open()).readings.write(batch);
    await rm(path('series.jsonl'));
    await rename(path('readings/2026-11-22.jsonl'), path('moved'));
    const store = await open();
    assert.deepEqual(await stored(store, 'a'), batch.slice(0, 3));
    await rename(path('moved'), path('readings/2026-11-22.jsonl'));
    const again = await open();
    assert.deepEqual(await stored(again, 'a'), batch.slice(0, 4));
    assert.deepEqual(await again.readings.latest(['b', 'a']), batch.slice(3));
  });

  test('do not bring their readings back', async () => {
    const store = await open();
    await store.readings.write(series('a', 3));
    await rm(today());
    assert.deepEqual(await stored(store, 'a'), []);
    assert.deepEqual(await store.readings.latest(['a']), []);
  });
});

describe('json stores on one folder', () => {
  test('count every reading once when batches are concurrent', async () => {
    const writers = [await open(), await open(), await open()];
    const batches = Array.from({ length: 40 }, (_, index) => series('a', 50).slice(index, index + 10));
    const results = await Promise.all(
      batches.flatMap((batch) => writers.map((store) => store.readings.write(batch))),
    );
    const sum = (key: 'stored' | 'duplicate') => results.reduce((total, result) => total + result[key], 0);
    assert.deepEqual([sum('stored'), sum('duplicate')], [49, 1151]);
    for (const store of writers) assert.deepEqual(await stored(store, 'a'), series('a', 49));
  });

  test('agree on which correction came last', async () => {
    const writers = [await open(), await open()];
    for (let round = 0; round < 30; round += 1) {
      await Promise.all(
        writers.map((store, index) =>
          store.readings.write([reading({ device: 'a', value: round + index / 2 })]),
        ),
      );
      const [left, right] = await Promise.all(writers.map((store) => stored(store, 'a')));
      assert.deepEqual(left, right);
      assert.equal(Math.floor(left![0]!.value as number), round);
    }
  });

  test('lose no change of a device when they change different fields at the same time', async () => {
    const [one, two] = [await open(), await open()];
    await one.devices.register(['a']);
    for (let year = 1; year <= 50; year += 1) {
      await Promise.all([
        one.devices.patch('a', { year }),
        two.devices.patch('a', { city: `city ${year}` }),
        two.devices.patchWhere({ year: year - 1 }, { kind: `kind ${year - 1}` }),
      ]);
      for (const store of [one, two]) {
        const device = await store.devices.get('a');
        assert.deepEqual([device?.year, device?.city], [year, `city ${year}`]);
      }
    }
  });

  test('accept one of many concurrent inserts of the same key', async () => {
    const writers = [await open(), await open(), await open()];
    await writers[0]!.records.createTable('usertable', 1);
    for (let key = 0; key < 30; key += 1) {
      const won = await Promise.all(
        writers.map((store, index) => store.records.insert('usertable', `k${key}`, { field0: `${index}` })),
      );
      assert.deepEqual(won.toSorted(), [false, false, true]);
      const record = await writers[0]!.records.read('usertable', `k${key}`, null);
      assert.deepEqual(record, { field0: `${won.indexOf(true)}` });
    }
  });

  test('compact a file with mostly old lines, and continue in the new file', async () => {
    const [one, two] = [await open(), await open()];
    const names = Array.from({ length: 500 }, (_, index) => `device-${String(index).padStart(3, '0')}`);
    await one.devices.register(names);
    for (let round = 1; round <= 40; round += 1) {
      const store = round % 2 === 0 ? one : two;
      assert.equal(await store.devices.patchWhere({}, { year: round, city: 'Ostende' }), 500);
    }
    await two.devices.delete(names[7]!);
    const files = (await readdir(path(''))).filter((name) => name.startsWith('devices'));
    assert.equal(files.length, 1);
    assert.match(files[0]!, /^devices\.\d+\.jsonl$/);
    assert.ok((await stat(path(files[0]!))).size < 2_000_000);
    for (const store of [one, two, await open()]) {
      const devices = await store.devices.list({ year: 40, limit: 1000 });
      assert.deepEqual(
        devices.map(({ name }) => name),
        names.filter((name) => name !== names[7]),
      );
    }
  });

  test('finish the compaction of a crashed process that has sealed a file', async () => {
    const store = await open();
    await store.devices.register(['a', 'b']);
    await appendFile(path('devices.jsonl'), '\n{"sealed":"compacted"}\n');
    await appendFile(path('devices.jsonl'), '\n{"key":"behind the seal","document":null}\n');
    assert.equal((await store.devices.list({ limit: 10 })).length, 2);
    await store.devices.register(['c']);
    assert.ok((await readdir(path(''))).includes('devices.2.jsonl'));
    const names = (await (await open()).devices.list({ limit: 10 })).map(({ name }) => name);
    assert.deepEqual(names, ['a', 'b', 'c']);
  });
});

describe('json memory', () => {
  test('is bounded: days beyond the limit are removed and read again when needed', async () => {
    const backend = new JsonBackend({ folder: path('bounded'), memoryBytes: 300_000 }, { logger });
    await backend.open();
    await backend.migrate();
    try {
      const days = Array.from({ length: 12 }, (_, day) => day);
      for (const day of days) {
        const batch = series('a', 5000).map((one) => ({ ...one, time: one.time + day * DAY }));
        await backend.readings.write(batch);
        assert.ok(backend.readings.indexBytes <= 300_000, `${backend.readings.indexBytes} bytes`);
      }
      const all = await collect(backend.readings.range({ device: 'a', order: 'asc', limit: 100_000 }));
      assert.equal(all.length, 60_000);
      assert.ok(all.every(({ time }, index) => index === 0 || time > all[index - 1]!.time));
      assert.ok(backend.readings.indexBytes <= 300_000, `${backend.readings.indexBytes} bytes`);
    } finally {
      await backend.close();
    }
  });

  test('returns the newest readings of inactive devices without loading their days, and detects changes', async () => {
    const store = await open('?memoryMiB=1');
    const silent = Array.from({ length: 3 }, (_, day) =>
      reading({ device: `silent-${day}`, time: T0 - day * DAY }),
    );
    await store.readings.write(silent);
    for (let day = 1; day < 5; day += 1) {
      await store.readings.write(
        series('busy', 20_000).map((one) => ({ ...one, time: one.time + day * DAY })),
      );
    }
    const names = silent.map(({ device }) => device);
    for (let round = 0; round < 2; round += 1) assert.deepEqual(await store.readings.latest(names), silent);
    const correction = { ...silent[2]!, value: 99 };
    await (await open()).readings.write([correction]);
    assert.deepEqual(await store.readings.latest(names), [silent[0], silent[1], correction]);
  });
});

describe('json deletion', () => {
  test('is seen by other processes, and after a restart', async () => {
    const [store, other] = [await open(), await open()];
    await store.readings.write([...series('a', 20), ...series('b', 20)]);
    assert.equal((await stored(other, 'a')).length, 20);
    assert.equal(await store.readings.delete({ device: 'a', from: T0 + 5e6, to: T0 + 15e6 }), 10);
    const left = [...series('a', 5), ...series('a', 20).slice(15)];
    for (const one of [store, other, await open()]) {
      assert.deepEqual(await stored(one, 'a'), left);
      assert.deepEqual(await stored(one, 'b'), series('b', 20));
    }
    assert.equal(warnings.length, 0);
  });

  test('makes the space of deleted readings free, in a day that stays', async () => {
    const [store, other] = [await open(), await open()];
    const all = [...series('a', 3000), ...series('b', 3000)];
    await store.readings.write(all);
    assert.equal((await stored(other, 'b')).length, 3000);
    const before = (await stat(today())).size;
    assert.equal(await store.readings.delete({ device: 'a', to: T0 + 2900e6 }), 2900);
    const [name] = await readdir(path('readings'));
    const { size } = await stat(path(`readings/${name}`));
    assert.ok(size < 0.56 * before, `${size} of ${before} bytes`);
    const late = reading({ device: 'b', time: T0 + 1, value: 'late' });
    await other.readings.write([late]);
    for (const one of [store, other, await open()]) {
      assert.deepEqual(await stored(one, 'a'), series('a', 3000).slice(2900));
      assert.deepEqual(await stored(one, 'b', { from: T0 + 1 }), [late, ...series('b', 3000).slice(1)]);
    }
    assert.equal(warnings.length, 0);
  });

  test('loses no reading that another process writes at the same time', async () => {
    const [store, other] = [await open(), await open()];
    await store.readings.write(series('a', 2000));
    const kept = series('b', 600);
    const writes = (async () => {
      for (let start = 0; start < kept.length; start += 20)
        await other.readings.write(kept.slice(start, start + 20));
    })();
    for (let part = 0; part < 20; part += 1)
      assert.equal(await store.readings.delete({ device: 'a', to: T0 + (part + 1) * 100e6 }), 100);
    await writes;
    for (const one of [store, other, await open()]) {
      assert.deepEqual(await stored(one, 'b'), kept);
      assert.deepEqual(await stored(one, 'a'), []);
    }
  });
});

describe('json expiry', () => {
  test('drops whole days, and older readings on the day of the boundary', async () => {
    const [store, other] = [await open(), await open()];
    const hours = Array.from({ length: 72 }, (_, hour) => reading({ device: 'a', time: T0 + hour * HOUR }));
    const old = reading({ device: 'old', time: T0 + HOUR });
    await store.readings.write([...hours, old]);
    assert.equal((await stored(other, 'a')).length, 72);
    assert.equal(await store.readings.expire(T0 + 30 * HOUR), 31);
    for (const one of [store, other, await open()]) {
      assert.deepEqual(await stored(one, 'a'), hours.slice(30));
      assert.deepEqual(await one.readings.latest(['a', 'old']), [hours[71]]);
    }
    assert.deepEqual(await readdir(path('readings')), ['2026-11-22.jsonl', '2026-11-23.jsonl']);
    assert.equal(await other.readings.expire(T0 + 30 * HOUR), 0);
  });

  test('accepts new readings of an expired day, also from a process that had the day open', async () => {
    const [store, other] = [await open(), await open()];
    const late = reading({ device: 'a' });
    for (const one of [other, store, other, store]) {
      assert.deepEqual(await one.readings.write([late]), { stored: 1, duplicate: 0 });
      assert.deepEqual(await one.readings.write([late]), { stored: 0, duplicate: 1 });
      assert.deepEqual(await stored(store, 'a'), [late]);
      assert.deepEqual(await stored(other, 'a'), [late]);
      assert.equal(await store.readings.expire(T0 + DAY), 1);
      assert.deepEqual(await stored(other, 'a'), []);
    }
  });

  test('loses no newer reading while days are dropped and written at the same time', async () => {
    const [store, other] = [await open(), await open()];
    for (let round = 0; round < 20; round += 1) {
      const time = T0 + round * 1000;
      const [gone, result] = await Promise.all([
        store.readings.expire(T0 + DAY),
        other.readings.write([reading({ device: 'a', time }), reading({ device: 'a', time: time + DAY })]),
      ]);
      assert.equal(result.stored, 2);
      const left = (await stored(store, 'a', { to: T0 + DAY })).length;
      const dropped = await store.readings.expire(T0 + DAY);
      assert.equal(left, dropped);
      assert.ok((gone ?? 0) + left === 1, `round ${round}: ${gone} dropped, ${left} left`);
      assert.equal((await stored(other, 'a')).length, round + 1);
    }
  });
});

describe('json errors', () => {
  test('name the path and a fix when a file is in place of the folder', async () => {
    await writeFile(path(''), 'a file');
    for (const place of [`${folder}/data`, `${folder}/data/below`]) {
      const store = await createStore(`json:${place}`);
      const error = await rejection(store.open(), 'MISCONFIGURED');
      assert.ok(error.message.includes(`${folder}/data`), error.message);
      assert.match(error.hint ?? '', /a file in place of a folder/);
      await store.close();
    }
  });

  test('refuse a folder of a newer version or of another program', async () => {
    await open();
    await writeFile(path('format.json'), '{"format":"tidegauge-json","version":2}');
    const newer = await rejection(openStore(`json:${folder}/data`), 'MISCONFIGURED');
    assert.match(newer.message, /version 2, this program reads 1/);
    for (const text of ['{"format":"other","version":1}', 'null', '']) {
      await writeFile(path('format.json'), text);
      const foreign = await rejection(openStore(`json:${folder}/data`), 'MISCONFIGURED');
      assert.match(foreign.message, /does not belong to a Tidegauge store/);
    }
  });

  test('are mapped from system calls by one table, with a hint each', () => {
    for (const [code, meaning] of Object.entries(SYSTEM_ERRORS)) {
      const failure = { code, syscall: 'write', path: '/data/readings/x.jsonl' };
      const cause = Object.assign(new Error('failed'), failure);
      const error = toStoreError(cause, '/data');
      assert.ok(error instanceof StoreError);
      assert.deepEqual([error.code, error.hint, error.cause], [meaning.code, meaning.hint, cause]);
      assert.ok(error.message.includes('/data/readings/x.jsonl') && error.message.includes(code));
    }
    const odd = toStoreError(Object.assign(new Error('odd'), { code: 'EODD', syscall: 'write' }), '/data');
    assert.ok(odd instanceof StoreError && odd.code === 'UNEXPECTED');
    for (const other of [new StoreError('REJECTED', 'as it is'), new RangeError('a mistake in here')]) {
      assert.equal(toStoreError(other, '/data'), other);
    }
  });

  test('name an unknown URL option', async () => {
    const error = await rejection(createStore(`json:${folder}?memory=1`), 'MISCONFIGURED');
    assert.match(error.hint ?? '', /memoryMiB/);
  });
});

test('stores that drop one table at nearly the same moment leave no file of it', async () => {
  const all = [await open(), await open(), await open(), await open()];
  const soon = (): Promise<void> => delay(Math.random() * 3);
  for (let round = 0; round < 200; round++) {
    await Promise.all(all.map((store) => store.records.createTable('table', 2)));
    await Promise.all(all.map((store) => soon().then(() => store.records.dropTable('table'))));
    assert.deepEqual(await readdir(join(folder, 'data', 'records')), []);
  }
});
