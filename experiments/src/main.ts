import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAnalysis } from '@tidegauge/loadtests/results/run-analysis';
import { say } from '@tidegauge/loadtests/say';
import {
  boolean,
  bytes,
  type CommandGroup,
  ConfigError,
  defineCommand,
  defineConfig,
  duration,
  EXIT,
  inputFile,
  integer,
  oneOf,
  outputFile,
  repeated,
  run,
  text,
  url,
} from '@tidegauge/service/program';
import { differences, environmentOf } from './archive/environment.ts';
import { verifyManifest } from './archive/manifest.ts';
import { readEntries, readPlan } from './archive/results.ts';
import { calibrate } from './commands/calibrate.ts';
import { recordVerdicts } from './commands/claims.ts';
import { comparisonText } from './commands/comparison-text.ts';
import { defaultDirectory, isSameDirectory } from './commands/directories.ts';
import { earlierRuns } from './commands/earlier-runs.ts';
import { performStudy, placeNamed, refusalsOf } from './commands/perform.ts';
import { reportResults } from './commands/report.ts';
import { statusText } from './commands/status.ts';
import { estimate } from './estimate.ts';
import { parseStudy, readStudy } from './file/read-study.ts';
import type { Environment, PlaceName, Plan } from './model.ts';
import { makePlan, untilDecided } from './plan.ts';
import { planText } from './plan-text.ts';

const PLACES = ['lab', 'boards', 'swarm'] as const satisfies readonly PlaceName[];

const file = {
  kind: text('an experiment file'),
  required: true,
  positional: true,
  help: 'The experiment file, see docs/experiments.md.',
} as const;

const directory = {
  kind: text('a directory'),
  required: true,
  positional: true,
  help: 'A results directory.',
} as const;

const { quick, on, part, results, force, prometheus, until, budget, wait } = defineConfig({
  quick: {
    kind: boolean(),
    default: 'false',
    help: 'Use the quick sizes of the file. The figures show that it works; do not quote them.',
  },
  on: {
    kind: oneOf(PLACES),
    default: 'lab',
    help: 'Where servers run: on this machine, on simulated boards, or in a swarm.',
  },
  part: {
    kind: repeated(text('a part of the file')),
    help: 'Run this part of the file only. May be repeated. Default: all parts.',
  },
  results: {
    kind: text('a directory'),
    help: 'Results directory. Default: the unfinished one of this plan, or a new one, in ./results.',
  },
  force: {
    kind: boolean(),
    default: 'false',
    help: 'Continue although versions or the machine differ. The results record what differs.',
  },
  prometheus: {
    kind: url('http', 'https'),
    help: 'A Prometheus for phases and results. It needs --web.enable-remote-write-receiver.',
  },
  until: {
    kind: oneOf(['decided']),
    help: 'Repeat the blocks until each claim is decided, or each pair of groups without claims. Later blocks have only what is undecided.',
  },
  wait: {
    kind: boolean(),
    default: 'false',
    help: 'Begin when other work on this machine uses less of the processors than the rule foreignCpu allows.',
  },
  budget: {
    kind: duration(1, 31_536_000),
    help: 'Begin nothing that would end later than this, such as 3h. The command `continue` goes on.',
  },
});

/** The first environment of a results directory. */
function environmentIn(directory: string): Environment {
  return readEntries(directory).find((entry) => entry.event === 'opened')?.environment ?? {};
}

/** Where the servers of a results directory ran. */
function placeOf(directory: string): PlaceName {
  const { place } = environmentIn(directory);
  return PLACES.find((name) => name === place) ?? 'lab';
}

/** Runs a plan where the options of `run` and `compare-stores` say. Resolves to the exit code. */
async function perform(
  plan: Plan,
  source: string,
  {
    on,
    results,
    ...options
  }: {
    readonly on: PlaceName;
    readonly results: string | null;
    readonly force: boolean;
    readonly prometheus: string | null;
    readonly budget: number | null;
    readonly wait: boolean;
  },
  signal: AbortSignal,
): Promise<number> {
  const directory = results ?? defaultDirectory(plan);
  return performStudy(plan, await placeNamed(on), { source, directory, ...options, signal, say });
}

