import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Progress } from '@tidegauge/copy';
import { freePort, startProcess, temporaryDirectory, waitUntil } from '@tidegauge/process';
import type { BackupsDocument } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service';
import { openStore, type Store } from '@tidegauge/storage';
import { hasFiles, killUntilItEnds } from '@tidegauge/test-support/kill-until-it-ends';
import { fillStore } from '@tidegauge/test-support/sample-readings';
import { type BackupOptions, backUp as makeBackup } from '../../src/back-up.ts';
import { findBackup } from '../../src/backup-folder.ts';
import { drillNewest, lastVerified } from '../../src/drill.ts';
import { checkFiles, type Manifest, readManifest } from '../../src/manifest.ts';
import { restoreBackup } from '../../src/restore.ts';
import { BACKUP, backup, RESTORE, restore, result } from '../backups.ts';

const folder = temporaryDirectory('backup');
after(() => folder.remove());
let last = 0;
function fresh(prefix = ''): string {
  last += 1;
  return `${prefix}${folder.path}/${last}`;
}

const signal = new AbortController().signal;

/** Makes a backup, as the program does. */
async function backUp(store: string, to: string, format: BackupOptions['format'] = 'auto') {
  const { path, manifest } = await makeBackup({ store, to, format, keep: null }, signal);
  return { ...manifest, path };
}

/** Checks a backup and restores it, as the program does. Resolves to what differs, or null. */
async function restored(from: string, store: string): Promise<string | null> {
  const folder = await findBackup(from);
  const manifest = await readManifest(folder);
  await checkFiles(folder, manifest, signal);
  const progress = new Progress(new PassThrough(), 'restore');
  try {
    return await restoreBackup(folder, manifest, store, { signal, progress });
  } finally {
    progress.stop();
  }
}

async function withStore<T>(url: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(url);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

test('restores a SQLite file to SQLite and to another store', { timeout: 120_000 }, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 2000);
  await withStore(store, (opened) => opened.identify('this-data'));
  const made = await result(backup, '--store', store, '--to', to);
  assert.deepEqual([made.method, made.readings.count], ['sqlite', 2000]);
  assert.deepEqual(readdirSync(made.path).sort(), ['manifest.json', 'tidegauge.db']);
  assert.equal(statSync(made.path).mode & 0o077, 0);
  const file = readFileSync(join(made.path, 'tidegauge.db'));
  for (const target of [fresh('sqlite:'), fresh('json:')]) {
    const found = await result(restore, '--from', to, '--store', target);
    assert.deepEqual([found.verified, found.readings], [true, made.readings]);
    assert.equal(await withStore(target, (opened) => opened.identity()), 'this-data');
    assert.equal((await backUp(target, fresh(), 'portable')).readings.digest, made.readings.digest);
  }
  assert.ok(
    file.equals(readFileSync(join(made.path, 'tidegauge.db'))),
    'a restore does not change the backup',
  );
});

test('refuses a backup of a new store in place of the one of the earlier backups', async () => {
  const [store, to, empty] = [fresh('json:'), fresh(), fresh('json:')];
  await fillStore(openStore(store), 100);
  await withStore(store, (opened) => opened.identify('this-data'));
  await withStore(empty, async () => {});
  const made = await backUp(store, to);
  const { code, stderr } = await backup('--store', empty, '--to', to);
  assert.equal(code, 2);
  assert.match(stderr, /is a new store, not the one of the backups in .*: restore one of them to it/);
  assert.deepEqual(
    readdirSync(to).filter((name) => name.startsWith('tidegauge-')),
    [basename(made.path)],
  );
  assert.equal(await restored(to, empty), null);
  await backUp(empty, to);
});

test('restores lines of JSON to SQLite, exactly', { timeout: 120_000 }, async () => {
  const [store, to, target] = [fresh('json:'), fresh(), fresh('sqlite:')];
  await fillStore(openStore(store), 2000);
  const made = await backUp(store, to);
  assert.equal(made.method, 'portable');
  const names = ['devices-1.ndjson.gz', 'manifest.json', 'readings-1.ndjson.gz', 'units-1.ndjson.gz'];
  assert.deepEqual(readdirSync(made.path).sort(), names);
  const line = JSON.parse(
    gunzipSync(readFileSync(join(made.path, names[2]!)))
      .toString()
      .split('\n')[0]!,
  );
  assert.deepEqual(Object.keys(line).slice(0, 5), ['device', 'metric', 'time', 'value', 'received']);
  assert.equal(await restored(made.path, target), null);
  const again = await backUp(target, fresh(), 'portable');
  assert.deepEqual([again.readings, again.units, again.devices], [made.readings, made.units, made.devices]);
});

