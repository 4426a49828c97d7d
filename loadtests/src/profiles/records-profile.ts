import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, defineConfig, integer, oneOf, text, whyFailed } from '@tidegauge/service';
import { openStore } from '@tidegauge/storage';
import { closest } from '@tidegauge/text';
import { parseWorkload, type RecordWorkload, YCSB_PROPERTIES } from '@tidegauge/workload';
import { RecordDriver } from '../drivers/record-driver.ts';
import { rawTarget } from '../drivers/record-target.ts';
import { summarizeRaw } from '../drivers/summarize-raw.ts';
import { BATCHES_AT_ONCE } from '../loading/load.ts';
import { makeTable, recordItems, storeItems } from '../loading/load-records.ts';
import type { ClosedModel, RecordsPart } from '../operations/plan.ts';
import type { Summary } from '../results/summary.ts';
import { checkApiTarget, fill, provideApi, provideClient, provideStore } from '../targets/targets.ts';
import type { Preparation, Profile } from './profile.ts';
import {
  API_SETTINGS,
  COMMON_SETTINGS,
  mistake,
  modelOf,
  PHASE_SETTING,
  STORE_SETTINGS,
} from './settings.ts';

const MAX_RECORDS = 2 ** 31 - 1;
/** The workloads of Tidegauge. */
const LETTERS: readonly string[] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'i'];
/** Options that do what a property of YCSB's client does. */
const OPTION_OF: Readonly<Record<string, string>> = {
  target: '--rate',
  threadcount: '--threads',
  maxexecutiontime: '--duration',
};

/** The scripts of loadtests/k6, by driver. */
export const RECORD_SCRIPTS = { k6: 'records.ts', 'k6-js': 'records-js.ts' } as const;

const SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  ...STORE_SETTINGS,
  ...API_SETTINGS,
  ...PHASE_SETTING,
  workload: {
    kind: text('a letter from a to g, or i, or a YCSB property file', 'WORKLOAD'),
    default: 'a',
    help: 'The workload, one of ours or a file in the format of YCSB.',
  },
  records: { kind: integer(1, MAX_RECORDS), help: 'Records in the table; default: recordcount.' },
  driver: {
    kind: oneOf(['k6', 'k6-js', 'raw']),
    default: 'k6',
    help: 'k6: our module of k6. k6-js: the same in JavaScript, also for --k6. raw: on the store itself.',
  },
});

/** YCSB's workloads over HTTP. */
export const recordsProfile: Profile<typeof SETTINGS, RecordsPart> = {
  summary: "YCSB's workloads A to G and I over HTTP.",
  settings: SETTINGS,
  takesProperties: true,
  script: RECORD_SCRIPTS.k6,
  operations: ['read', 'update', 'insert', 'scan', 'read_modify_write', 'verify'],
  check(config, properties) {
    checkApiTarget(config);
    if (config.driver === 'raw') checkRaw(config);
    if (config.driver === 'k6' && config.k6 !== null) {
      throw mistake('--k6 is without our module for operations on records: add --driver k6-js');
    }
    const workload = readWorkload(config.workload, {
      ...properties,
      ...(config.records === null ? {} : { recordcount: String(config.records) }),
    });
    return { profile: 'records', workload, model: modelOf(config, workload.operationCount || null) };
  },
  async prepare(config, part, preparation) {
    const { closers } = preparation;
    const { ignored } = part.workload;
    const shown = ignored.map((name) => (name in OPTION_OF ? `${name} (use ${OPTION_OF[name]})` : name));
    if (shown.length > 0) preparation.say(`without a meaning here: ${shown.join(', ')}`);
    const store = config.api === null ? await provideStore(config.store, closers) : '';
    const api = config.api ?? (await provideApi(store, closers));
    const client = provideClient({ ...config, threads: Math.max(config.threads, BATCHES_AT_ONCE) }, closers);
    if (config.phase !== 'run') await makeTable(api, client, part.workload);
    if (config.api === null) await fillStore(store, part, config, preparation);
    else await fill(recordItems(api, client, part.workload, config.seed), config, preparation);
    if (config.phase === 'load') return null;
    const prepared = { parts: [part], api: { url: api, token: config.apiToken }, broker: null };
    if (config.driver === 'raw') {
      return { ...prepared, drive: (signal) => driveRaw(store, part, config.seed, signal) };
    }
    return { ...prepared, script: RECORD_SCRIPTS[config.driver] };
  },
};

/** Loads straight into the store, which is faster than through the API. */
async function fillStore(
  url: string,
  { workload }: RecordsPart,
  config: Config<typeof SETTINGS>,
  preparation: Preparation,
): Promise<void> {
  const store = await openStore(url);
  try {
    await fill(storeItems(store, workload, config.seed), config, preparation);
  } finally {
    await store.close();
  }
}

function checkRaw({
  api,
  model,
  rate,
  ramp,
  duration,
  threshold,
  dashboard,
  prometheus,
}: Config<typeof SETTINGS>): void {
  if (api !== null) throw mistake('--driver raw is about a store: give --store, not --api');
  if (model === 'open' || rate !== null || ramp !== null || duration !== null) {
    throw mistake('--driver raw takes --ops and --threads: no rate, no --duration, not the open model');
  }
  if (threshold !== null || dashboard || prometheus !== null)
    throw mistake('--threshold, --dashboard and --prometheus are of k6: leave out --driver raw');
}

async function driveRaw(
  url: string,
  { workload, model }: RecordsPart,
  seed: number,
  signal: AbortSignal,
): Promise<Summary> {
  const { threads, operations } = model as ClosedModel;
  const store = await openStore(url);
  try {
    const driver = new RecordDriver(rawTarget(store, workload.table), workload, { seed, threads });
    return summarizeRaw(await driver.run(operations!, signal));
  } finally {
    await store.close();
  }
}

/** Reads a workload: one of Tidegauge's, by its letter, or a file in YCSB's format. */
export function readWorkload(name: string, overrides: Readonly<Record<string, string>>): RecordWorkload {
  const ours = LETTERS.includes(name.toLowerCase());
  const file = ours
    ? fileURLToPath(import.meta.resolve(`@tidegauge/workload/workloads/workload${name.toLowerCase()}`))
    : resolve(name);
  let properties: string;
  try {
    properties = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : `: ${whyFailed(error)}`;
    throw mistake(
      `there is no workload ${name}${reason}: use one of ${LETTERS.join(', ')}, or the path of a YCSB property file`,
    );
  }
  const readFile = (beside: string) => {
    try {
      return readFileSync(resolve(dirname(file), beside), 'utf8');
    } catch (error) {
      throw new Error(whyFailed(error), { cause: error });
    }
  };
  const called = ours ? `workload${name.toLowerCase()}` : name;
  const workload = parseWorkload(properties, { file: called, overrides, readFile });
  for (const property of workload.ignored) refuseUnknown(called, property);
  return workload;
}

/**
 * Refuses an unknown property of a workload. YCSB ignores unknown properties, so that a misspelt one runs a different workload.
 * A name with a dot belongs to the binding of another store, and is accepted unless it resembles one of YCSB's names.
 *
 * @throws {ConfigError}
 */
export function refuseUnknown(file: string, property: string): void {
  if (YCSB_PROPERTIES.includes(property)) return;
  const meant = closest(property, YCSB_PROPERTIES);
  if (property.includes('.') && meant === null) return;
  const hint = meant === null ? 'leave it out' : `did you mean ${meant}?`;
  throw mistake(`${file}: ${property} is not a property of YCSB: ${hint}`);
}
