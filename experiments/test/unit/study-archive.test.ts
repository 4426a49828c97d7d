import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { History } from '@tidegauge/experiments/archive/history';
import { Journal, readJournal } from '@tidegauge/experiments/archive/journal';
import { verifyManifest, writeManifest } from '@tidegauge/experiments/archive/manifest';
import { overheadOf } from '@tidegauge/experiments/archive/overhead';
import { openResults, type Results, readEntries, readPlan } from '@tidegauge/experiments/archive/results';
import { parseRunName, runName } from '@tidegauge/experiments/archive/run-names';
import type { JournalEntry, Plan } from '@tidegauge/experiments/model';
import { runStudy } from '@tidegauge/experiments/runner';
import { SmallPlace, smallPlan, smallRound } from '../study/small-study.ts';

const root = mkdtempSync(join(tmpdir(), 'tidegauge-study-archive-'));
after(() => rmSync(root, { recursive: true }));
let folders = 0;
function folder(): string {
  folders += 1;
  return join(root, String(folders));
}

const HERE = { machine: 'a', kernel: 'Linux 6' };

function open(directory: string, plan: Plan, environment = HERE, changes: object = {}): Promise<Results> {
  const options = { source: 'study: small\n', force: false, needBytes: 0, say: () => {}, ...changes };
  return openResults(directory, plan, environment, options);
}

async function complete(directory: string, plan: Plan): Promise<void> {
  const results = await open(directory, plan);
  const { signal } = new AbortController();
  const place = new SmallPlace();
  const rest = { signal, say: () => {}, estimateSeconds: 1, force: false };
  await runStudy({ place, results, openRound: smallRound(), ...rest });
  results.close();
}

test('a journal keeps its entries, and an incomplete last line is cut', () => {
  const path = join(root, 'journal.jsonl');
  const journal = Journal.open(path);
  journal.append({ event: 'series-ended', series: 'é', attempt: 1 });
  journal.close();
  const whole = readFileSync(path, 'utf8');
  for (const torn of [
    '{"time":"2026',
    '{"time":"x","event":"closed","complete":true}',
    'null\n',
    '{}\n',
    '\0\0\0',
  ]) {
    writeFileSync(path, whole + torn);
    assert.equal(readJournal(path).length, 1);
    const again = Journal.open(path);
    again.append({ event: 'closed', complete: true });
    again.close();
    assert.deepEqual(
      readJournal(path).map(({ event }) => event),
      ['series-ended', 'closed'],
      torn,
    );
  }
});