test('a drill verifies the newest backup, finds a damaged one, and leaves no file', {
  timeout: 60_000,
}, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 100);
  const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('tidegauge-drill-'));
  const before = leftovers();
  for (const format of ['portable', 'auto'] as const) {
    const made = await backUp(store, to, format);
    const began = Date.now();
    const { path, readings } = await drillNewest(to, signal);
    assert.deepEqual([path, readings], [made.path, 100]);
    assert.ok((await lastVerified(to))! >= began);
  }
  const { path } = await backUp(store, to, 'portable');
  appendFileSync(join(path, 'readings-1.ndjson.gz'), 'x');
  const last = await lastVerified(to);
  await assert.rejects(drillNewest(to, signal), /readings-1.ndjson.gz is damaged/);
  assert.equal(await lastVerified(to), last);
  assert.deepEqual(leftovers(), before);
});

test('has everything of an empty store', async () => {
  const [store, to] = [fresh('json:'), fresh()];
  await (await openStore(store)).close();
  assert.equal((await backUp(store, to)).readings.count, 0);
  assert.equal(await restored(to, fresh('sqlite:')), null);
});

test('refuses a store with data, a damaged backup, and what is no backup', { timeout: 120_000 }, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 100);
  const made = await backUp(store, to, 'portable');
  const empty = fresh();
  mkdirSync(empty);
  const refuses = async (from: string, target: string, reason: RegExp) => {
    const { code, stderr } = await restore('--from', from, '--store', target);
    assert.equal(code, 2, stderr);
    assert.match(stderr, reason);
    assert.equal(stderr.trim().split('\n').length, 1);
  };
  await refuses(to, store, /is not empty/);
  await refuses(empty, fresh('sqlite:'), /has no complete backup/);
  await refuses(fresh(), fresh('sqlite:'), /there is no/);
  const file = join(made.path, 'readings-1.ndjson.gz');
  appendFileSync(file, 'x');
  const target = fresh('sqlite:');
  await refuses(to, target, /readings-1.ndjson.gz is damaged/);
  assert.ok(!existsSync(target.slice('sqlite:'.length)), 'nothing is written');
  const manifest = join(made.path, 'manifest.json');
  const text = readFileSync(manifest, 'utf8');
  for (const [changed, reason] of [
    [text.replace('"version": 1', '"version": 2'), /version 2 of the format/],
    [text.replace('readings-1.nd', '../readings-1.nd'), /is damaged/],
    [text.slice(0, 100), /is not of a backup/],
  ] as const) {
    writeFileSync(manifest, changed);
    await refuses(to, target, reason);
  }
  const missing = await backup('--store', fresh('sqlite:'), '--to', fresh());
  assert.deepEqual([missing.code, /there is no/.test(missing.stderr)], [2, true], missing.stderr);
});

test('a backup that is killed leaves the earlier one, and none that looks complete', {
  timeout: 300_000,
}, async () => {
  const [store, to] = [fresh('json:'), fresh()];
  await fillStore(openStore(store), 8000);
  const first = await backUp(store, to);
  const args = [BACKUP, '--store', store, '--to', to];
  let interrupted = 0;
  const partial = () => readdirSync(to).find((name) => name.endsWith('.partial'));
  for (const afterMs of [0, 60, 120]) {
    const running = startProcess({ command: process.execPath, args });
    while (running.running && partial() === undefined) await sleep(2);
    await sleep(afterMs);
    if ((await running.kill()).signal === 'SIGKILL' && partial() !== undefined) interrupted += 1;
    for (const name of readdirSync(to)) {
      if (name.endsWith('.partial') || !name.startsWith('tidegauge-')) continue;
      const manifest = await readManifest(join(to, name));
      await checkFiles(join(to, name), manifest, signal);
      assert.equal(manifest.readings.digest, first.readings.digest);
    }
    assert.ok(readdirSync(to).includes(basename(first.path)), 'the earlier one stays');
  }
  assert.ok(interrupted > 0, 'a backup was interrupted');
  await backUp(store, to);
  assert.deepEqual(
    readdirSync(to).filter((name) => name.endsWith('.partial')),
    [],
    'the next backup removes what is left',
  );
});

