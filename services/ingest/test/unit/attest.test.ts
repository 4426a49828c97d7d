import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { dayName } from '@tidegauge/copy';
import { now, type Reading, toReadingDocument } from '@tidegauge/readings';
import { createLogger } from '@tidegauge/service';
import { compareText, openStore, type Store } from '@tidegauge/storage';
import { runHere } from '@tidegauge/test-support/run-here';
import { readChain } from '../../src/attest/chain.ts';
import type { AttestedDay } from '../../src/attest/document.ts';
import { judge } from '../../src/attest/gaps.ts';
import { program } from '../../src/attest/main.ts';
import { LedgerFile } from '../../src/ledger/ledger-file.ts';
import { dayOf } from '../../src/relay/day-digest.ts';

const VERIFIER = new URL('../../src/attest/verify_attestation.py', import.meta.url).pathname;
const TAMPER = new URL('../tamper_attestations.py', import.meta.url).pathname;
const HOUR = 3_600_000_000;
const DAY = 24 * HOUR;
/** Midnight of the first of four days, microseconds. */
const FIRST = (dayOf(now()) - 6) * DAY;
/** Two of them never arrive, one is replaced later, and two at the end of the second day never arrive. */
const LACKING = [30, 31, 40, 95, 96];
const ARRIVED = 40;
const LATE = 50;
const BOILER = 'site-1/boiler';
const DOOR = 'site-1/tür';

/** Four days of two metrics with one numbering, and a device without numbers. */
function fourDays(): Reading[] {
  const found: Reading[] = [];
  for (let seq = 0; seq < 192; seq++) {
    const time = FIRST + seq * (HOUR / 2);
    const received = seq === LATE ? time + HOUR : time + 1000 + seq;
    const metric = seq % 2 === 0 ? 'temperature' : 'humidity';
    const value = seq % 7 === 0 ? -0 : 20 + seq / 3;
    if (!LACKING.includes(seq))
      found.push({ device: BOILER, metric, time, value, received, boot: 'b1', seq, quality: 'ok' });
  }
  for (const [index, value] of ['offen', '"zu", \n', '', '\u2028é🙂'].entries()) {
    const time = FIRST + index * DAY + 5;
    const received = time - 7_000_000;
    found.push({
      device: DOOR,
      metric: 'lage',
      time,
      value,
      received,
      boot: null,
      seq: null,
      quality: 'skewed',
    });
  }
  return found;
}

interface Bench {
  readonly directory: string;
  readonly documents: string;
  readonly store: Store;
  /** Runs the program. Resolves to its exit code and output. */
  attest(
    ...args: string[]
  ): Promise<{ readonly code: number; readonly output: string; readonly errors: string }>;
  verify(...args: string[]): { readonly code: number | null; readonly output: string };
}

async function bench(context: TestContext): Promise<Bench> {
  const directory = mkdtempSync(join(tmpdir(), 'tidegauge-attest-'));
  const url = `sqlite:${join(directory, 'store.db')}?synchronous=normal`;
  let clock = FIRST + 5 * DAY;
  const store = await openStore(url, { clock: () => clock });
  context.after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await store.readings.write(fourDays());
  clock += HOUR;
  while ((await store.rollups.work()).more);
  const ledger = new LedgerFile(join(directory, 'tidegauge-ingest.ledger'), createLogger('test', 'silent'));
  ledger.start();
  for (let seq = 0; seq < 192; seq++)
    if (!LACKING.includes(seq) || seq === ARRIVED) ledger.ledger.record(BOILER, 'b1', seq);
  await ledger.close();
  const documents = join(directory, 'attestations');
  return {
    directory,
    documents,
    store,
    async attest(...args) {
      const options = ['--store', url, '--data-dir', directory, '--json'];
      const { code, stdout, stderr } = await runHere(program, ...args, ...options);
      return { code, output: stdout, errors: stderr };
    },
    verify(...args) {
      const { status, stdout, stderr } = spawnSync('python3', [VERIFIER, ...args], { encoding: 'utf8' });
      return { code: status, output: stdout + stderr };
    },
  };
}

const nameOf = (day: number): string => dayName(dayOf(FIRST) + day);

/** The days of a document. */
function linesOf(path: string): AttestedDay[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(1, -2);
  return lines.map((line) => JSON.parse(line) as AttestedDay);
}

/** As `GET /v1/export` writes it. */
async function exportTo(file: string, store: Store): Promise<void> {
  const lines: string[] = [];
  for (const device of [BOILER, DOOR]) {
    for (const metric of (await store.readings.metrics(device, 10)).sort(compareText)) {
      for await (const reading of store.readings.range({ device, metric, order: 'asc', limit: 1e6 })) {
        const line = JSON.stringify(toReadingDocument(reading));
        lines.push(Object.is(reading.value, -0) ? line.replace('"value":0,', '"value":-0,') : line);
      }
    }
  }
  writeFileSync(file, `${lines.join('\n')}\n{"complete":true,"rows":${lines.length}}\n`);
}