export const program: CommandGroup = {
  name: 'npm run study',
  summary: 'Runs experiments on real servers: one file in, a report out.',
  details:
    'A study that was interrupted continues with the same command. It ends with 1 when a deployment failed, and with 3\n' +
    'when runs stayed invalid after all repetitions.',
  examples: [
    'npm run study -- plan experiments/studies/example.yml --quick',
    'npm run study -- run experiments/studies/example.yml --quick',
    'npm run study -- run experiments/studies/s1-replication.yml --until decided --budget 3h',
    'npm run study -- compare-stores sqlite postgres --workload a --quick',
  ],
  commands: {
    run: defineCommand({
      name: 'run',
      measures: true,
      summary: 'Runs an experiment, or continues it, and writes its report.',
      settings: { file, quick, on, part, until, budget, wait, results, force, prometheus },
      async run({ file, quick, on, part: parts, until, ...options }, signal) {
        const study = await readStudy(file, { quick, on, parts });
        const plan = makePlan(until === null ? study : untilDecided(study));
        return perform(plan, readFileSync(file, 'utf8'), { on, ...options }, signal);
      },
    }),
    continue: defineCommand({
      name: 'continue',
      measures: true,
      summary: 'Goes on with an experiment that was interrupted or whose budget was spent.',
      settings: {
        directory: { ...directory, help: 'Its results directory.' },
        budget,
        wait,
        force,
        prometheus,
      },
      async run({ directory, ...options }, signal) {
        const plan = readPlan(directory);
        const source = readFileSync(join(directory, 'study.yml'), 'utf8');
        const place = await placeNamed(placeOf(directory));
        return performStudy(plan, place, { source, directory, ...options, signal, say });
      },
    }),
    plan: defineCommand({
      name: 'plan',
      summary: 'Prints the runs of an experiment in their order, with time and disk needed. Starts nothing.',
      settings: { file, quick, on, part },
      async run({ file, quick, on, part: parts }) {
        const plan = makePlan(await readStudy(file, { quick, on, parts }));
        process.stdout.write(planText(plan, estimate(plan, earlierRuns())));
        const refusals = refusalsOf(plan, await placeNamed(on));
        for (const line of refusals) process.stdout.write(`refused by run: ${line}\n`);
        return EXIT.OK;
      },
    }),
    status: defineCommand({
      name: 'status',
      summary: 'Prints how far an experiment is, what failed and what was repeated.',
      settings: {
        directory,
        verify: {
          kind: boolean(),
          default: 'false',
          help: 'Compare all files with the checksums in the manifest.',
        },
      },
      async run({ directory, verify }) {
        process.stdout.write(`${await statusText(directory)}\n`);
        if (!verify) return EXIT.OK;
        const problems = await verifyManifest(directory);
        process.stdout.write(
          `${problems.length === 0 ? 'all files are as in the manifest' : problems.join('\n')}\n`,
        );
        return problems.length === 0 ? EXIT.OK : EXIT.FAILED;
      },
    }),
    report: defineCommand({
      name: 'report',
      summary: 'Analyses results, complete or not, and writes report/ in their directory.',
      settings: {
        directory,
        against: {
          kind: text('a results directory'),
          help: 'Results of the same study on a second machine, with which the report compares them.',
        },
      },
      run: ({ directory, against }) => reportResults(directory, say, against),
    }),
    claims: defineCommand({
      name: 'claims',
      summary: 'Records the verdicts of results on the claims of their studies, and writes docs/studies.md.',
      settings: {
        results: {
          kind: repeated(text('a results directory')),
          positional: true,
          help: 'Results directories with reports. None: only the page is written again.',
        },
      },
      async run({ results }) {
        recordVerdicts(results ?? []);
        return EXIT.OK;
      },
    }),
    sizing: defineCommand({
      name: 'sizing',
      summary: 'Prints how many boards sensors need, from what operations used in results.',
      settings: {
        board: {
          kind: inputFile(),
          help: 'Calibration of the boards. Default: boards are like the machine of the results.',
        },
        reference: { kind: inputFile(), help: 'Calibration of the machine of the results.' },
        sensors: {
          kind: repeated(integer(1, 10_000_000)),
          help: 'Numbers of sensors. Default: 100, 1,000 and 10,000.',
        },
        every: {
          kind: duration(0.001, 86_400),
          default: '10s',
          help: 'Time between two readings of a sensor.',
        },
        retentionDays: { kind: integer(1, 36_500), default: '365', help: 'Days that records are kept.' },
        disk: {
          kind: bytes(2 ** 20, 2 ** 50),
          default: '29GiB',
          help: 'Disk of each board, such as 29GiB for a card of 32 GB. Half of it holds data.',
        },
        results: {
          kind: repeated(text('a results directory')),
          required: true,
          positional: true,
          help: 'Results directories, such as one for each store.',
        },
      },
      run: ({ results, board, reference, sensors, every, retentionDays, disk }) =>
        runAnalysis('sizing', [
          ...results,
          ...(board === null ? [] : ['--board', board]),
          ...(reference === null ? [] : ['--reference', reference]),
          ...(sensors ?? []).flatMap((each) => ['--sensors', String(each)]),
          ...['--every', String(every)],
          ...['--retention-days', String(retentionDays), '--disk-bytes', String(disk)],
        ]),
    }),
    calibrate: defineCommand({
      name: 'calibrate',
      summary: 'Measures processors, memory and disk of this machine for sizing, in two minutes.',
      details: 'It needs no database. Run it on a board that does nothing else.',
      settings: {
        output: { kind: outputFile(), help: 'Write the figures to this file too, as JSON.' },
        disk: {
          kind: text('a directory'),
          default: '.',
          help: 'A directory on the disk of the store. A file of 512 MiB is written there, and removed.',
        },
      },
      async run({ output, disk }, signal) {
        const figures = `${JSON.stringify(await calibrate(disk, signal), null, 2)}\n`;
        if (output !== null) writeFileSync(output, figures);
        process.stdout.write(figures);
        return EXIT.OK;
      },
    }),
    compare: defineCommand({
      name: 'compare',
      summary: 'States whether two results are comparable, and compares them.',
      settings: {
        first: { ...directory, help: 'The results directory to compare with.' },
        second: { ...directory, help: 'The other results directory.' },
      },
      run({ first, second }) {
        for (const each of [first, second]) readPlan(each);
        return runAnalysis('compare_results', [first, second]);
      },
    }),
    rerun: defineCommand({
      name: 'rerun',
      measures: true,
      summary: 'Runs the plan of earlier results again with the same seeds, and prints what differs here.',
      settings: {
        directory: { ...directory, help: 'The results directory to repeat.' },
        on: { kind: oneOf(PLACES), help: 'Where servers run. Default: as in the earlier results.' },
        results: { ...results, help: 'The new results directory. Default: one in ./results.' },
        force,
        prometheus,
      },
      async run({ directory: earlier, on, results, force, prometheus }, signal) {
        const plan = readPlan(earlier);
        const before = environmentIn(earlier);
        const directory = results ?? defaultDirectory(plan, { kind: 'rerun' });
        if (isSameDirectory(directory, earlier)) {
          throw new ConfigError([
            `${directory} has the earlier results: choose another directory with --results`,
          ]);
        }
        const place = await placeNamed(on ?? placeOf(earlier));
        const differs = differences(before, await environmentOf(place));
        for (const line of differs) say(`differs: ${line}`);
        if (differs.length === 0) say('versions and machine are as in the earlier results');
        const source = readFileSync(join(earlier, 'study.yml'), 'utf8');
        return performStudy(plan, place, {
          source,
          directory,
          force,
          prometheus,
          budget: null,
          wait: false,
          signal,
          say,
        });
      },
    }),
    'compare-stores': defineCommand({
      name: 'compare-stores',
      measures: true,
      summary: 'Compares stores with one workload, directly and through the API: one report, no file needed.',
      settings: {
        stores: {
          kind: repeated(text('a store')),
          required: true,
          positional: true,
          help: 'Names of stores, or STORE URLs.',
        },
        workload: {
          kind: oneOf(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'i']),
          default: 'a',
          help: 'A YCSB workload.',
        },
        threads: { kind: integer(1, 10_000), default: '1', help: 'Operations at the same time.' },
        records: { kind: integer(1, 2 ** 31 - 1), default: '10000', help: 'Records in each table.' },
        operations: { kind: integer(1, 1_000_000_000), default: '10000', help: 'Operations of a run.' },
        repeat: { kind: integer(1, 1000), default: '10', help: 'Trials of each store and driver.' },
        quick,
        on,
        until,
        budget,
        wait,
        results,
        force,
        prometheus,
      },
      async run({ quick, on, until, budget, wait, results, force, prometheus, ...options }, signal) {
        const source = comparisonText(options);
        const place = { name: 'compare-stores', directory: process.cwd() };
        const study = await parseStudy(source, place, { quick, on });
        const plan = makePlan(until === null ? study : untilDecided(study));
        return perform(plan, source, { on, results, force, prometheus, budget, wait }, signal);
      },
    }),
  },
};

if (import.meta.main) process.exitCode = await run(program);