test('a damaged line inside a journal is refused, with its number', () => {
  const path = join(root, 'damaged.jsonl');
  const journal = Journal.open(path);
  journal.append({ event: 'closed', complete: true });
  journal.close();
  appendFileSync(path, '{"event":"closed"}\n');
  appendFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`);
  assert.throws(() => Journal.open(path), /damaged\.jsonl:2: this line is damaged: copy the file/);
});

test('the name of a run contains what it is', () => {
  const identity = { series: 'a-1', seriesAttempt: 2, trial: 30, driver: 'k6', attempt: 1 } as const;
  assert.deepEqual(parseRunName(runName(identity)), identity);
  assert.equal(parseRunName('a-1'), null);
});

test('a new directory has the plan and a copy of the file, and can be continued', async () => {
  const directory = folder();
  const plan = smallPlan();
  const results = await open(directory, plan);
  results.close();
  assert.equal(readFileSync(join(directory, 'study.yml'), 'utf8'), 'study: small\n');
  assert.deepEqual(readPlan(directory), plan);
  (await open(directory, plan)).close();
  assert.deepEqual(
    readEntries(directory).map(({ event }) => event),
    ['opened', 'opened'],
  );
});

test('only one runner uses a directory', async () => {
  const directory = folder();
  const results = await open(directory, smallPlan());
  await assert.rejects(
    open(directory, smallPlan()),
    /is used by another Tidegauge \(process \d+ on .*--results/,
  );
  results.close();
  (await open(directory, smallPlan())).close();
});

test('a directory with other files is refused and stays as it is', async () => {
  const directory = folder();
  mkdirSync(directory);
  writeFileSync(join(directory, 'notes.txt'), 'mine');
  await assert.rejects(open(directory, smallPlan()), /has files and is not a results directory: .*--results/);
  assert.deepEqual(readdirSync(directory), ['notes.txt']);
  await assert.rejects(open(join(directory, 'notes.txt'), smallPlan()), { name: 'ConfigError' });
});

test('another plan and another environment are refused; --force continues and records the difference', async () => {
  const directory = folder();
  (await open(directory, smallPlan())).close();
  await assert.rejects(
    open(directory, smallPlan({ trials: 4 })),
    /has results of another plan \(small [0-9a-f]{12}, not /,
  );
  const upgraded = { ...HERE, kernel: 'Linux 7' };
  await assert.rejects(
    open(directory, smallPlan(), upgraded),
    /kernel was Linux 6 and is Linux 7: .*--force/,
  );
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  (await open(directory, smallPlan(), upgraded, { force: true, say })).close();
  const last = readEntries(directory).at(-1);
  assert.deepEqual(last?.event === 'opened' && last.differs, ['kernel was Linux 6 and is Linux 7']);
  assert.deepEqual(lines, ['continued with --force: kernel was Linux 6 and is Linux 7']);
});

test('too little space is found before anything is written', async () => {
  const directory = folder();
  await assert.rejects(
    open(directory, smallPlan(), HERE, { needBytes: 1e18 }),
    /MB free, and the study needs about/,
  );
  assert.equal(existsSync(directory), false);
});

test('parts of files are removed, and a series with a damaged file becomes void', async () => {
  const directory = folder();
  const plan = smallPlan();
  await complete(directory, plan);
  writeFileSync(join(directory, 'runs', 'd1s1-2-1-raw-1.csv.gz.part'), 'half');
  writeFileSync(join(directory, 'runs', 'd1s2-1-2-app-1.json'), '{}');
  rmSync(join(directory, 'runs', 'd2s1-1-1-raw-1.csv.gz'));
  const lines: string[] = [];
  const results = await open(directory, plan, HERE, { say: (line: string) => void lines.push(line) });
  results.close();
  assert.deepEqual(lines, [
    'series d1s2 is repeated: runs/d1s2-1-2-app-1.json is missing or damaged',
    'series d2s1 is repeated: runs/d2s1-1-1-raw-1.csv.gz is missing or damaged',
  ]);
  assert.equal(readdirSync(join(directory, 'runs')).filter((name) => name.endsWith('.part')).length, 0);
  const history = new History(readEntries(directory));
  const attempts = ['d1s1', 'd1s2', 'd2s1', 'd2s2'].map((id) => history.completeAttempt(id));
  assert.deepEqual(attempts, [1, null, null, 1]);
});

test('files of results that are missing or damaged are reported with what to do', async () => {
  const directory = folder();
  assert.throws(
    () => readPlan(directory),
    /plan\.json: it cannot be read: there is no such file .* is not a results directory, which /,
  );
  (await open(directory, smallPlan())).close();
  const advice = /^ConfigError: .*manifest\.json: it cannot be read: .*: npm run study -- report .* writes/;
  await assert.rejects(verifyManifest(directory), advice);
  writeFileSync(join(directory, 'manifest.json'), '{"files":');
  await assert.rejects(verifyManifest(directory), advice);
  writeFileSync(join(directory, 'plan.json'), '{"format":2}');
  assert.throws(() => readPlan(directory), /is not a plan of this version .*: use the version that manifest/);
});

test('the manifest lists each file, and finds one that is changed, missing or added', async () => {
  const directory = folder();
  await complete(directory, smallPlan());
  const manifest = await writeManifest(directory);
  assert.deepEqual(await verifyManifest(directory), []);
  assert.equal(Object.keys(manifest.seeds.runs).length, 24);
  assert.deepEqual(manifest.runs, { planned: 24, done: 24, invalid: [] });
  assert.equal(manifest.files['runs/d1s1-1-1-raw-1.csv.gz']?.sha256.length, 64);
  assert.deepEqual(manifest.versions['d1 1'], { sqlite: '3' });
  appendFileSync(join(directory, 'journal.jsonl'), 'more\n');
  assert.deepEqual(await verifyManifest(directory), []);
  appendFileSync(join(directory, 'runs', 'd1s1-1-1-raw-1.json'), ' ');
  rmSync(join(directory, 'runs', 'd1s1-1-2-raw-1.csv.gz'));
  writeFileSync(join(directory, 'runs', 'extra.json'), '{}');
  assert.deepEqual(await verifyManifest(directory), [
    'runs/d1s1-1-1-raw-1.json has changed',
    'runs/d1s1-1-2-raw-1.csv.gz is missing',
    'runs/extra.json is not in the manifest',
  ]);
});

test('the overhead is the time around the measured operations, without loading', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
  const run = { run: 's-1-1-raw-1', series: 's', seriesAttempt: 1 };
  const sha256 = { json: '', csv: '' };
  const entries: readonly JournalEntry[] = [
    { time: at(0), event: 'series-started', series: 's', attempt: 1, deployment: 'd', deploymentAttempt: 1 },
    { time: at(50), event: 'trial-loaded', series: 's', seriesAttempt: 1, trial: 1, seconds: 50 },
    { time: at(50), event: 'run-started', ...run },
    { time: at(61), event: 'run-ended', ...run, valid: true, seconds: 10, sha256 },
    { time: at(92), event: 'trial-loaded', series: 's', seriesAttempt: 1, trial: 2, seconds: 30 },
    { time: at(93), event: 'run-started', ...run },
    { time: at(104), event: 'run-ended', ...run, valid: true, seconds: 10, sha256 },
  ];
  assert.deepEqual(overheadOf(entries), { runs: 2, betweenMedian: 2, betweenMost: 3, share: 0.2 });
});