test('a chain states gaps, corrections and deletions, and an export is verified against it', async (context) => {
  const { directory, documents, store, attest, verify } = await bench(context);
  const file = join(directory, 'export.ndjson');
  const days = (from: number, to: number) => ['--from', nameOf(from), '--to', nameOf(to)];
  const paths = () => readChain(documents).map(({ path }) => path);

  const first = await attest(...days(0, 1));
  assert.equal(first.code, 0, first.output);
  const { key, sha256, ...totals } = JSON.parse(first.output);
  const one = linesOf(totals.document);
  assert.deepEqual(
    one.map(({ device, day, count }) => [device, day, count]),
    [
      [BOILER, nameOf(0), 45],
      [BOILER, nameOf(1), 47],
      [DOOR, nameOf(0), 1],
      [DOOR, nameOf(1), 1],
    ],
  );
  const numbers = [
    [0, 29],
    [32, 39],
    [41, 47],
  ] as const;
  assert.deepEqual(one[0]!.boots, [
    { boot: 'b1', numbers, late: 0, missing: [[30, 31]], arrived: [[40, 40]] },
  ]);
  assert.deepEqual([one[1]!.boots![0]!.late, one[2]!.delay], [1, [-7_000_000, -7_000_000]]);
  assert.deepEqual([totals.missing, totals.arrived, totals.unjudged, totals.late], [2, 1, 0, 1]);

  // A correction of the second day, and the gap at its end belongs to the third one.
  const corrected = fourDays().find(({ seq }) => seq === 60)!;
  await store.readings.write([{ ...corrected, value: 99, received: corrected.received + DAY }]);
  const second = JSON.parse((await attest(...days(1, 3))).output);
  const two = linesOf(second.document);
  assert.deepEqual(two[0]!.was, { document: 1, count: 47, digest: one[1]!.digest });
  assert.deepEqual([two[0]!.boots![0]!.before, two[1]!.boots![0]!.missing], [47, [[95, 96]]]);
  assert.equal(second.changed, 1);
  await exportTo(file, store);
  const verified = verify('--key', key, ...paths(), '--export', file, '--newest', second.sha256);
  assert.equal(verified.code, 0, verified.output);
  assert.match(
    verified.output,
    /4 numbers missing, 1 arrived.*\n8 days of devices and 191 readings.*equal\nverified/,
  );
  const older = verify('--key', key, ...paths(), '--export', file, '--until', '1', '--to', nameOf(1));
  assert.equal(older.code, 1);
  assert.match(older.output, /first difference: site-1\/boiler .*: document 1 has another value/);
  assert.equal(verify('--key', key, paths()[1]!, '--after', sha256).code, 0);

  // Another key signs the next documents, and retention deletes the first day.
  const rotated = await attest('rotate');
  assert.equal(rotated.code, 0, rotated.output);
  await store.rollups.limitRaw(FIRST + DAY);
  await store.readings.delete({ device: BOILER, to: FIRST + DAY, keepRollups: true });
  const last = JSON.parse((await attest(...days(0, 3))).output);
  assert.notEqual(last.key, key);
  assert.equal(last.key, JSON.parse(rotated.output).key);
  const { count, deleted, was } = linesOf(last.document)[0]!;
  assert.deepEqual([count, deleted, was?.document], [0, 45, 1]);
  assert.equal(verify('--key', key, ...paths(), '--export', file).code, 1);
  assert.equal(verify('--key', key, ...paths(), '--export', file, '--until', '3').code, 0);
  await exportTo(file, store);
  assert.equal(verify('--key', key, ...paths(), '--export', file).code, 0);
  assert.match(verify('--key', last.key, ...paths()).output, /the key is [0-9a-f]{64}, and not/);
});

test('random tampering with documents and exports is found', async (context) => {
  const { directory, documents, store, attest } = await bench(context);
  const { key } = JSON.parse((await attest('--from', nameOf(0), '--to', nameOf(1))).output);
  await attest('rotate');
  await attest('--from', nameOf(1), '--to', nameOf(3));
  await exportTo(join(documents, 'export.ndjson'), store);
  const count = process.env.TAMPERINGS ?? '320';
  const seed = process.env.SEED ?? '1';
  const output = execFileSync('python3', [TAMPER, documents, VERIFIER, key, count, seed], {
    encoding: 'utf8',
  });
  assert.equal(JSON.parse(output).found, Number(count));
  context.diagnostic(`${directory}: ${output}`);
});

test('days that have not ended, a lost key and a changed chain are refused', async (context) => {
  const { directory, documents, attest } = await bench(context);
  const refused = async (...args: string[]) => {
    const { code, errors } = await attest(...args);
    assert.equal(code, 2);
    return errors;
  };
  assert.match(await refused('--to', dayName(dayOf(now()))), /has not ended/);
  assert.match(await refused('--from', '2026-02-30'), /no such day/);
  await attest('--to', nameOf(0), '--from', nameOf(0));
  const key = join(directory, 'attest.pem');
  const text = readFileSync(key, 'utf8');
  rmSync(key);
  assert.match(await refused(), /which the last document expects/);
  writeFileSync(key, text, { mode: 0o600 });
  await attest('--to', nameOf(0), '--from', nameOf(0));
  rmSync(readChain(documents)[0]!.path);
  assert.match(await refused(), /does not continue document 0/);
});

test('the numbers of a gap are judged by what the ledger tracks', () => {
  const missing = (least: number, most: number) =>
    [
      [12, 13],
      [18, 30],
    ].flatMap(([from, to]): [number, number][] =>
      to! < least || from! > most ? [] : [[Math.max(from!, least), Math.min(to!, most)]],
    );
  const tracked = { lowest: 10, highest: 25, missing };
  assert.deepEqual(judge([[5, 28]], tracked), {
    missing: [
      [12, 13],
      [18, 25],
    ],
    arrived: [
      [10, 11],
      [14, 17],
    ],
    unjudged: [
      [5, 9],
      [26, 28],
    ],
  });
  assert.deepEqual(judge([[1, 4]], tracked).unjudged, [[1, 4]]);
  assert.deepEqual(judge([[26, 28]], tracked).unjudged, [[26, 28]]);
  assert.deepEqual(judge([[14, 14]], tracked).arrived, [[14, 14]]);
  assert.deepEqual(judge([[1, 4]], null).unjudged, [[1, 4]]);
});

test('the verifier is Python 3.9', () => {
  const check = 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))';
  execFileSync('python3', ['-c', check, VERIFIER]);
});