test('restores a SQLite file after a restore that was killed, and never beside the log of another file', {
  timeout: 120_000,
}, async () => {
  const [store, other, to] = [fresh('sqlite:'), fresh(), fresh()];
  await fillStore(openStore(store), 300);
  await backUp(store, to);
  // What a kill leaves: a log with other data.
  const source = await openStore(`sqlite:${other}`);
  await source.devices.register(['of-another-database']);
  const log = readFileSync(`${other}-wal`);
  await source.close();
  for (const from of [to, (await backUp(store, fresh(), 'portable')).path]) {
    const target = join(fresh(), 'new', 'tidegauge.db');
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(`${target}.restoring`, 'half a file');
    writeFileSync(`${target}.restoring-wal`, log);
    assert.equal(await restored(from, `sqlite:${target}`), null);
    assert.deepEqual(readdirSync(dirname(target)), ['tidegauge.db']);
  }

  const second = fresh();
  writeFileSync(`${second}-wal`, log);
  const { code, stderr } = await restore('--from', to, '--store', `sqlite:${second}`);
  assert.equal(code, 2);
  assert.match(stderr, /^\S+-wal is left from another database: .*\n$/);
  assert.ok(!existsSync(second));
});

test('continues a restore that was killed', { timeout: 300_000 }, async () => {
  const [store, to, target] = [fresh('sqlite:'), fresh(), fresh('json:')];
  await fillStore(openStore(store), 6000);
  for (const format of ['portable', 'auto'] as const) {
    const made = await backUp(store, to, format);
    const place = `${target}-${format}`;
    const { kills } = await killUntilItEnds([RESTORE, '--from', made.path, '--store', place], () =>
      hasFiles(join(place.slice('json:'.length), 'readings')),
    );
    assert.ok(kills > 0, 'a restore was interrupted');
    assert.equal(await restored(made.path, place), null);
  }
});

test('--every reports a failure until a later attempt succeeds', { timeout: 60_000 }, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  const port = await freePort();
  const scheduled = [BACKUP, '--store', store, '--to', to, '--every', '1s', '--metrics-port', String(port)];
  const running = startProcess({ command: process.execPath, args: scheduled });
  const metrics = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Object.fromEntries(
      [...text.matchAll(/^tidegauge_backup_(\w+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
    );
  };
  const until = (condition: (found: Record<string, number>) => boolean) =>
    waitUntil('the metrics', async () => condition(await metrics().catch(() => ({}))), { timeoutMs: 30_000 });
  await until(({ failing }) => failing === 1);
  const failed = await metrics();
  assert.deepEqual([failed.last_timestamp_seconds, failed.interval_seconds], [0, 1]);
  assert.ok(failed.failures_total! >= 1);
  await fillStore(openStore(store), 10);
  await until(({ failing, last_timestamp_seconds: last }) => failing === 0 && last! > 1e9);
  assert.equal((await running.stop()).code, 0);
});

test('--every makes backups until it is stopped, and --keep deletes old ones', {
  timeout: 60_000,
}, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 100);
  mkdirSync(join(to, 'tidegauge-2020-01-01T00-00-00-000Z'), { recursive: true });
  writeFileSync(join(to, 'tidegauge-2020-01-01T00-00-00-000Z', 'manifest.json'), '{}');
  mkdirSync(join(to, 'other'));
  let log = '';
  const port = await freePort();
  const scheduled = [BACKUP, '--store', store, '--to', to, '--every', '1s', '--keep', '1d', '--drill', '1d'];
  const running = startProcess({
    command: process.execPath,
    args: [...scheduled, '--metrics-port', String(port)],
    onOutput: (text) => {
      log += text;
    },
  });
  while ((log.match(/: 100 readings, /g) ?? []).length < 2)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(
    metrics,
    /^tidegauge_backup_last_timestamp_seconds 1\.\d+e\+9$|^tidegauge_backup_last_timestamp_seconds \d{10}/m,
  );
  assert.match(metrics, /^tidegauge_backup_failures_total 0$/m);
  assert.match(metrics, /^tidegauge_backup_readings 100$/m);
  assert.equal(log.match(/restored and verified/g)?.length, 1, log);
  assert.equal((await running.stop()).code, 0, log);
  assert.match(log, /deleted tidegauge-2020-01-01/);
  const left = readdirSync(to).filter((name) => name.startsWith('tidegauge-'));
  assert.ok(left.length >= 1 && left.length <= 2, left.join());
  assert.ok(existsSync(join(to, 'other')), 'other folders stay');
});

