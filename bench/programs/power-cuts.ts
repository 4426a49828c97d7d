import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { textTable } from '@tidegauge/loadtests/results/table';
import { defineConfig, integer, oneOf, repeated, run, text } from '@tidegauge/service/program';
import { seeded } from '@tidegauge/workload';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import type { CutTarget } from '../src/power-cuts/cut-target.ts';
import { type CutSummary, type Spread, summaryOf } from '../src/power-cuts/judge.ts';
import { cutPower, cutUnsynced, type PowerCuts } from '../src/power-cuts/measure-cuts.ts';
import { cutTarget, TARGETS } from '../src/power-cuts/targets.ts';
import { RATE } from '../src/power-cuts/traffic.ts';

/**
 * `npm run bench -- power-cuts`: publishes numbered messages, cuts the power of the disk at random times, and looks for the
 * acknowledged messages on what the disk holds. The power is cut for an atomic copy of the disk, so one run has any
 * number of cuts.
 */
const { quick, json, seed } = BENCH_SETTINGS;
const SETTINGS = defineConfig({
  target: { kind: oneOf(TARGETS), positional: true, required: true, help: 'What writes to the disk.' },
  cuts: { kind: integer(1, 10_000), help: 'Power cuts. Default: 200, or 40 of mosquitto.' },
  conf: {
    kind: repeated(text('a line', 'LINE')),
    help: 'A line of mosquitto.conf, in place of those of the stacks. May be repeated.',
  },
  lazyfs: {
    kind: text('a program', 'PROGRAM'),
    help: 'LazyFS, built manually: drops all that was not synced, and tears writes. Each cut then has its own disk.',
  },
  seed,
  quick,
  json,
});

/** What the stacks set. */
const STACK_CONF = ['autosave_interval 60'];
const DISK_MEGABYTES = 1024;
const QUICK_BROKER_PAUSE_MS = 500;

export const program = defineBench({
  name: 'power-cuts',
  summary:
    'What acknowledged messages a power cut loses: SQLite, also during compaction, JSON files, spool, quarantine, ledger, backups, copies, mosquitto.',
  details:
    'Needs root, loop devices and btrfs. It fails when ingest has lost a message. mosquitto is only measured.',
  settings: SETTINGS,
  check({ target, cuts, quick, conf }) {
    const isBroker = target === 'mosquitto';
    const count = cuts ?? (quick ? 3 : isBroker ? 40 : 200);
    const chosen = cutTarget(target, conf ?? STACK_CONF, count);
    return {
      target: chosen,
      cuts: count,
      pauseMs: quick && isBroker ? QUICK_BROKER_PAUSE_MS : chosen.pauseMs,
    };
  },
  async run({ target: name, seed, lazyfs }, { target, cuts, pauseMs }, { closers, signal }) {
    if (lazyfs !== null) {
      const found = await cutUnsynced(target, lazyfs, { cuts, pauseMs, random: seeded(seed), signal });
      const figures = summaryOf(found.cuts);
      const { acknowledged, missing } = figures;
      process.stdout.write(
        `${name}: ${cuts} power cuts that drop what was not synced, ${found.torn} of them with a torn write: ` +
          `${acknowledged} messages acknowledged before one (median), ${missing} missing\n`,
      );
      return { target: name, rate: RATE, ...figures, torn: found.torn, ...lossOf(target, figures) };
    }
    const disk = await mountPowerCutDisk(DISK_MEGABYTES);
    closers.add(() => disk.remove());
    const results = await cutPower(target, disk, { cuts, pauseMs, random: seeded(seed), signal });
    const { acknowledged, bytesPerMessage } = results;
    const figures = { ...summaryOf(results.cuts), acknowledged, bytesPerMessage };
    process.stdout.write(report(name, results, figures));
    if (target.remark !== undefined) process.stdout.write(`${target.remark()}\n`);
    return { target: name, rate: RATE, ...figures, cuts: results.cuts, ...lossOf(target, figures) };
  },
});

function lossOf({ mustKeep }: CutTarget, { missing, examples }: CutSummary): { readonly failure?: string } {
  if (missing === 0 || !mustKeep) return {};
  return { failure: `${missing} acknowledged messages are missing, such as ${examples.join(', ')}` };
}

function report(name: string, results: PowerCuts, figures: CutSummary): string {
  const { cuts, acknowledged, bytesPerMessage } = results;
  const { withLoss, messages, seconds } = figures;
  const row = (what: string, { median, p90, most }: Spread, digits: number): string[] => [
    what,
    ...[median, p90, most].map((value) => (digits === 0 ? showNumber(value) : value.toFixed(digits))),
  ];
  const table = textTable([
    ['lost in a cut', 'median', 'p90', 'most'],
    row('messages', messages, 0),
    row('seconds', seconds, 1),
  ]);
  return [
    `\n${name}: ${cuts.length} power cuts, ${acknowledged.toLocaleString('en')} messages acknowledged at the last one`,
    `cuts with a loss: ${withLoss}`,
    ...(bytesPerMessage === null ? [] : [`written for each message: ${showNumber(bytesPerMessage)} bytes`]),
    withLoss === 0 ? '' : table,
  ].join('\n');
}

if (import.meta.main) process.exitCode = await run(program);
