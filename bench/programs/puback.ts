import { writeFileSync } from 'node:fs';
import { startAnyBroker } from '@tidegauge/lab/any-broker';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { textTable } from '@tidegauge/loadtests/results/table';
import { say } from '@tidegauge/loadtests/say';
import {
  defineConfig,
  integer,
  list,
  oneOf,
  outputFile,
  repeated,
  run,
  text,
} from '@tidegauge/service/program';
import { seeded } from '@tidegauge/workload';
import { markdownTable } from '../src/added-tables.ts';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { brokerTarget, mosquittoTarget } from '../src/power-cuts/broker-target.ts';
import type { CutTarget } from '../src/power-cuts/cut-target.ts';
import { type Cut, summaryOf } from '../src/power-cuts/judge.ts';
import { type CutOptions, cutPower, killProcess } from '../src/power-cuts/measure-cuts.ts';
import { FAULTS, type PubackResult, pubackRows } from '../src/power-cuts/puback-table.ts';
import { cutTarget } from '../src/power-cuts/targets.ts';
import { telegrafTarget } from '../src/power-cuts/telegraf-target.ts';
import { RATE } from '../src/power-cuts/traffic.ts';

/** Sparse. HiveMQ allocates more than a gigabyte when it starts. */
const DISK_MEGABYTES = 8192;

/** What the table names it, and how it is tested. */
type Subject = readonly [name: string, target: CutTarget];

/** What the lab starts. The settings of mosquitto are in addition to those of Debian, which has persistence. */
const SUBJECTS = {
  mosquitto: ['mosquitto, settings of Debian', mosquittoTarget([])],
  'mosquitto-second': ['mosquitto, autosave_interval 1', mosquittoTarget(['autosave_interval 1'])],
  'mosquitto-changes': [
    'mosquitto, autosave_on_changes true, autosave_interval 1',
    mosquittoTarget(['autosave_on_changes true', 'autosave_interval 1']),
  ],
  'telegraf-postgres': ['mosquitto, Telegraf, PostgreSQL', telegrafTarget('postgres')],
  'telegraf-influxdb': ['mosquitto, Telegraf, InfluxDB', telegrafTarget('influxdb')],
  'direct-sqlite': ['Tidegauge direct, SQLite', cutTarget('sqlite', [])],
  'direct-json': ['Tidegauge direct, JSON files', cutTarget('json', [])],
} as const satisfies Record<string, Subject>;
type SubjectName = keyof typeof SUBJECTS;
const NAMES = Object.keys(SUBJECTS) as SubjectName[];
const QUICK: readonly SubjectName[] = ['mosquitto', 'direct-sqlite'];

const { quick, json, seed } = BENCH_SETTINGS;
const settings = defineConfig({
  subjects: {
    kind: list(oneOf(NAMES)),
    help: 'What is tested. Default: all, or mosquitto,direct-sqlite with --quick; none with --command.',
  },
  command: {
    kind: repeated(text('a command')),
    help: "Tests another broker, started in the foreground: 'NAME -p {port} -d {directory}'. May be repeated.",
  },
  cuts: {
    kind: integer(1, 10_000),
    help: 'How many kills and how many power cuts of each. Default: 40, or 2 with --quick.',
  },
  markdown: { kind: outputFile(), help: 'Write the table to this file as Markdown.' },
  seed,
  quick,
  json,
});

/**
 * `npm run bench -- puback`: which acknowledged messages brokers and direct mode lose when they are killed, and when the
 * power of their disk is cut. docs/puback.md has the method.
 */
export const program = defineBench({
  name: 'puback',
  summary: 'What brokers and direct mode have acknowledged and lose when they are killed or lose power.',
  details:
    'Needs root, loop devices and btrfs. It fails when ingest has lost a message, or when a broker cannot be measured. Losses of brokers are only measured.',
  settings,
  check: ({ subjects, command, cuts, quick }) => ({
    subjects: [
      ...(subjects ?? (command ? [] : quick ? QUICK : NAMES)).map((name): Subject => SUBJECTS[name]),
      ...(command ?? []).map(
        (each): Subject => [each, brokerTarget((directory) => startAnyBroker(each, directory))],
      ),
    ],
    cuts: cuts ?? (quick ? 2 : 40),
    pauseMs: quick ? 500 : 4000,
  }),
  async run({ markdown, seed }, { subjects, cuts, pauseMs }, { signal }) {
    const results: PubackResult[] = [];
    const failures: string[] = [];
    for (const [subject, target] of subjects) {
      for (const fault of FAULTS) {
        const random = seeded(seed);
        const { result, failure } = await test([subject, target], fault, { cuts, pauseMs, random, signal });
        results.push(result);
        if (failure !== null) failures.push(`${subject}, ${fault}: ${failure}`);
        say(pubackRows(results).at(-1)!.join(', '));
      }
    }
    const rows = pubackRows(results);
    process.stdout.write(`\n${textTable(rows)}`);
    if (markdown !== null) writeFileSync(markdown, `${markdownTable(rows[0]!, rows.slice(1))}\n`);
    return { rate: RATE, results, ...(failures.length > 0 ? { failure: failures.join('\n') } : {}) };
  },
});

interface Tested {
  readonly result: PubackResult;
  /** Why the program fails. */
  readonly failure: string | null;
}

/** Tests one subject. An error of one is a part of its result, so that the others are measured all the same. */
async function test(
  [subject, target]: Subject,
  fault: PubackResult['fault'],
  options: CutOptions,
): Promise<Tested> {
  const { cuts, signal } = options;
  signal.throwIfAborted();
  try {
    const figures = summaryOf(await measure(target, fault, options));
    const isLoss = target.mustKeep && figures.missing > 0;
    return {
      result: { subject, fault, cuts, figures },
      failure: isLoss ? `${figures.missing} acknowledged messages are missing` : null,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { result: { subject, fault, cuts, figures: null }, failure: (error as Error).message };
  }
}

/** Each subject and fault has its own disk. */
async function measure(
  target: CutTarget,
  fault: PubackResult['fault'],
  options: CutOptions,
): Promise<readonly Cut[]> {
  const disk = await mountPowerCutDisk(DISK_MEGABYTES);
  try {
    return fault === 'kill'
      ? await killProcess(target, disk.path, options)
      : (await cutPower(target, disk, options)).cuts;
  } finally {
    await disk.remove();
  }
}

if (import.meta.main) process.exitCode = await run(program);
