import { readFileSync, writeFileSync } from 'node:fs';
import { runYcsb, type YcsbPhase, type YcsbResult } from '@tidegauge/loadtests/drivers/run-ycsb';
import { machine, provenance } from '@tidegauge/loadtests/results/machine';
import { REPEAT_SETTINGS, runRepeatedly } from '@tidegauge/loadtests/results/repeat';
import {
  assignment,
  boolean,
  type Config,
  defineCommand,
  defineConfig,
  EXIT,
  inputFile,
  integer,
  outputFile,
  repeated,
  run,
  text,
} from '@tidegauge/service/program';
import { parseProperties } from '@tidegauge/workload';

const settings = defineConfig({
  properties: {
    kind: repeated(inputFile()),
    alias: 'P',
    help: 'A file of properties. May be repeated.',
  },
  property: {
    kind: repeated(assignment('a property such as tidegauge.url=http://127.0.0.1:8080')),
    alias: 'p',
    help: 'A property, such as the URL of the API. May be repeated.',
  },
  threads: { kind: integer(1, 10_000), alias: 'threads', help: 'Operations at once.' },
  target: { kind: integer(1, 10_000_000), alias: 'target', help: 'Operations per second, over all threads.' },
  status: { kind: boolean(), default: 'false', alias: 's', help: 'Print the status during the run.' },
  apiToken: { kind: text(), secret: true, help: 'The bearer token of the API.' },
});

const runSettings = defineConfig({
  ...settings,
  json: { kind: outputFile(), help: 'Write all figures to this file as JSON.' },
  ...REPEAT_SETTINGS,
});

export const program = {
  name: 'npm run ycsb',
  summary: "Runs YCSB's own client (site.ycsb.Client 0.17.0) through the HTTP API of Tidegauge.",
  details: 'It ends with 1 when an operation failed, or when no operation was done.',
  examples: [
    'npm run ycsb -- load -P packages/workload/workloads/workloada',
    'npm run ycsb -- run -P packages/workload/workloads/workloada -p operationcount=5000 -threads 8',
    'npm run ycsb -- run -P packages/workload/workloads/workloada --repeat 5 --report ycsb.html',
  ],
  commands: {
    load: defineCommand({
      name: 'load',
      summary: 'Insert the records of the workload.',
      settings,
      run: async (config) => (await runPhase('load', config, null)).code,
    }),
    run: defineCommand({
      name: 'run',
      summary: 'Run the operations of the workload.',
      details: 'A repetition inserts its records after those of the runs before it.',
      settings: runSettings,
      run(config, signal) {
        let inserted = 0;
        return runRepeatedly('npm run ycsb', config, signal, async (json) => {
          const { code, inserts } = await runPhase('run', afterInserts(config, inserted), json);
          inserted += inserts;
          return code;
        });
      },
    }),
  },
};

/** Resolves to the exit code, and to the number of inserts that were tried. `json` receives the figures if there are any. */
async function runPhase(
  phase: YcsbPhase,
  config: Config<typeof settings>,
  json: string | null,
): Promise<{ readonly code: number; readonly inserts: number }> {
  const { apiToken } = config;
  const { exitCode, throughput, operations } = await runYcsb({
    phase,
    args: ycsbArguments(config),
    ...(apiToken === null ? {} : { token: apiToken }),
    output: (output) => process.stdout.write(output),
  });
  // YCSB itself ends with 0 even when operations failed.
  const returns = Object.values(operations).flatMap((operation) => Object.keys(operation.returns));
  const succeeded = returns.length > 0 && returns.every((name) => name === 'OK');
  if (json !== null && returns.length > 0) writeFigures(json, { throughput, operations });
  return {
    code: exitCode === EXIT.OK && succeeded ? EXIT.OK : EXIT.FAILED,
    inserts: (operations.INSERT?.count ?? 0) + (operations['INSERT-FAILED']?.count ?? 0),
  };
}

/** The table has grown: YCSB gives its first insert the number `recordcount`. */
function afterInserts(config: Config<typeof settings>, inserted: number): Config<typeof settings> {
  if (inserted === 0) return config;
  const given = new Map<string, string>();
  for (const file of config.properties ?? []) {
    for (const [name, value] of parseProperties(readFileSync(file, 'utf8'), file)) given.set(name, value);
  }
  for (const [name, value] of config.property ?? []) given.set(name, value);
  const records = Number(given.get('recordcount') ?? 0) + inserted;
  return { ...config, property: [...(config.property ?? []), ['recordcount', String(records)]] };
}

function writeFigures(json: string, figures: Pick<YcsbResult, 'throughput' | 'operations'>): void {
  const document = { ...provenance(), machine: machine(), ...figures };
  writeFileSync(json, `${JSON.stringify(document, null, 2)}\n`);
}

function ycsbArguments(config: Config<typeof settings>): string[] {
  const { properties, property, threads, target, status } = config;
  return [
    ...(properties ?? []).flatMap((file) => ['-P', file]),
    ...(property ?? []).flatMap(([name, value]) => ['-p', `${name}=${value}`]),
    ...(threads === null ? [] : ['-threads', String(threads)]),
    ...(target === null ? [] : ['-target', String(target)]),
    ...(status ? ['-s'] : []),
  ];
}

if (import.meta.main) process.exitCode = await run(program);
