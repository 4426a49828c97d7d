import { setTimeout as sleep } from 'node:timers/promises';
import { mountPowerCutDisk } from '@tidegauge/lab/power-cut-disk';
import { showNumber } from '@tidegauge/loadtests/results/show-number';
import { quantile } from '@tidegauge/loadtests/results/statistics';
import { textTable } from '@tidegauge/loadtests/results/table';
import { defineConfig, integer, oneOf, repeated, run, text } from '@tidegauge/service/program';
import { writtenBytes } from '@tidegauge/test-support/process-usage';
import { seeded } from '@tidegauge/workload';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';
import { cutTarget, TARGETS } from '../src/power-cuts/targets.ts';
import { type Acknowledged, Traffic } from '../src/power-cuts/traffic.ts';

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
  seed,
  quick,
  json,
});

/** What the stacks set. */
const STACK_CONF = ['autosave_interval 60'];
const DISK_MEGABYTES = 1024;
/** Messages per second. */
const RATE = 200;

interface Cut {
  /** Messages acknowledged before the cut. */
  readonly acknowledged: number;
  /** Those that the disk does not have. */
  readonly missing: readonly number[];
  /** Age of the oldest missing message at the cut, seconds; 0 when none is missing. */
  readonly seconds: number;
}

export const program = defineBench({
  name: 'power-cuts',
  summary: 'What acknowledged messages a power cut loses: SQLite, JSON files, spool, quarantine, mosquitto.',
  details:
    'Needs root, loop devices and btrfs. It fails when ingest has lost a message. mosquitto is only measured.',
  settings: SETTINGS,
  check({ target, cuts, quick, conf }) {
    const isBroker = target === 'mosquitto';
    return {
      target: cutTarget(target, conf ?? STACK_CONF),
      cuts: cuts ?? (quick ? 3 : isBroker ? 40 : 200),
      // The longest pause before a cut. mosquitto saves its queues seldom.
      pauseMs: isBroker && !quick ? 8000 : 500,
    };
  },
  async run({ target: name, seed }, { target, cuts, pauseMs }, { closers, signal }) {
    const disk = await mountPowerCutDisk(DISK_MEGABYTES);
    closers.add(() => disk.remove());
    const { url, pid } = await target.start(disk.path, closers);
    const before = writtenBytes(pid);
    const traffic = await Traffic.start(url, RATE, target.payload);
    closers.add(() => traffic.stop());
    const random = seeded(seed);
    const results: Cut[] = [];
    while (results.length < cuts) {
      await sleep(random.double() * pauseMs, undefined, { signal });
      const acknowledged = traffic.acknowledged();
      const at = performance.now();
      const cut = await disk.cut();
      try {
        results.push(compare(acknowledged, at, await target.found(cut.path)));
      } finally {
        await cut.remove();
      }
      if (results.length % 10 === 0) process.stderr.write(`${results.length} of ${cuts} cuts\n`);
    }
    const written = (writtenBytes(pid) - before) / traffic.acknowledged().length;
    const figures = { ...summary(results), bytesPerMessage: written };
    process.stdout.write(report(name, results, figures));
    const lost = figures.missing > 0 && target.mustKeep;
    const failure = `${figures.missing} acknowledged messages are missing, such as ${figures.examples.join(', ')}`;
    return { target: name, rate: RATE, ...figures, cuts: results, ...(lost ? { failure } : {}) };
  },
});

function compare(acknowledged: readonly Acknowledged[], at: number, found: ReadonlySet<number>): Cut {
  const lost = acknowledged.filter(({ number }) => !found.has(number));
  const oldest = lost.reduce((least, each) => Math.min(least, each.at), at);
  return {
    acknowledged: acknowledged.length,
    missing: lost.map(({ number }) => number),
    seconds: (at - oldest) / 1000,
  };
}

function summary(results: readonly Cut[]) {
  const missing = results.map((cut) => cut.missing.length);
  const seconds = results.map((cut) => cut.seconds);
  const spreadOf = (values: readonly number[]) => ({
    median: quantile(values, 0.5),
    p90: quantile(values, 0.9),
    most: Math.max(...values),
  });
  return {
    acknowledged: results.at(-1)!.acknowledged,
    missing: missing.reduce((sum, each) => sum + each, 0),
    examples: results.flatMap((cut) => cut.missing.slice(0, 3)).slice(0, 10),
    withLoss: missing.filter((count) => count > 0).length,
    messages: spreadOf(missing),
    seconds: spreadOf(seconds),
  };
}

function report(
  name: string,
  results: readonly Cut[],
  figures: ReturnType<typeof summary> & { bytesPerMessage: number },
): string {
  const { acknowledged, withLoss, messages, seconds, bytesPerMessage } = figures;
  const row = (what: string, { median, p90, most }: typeof messages, digits: number): string[] => [
    what,
    ...[median, p90, most].map((value) => (digits === 0 ? showNumber(value) : value.toFixed(digits))),
  ];
  const table = textTable([
    ['lost in a cut', 'median', 'p90', 'most'],
    row('messages', messages, 0),
    row('seconds', seconds, 1),
  ]);
  const first = `\n${name}: ${results.length} power cuts, ${showNumber(acknowledged)} messages acknowledged at the last one\n`;
  return `${first}cuts with a loss: ${withLoss}\nwritten for each message: ${showNumber(bytesPerMessage)} bytes\n${withLoss === 0 ? '' : table}`;
}

if (import.meta.main) process.exitCode = await run(program);