test('a backup is made on request, and the list shows which restore was verified', {
  timeout: 60_000,
}, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 100);
  const port = await freePort();
  const scheduled = [BACKUP, '--store', store, '--to', to, '--every', '1d', '--metrics-port', String(port)];
  const running = startProcess({
    command: process.execPath,
    args: scheduled,
    env: { HTTP_TOKEN: 'a-token-of-some-length' },
  });
  const call = (method: string, headers = {}) =>
    fetch(`http://127.0.0.1:${port}/backups`, { method, headers });
  const list = async () => (await (await call('GET')).json()) as BackupsDocument;
  const until = (count: number) =>
    waitUntil(
      `${count} backups`,
      async () => {
        const found = await list().catch(() => null);
        return found?.total === count && !found.isRunning;
      },
      { timeoutMs: 30_000 },
    );
  await until(1);
  assert.equal((await call('POST')).status, 401);
  assert.equal((await call('POST', { Authorization: 'Bearer a-token-of-some-length' })).status, 202);
  await until(2);
  const [newest] = (await list()).backups;
  assert.deepEqual([newest!.readings, newest!.verified], [100, null]);
  const made = await result(restore, '--from', to, '--store', fresh('json:'));
  assert.equal(made.verified, true);
  const [verified, other] = (await list()).backups;
  assert.ok(Date.parse(verified!.verified!) > Date.parse(verified!.started));
  assert.equal(other!.verified, null);
  assert.equal((await running.stop()).code, 0);
});

test('texts with any character are restored exactly', { timeout: 60_000 }, async () => {
  const [store, to, target] = [fresh('sqlite:'), fresh(), fresh('json:')];
  const filled = await openStore(store);
  const texts = ['line\u2028end', 'par\u2029end', 'next\u0085line', 'a\r\nb', '\u001b[2J', '\ufeffx', '"\\'];
  const time = 1_700_000_000_000_000;
  const common = { device: 'a', metric: 'm', received: time, boot: null, seq: null, quality: 'ok' } as const;
  await filled.readings.write(texts.map((value, index) => ({ ...common, time: time + index, value })));
  await filled.close();
  const made = await backUp(store, to, 'portable');
  assert.equal(made.readings.count, texts.length);
  assert.equal(await restored(to, target), null);
});

test('only regular files of a backup are read', { timeout: 60_000 }, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 10);
  for (const format of ['portable', 'sqlite'] as const) {
    const { path } = await backUp(store, to, format === 'sqlite' ? 'auto' : format);
    const part = join(path, format === 'sqlite' ? 'tidegauge.db' : 'readings-1.ndjson.gz');
    for (const name of [part, join(path, 'manifest.json')]) {
      const bytes = readFileSync(name);
      const elsewhere = fresh();
      writeFileSync(elsewhere, bytes);
      for (const make of [
        () => execFileSync('mkfifo', [name]),
        () => symlinkSync('/dev/zero', name),
        () => symlinkSync(elsewhere, name),
        () => mkdirSync(name),
      ]) {
        rmSync(name);
        make();
        const check = async () => checkFiles(path, await readManifest(path), signal);
        await assert.rejects(check, (error: Error) => {
          assert.ok(error instanceof ConfigError && error.message.startsWith(name), error.message);
          return /not a regular file/.test(error.message);
        });
        rmSync(name, { recursive: true });
        writeFileSync(name, bytes);
      }
    }
    await assert.doesNotReject(async () => checkFiles(path, await readManifest(path), signal));
  }
  const pipe = fresh();
  execFileSync('mkfifo', [pipe]);
  await assert.rejects(openStore(`sqlite:${pipe}`), /not a regular file/);
});

test('a restore that fails leaves no SQLite file, and names the damaged part', {
  timeout: 60_000,
}, async () => {
  const [store, to] = [fresh('sqlite:'), fresh()];
  await fillStore(openStore(store), 100);
  const progress = new Progress(new PassThrough(), 'restore');
  after(() => progress.stop());
  const restore = async (folder: string, change: (manifest: Manifest) => object) => {
    const target = join(fresh(), 'tidegauge.db');
    const manifest = await readManifest(folder);
    const watching = { signal, progress };
    const outcome = await restoreBackup(
      folder,
      { ...manifest, ...change(manifest) },
      `sqlite:${target}`,
      watching,
    ).catch((error: unknown) => error);
    assert.deepEqual(readdirSync(dirname(target)), []);
    return outcome instanceof ConfigError ? outcome.message : String(outcome);
  };
  const other = ({ readings }: Manifest) => ({ readings: { ...readings, digest: '0'.repeat(64) } });
  const portable = (await backUp(store, to, 'portable')).path;
  const file = (await backUp(store, to)).path;
  assert.match(await restore(portable, other), /its readings have another digest/);
  assert.match(await restore(file, other), /tidegauge\.db: its readings have another digest/);
  // The manifest has the digest of a damaged file.
  for (const [folder, name] of [
    [portable, 'readings-1.ndjson.gz'],
    [portable, 'devices-1.ndjson.gz'],
    [file, 'tidegauge.db'],
  ] as const) {
    const bytes = readFileSync(join(folder, name));
    for (const damaged of [
      bytes.subarray(0, bytes.length / 2),
      Buffer.from('neither'),
      Buffer.from(bytes).fill(0, 10, bytes.length - 10),
    ]) {
      writeFileSync(join(folder, name), damaged);
      assert.match(
        await restore(folder, () => ({})),
        new RegExp(`${name.replaceAll('.', '\\.')}.* is damaged: `),
      );
    }
    writeFileSync(join(folder, name), bytes);
  }
});

test('a backup that was changed is refused with the place', { timeout: 60_000 }, async () => {
  const [store, to] = [fresh('json:'), fresh()];
  await fillStore(openStore(store), 100);
  const { path } = await backUp(store, to);
  const manifest = JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8'));
  const progress = new Progress(new PassThrough(), 'restore');
  after(() => progress.stop());
  const restore = async (changes: object, files: Readonly<Record<string, string>> = {}) => {
    const folder = fresh();
    mkdirSync(folder);
    for (const { name } of manifest.files) {
      const text = files[name];
      writeFileSync(join(folder, name), text === undefined ? readFileSync(join(path, name)) : gzipSync(text));
    }
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, ...changes }));
    const error = await readManifest(folder)
      .then((read) => restoreBackup(folder, read, fresh('json:'), { signal, progress }))
      .catch((error: unknown) => error);
    // The program prints its message without a stack.
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  };
  for (const name of ['..', '../x', '/etc/passwd', 'a/b', '', '.'])
    assert.match(
      await restore({ files: [{ name, bytes: 1, sha256: 'x' }] }),
      /manifest.json is damaged/,
      name,
    );
  assert.match(await restore({ method: 'sqlite' }), /manifest.json is damaged/);
  assert.match(await restore({ method: 'other' }), /manifest.json is damaged/);
  assert.match(await restore({ units: {} }), /manifest.json is damaged/);
  const devices = (text: string) => restore({}, { 'devices-1.ndjson.gz': text });
  assert.match(await devices('{"name":\n'), /devices-1.ndjson.gz, line 1 is not JSON: use another backup/);
  assert.match(await devices('null\n'), /devices-1.ndjson.gz, line 1 is not a device: use another backup/);
  assert.match(await devices('{"name":"../x"}\n'), /devices-1.ndjson.gz, line 1: device segment "\.\."/);
  assert.match(await restore({}, { 'units-1.ndjson.gz': '5\n' }), /units-1.ndjson.gz, line 1 is not a unit/);
});

test('refuses a drill without a schedule', async () => {
  const args = ['--store', fresh('sqlite:'), '--to', fresh(), '--drill', '1d'];
  const { code, stderr } = await backup(...args);
  assert.equal(code, 2);
  assert.match(stderr, /^--drill needs --every: /);
});
