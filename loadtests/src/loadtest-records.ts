import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, integer, text } from '@tidegauge/service';
import { parseWorkload, type RecordWorkload } from '@tidegauge/workload';
import { makeTable, recordItems } from './load-records.ts';
import {
  API_SETTINGS,
  COMMON_SETTINGS,
  mistake,
  modelOf,
  PHASE_SETTING,
  STORE_SETTINGS,
} from './loadtest-settings.ts';
import type { RecordsPart } from './plan.ts';
import type { Profile } from './profile.ts';
import { checkApiTarget, fill, provideApi, provideClient, provideStore } from './targets.ts';

const MAX_RECORDS = 2 ** 31 - 1;

const SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  ...STORE_SETTINGS,
  ...API_SETTINGS,
  ...PHASE_SETTING,
  workload: {
    kind: text('a letter from a to g, or i, or a YCSB property file'),
    default: 'a',
    help: 'The workload, one of ours or a file in the format of YCSB.',
  },
  records: { kind: integer(1, MAX_RECORDS), help: 'Records in the table; default: recordcount.' },
});

/** YCSB's workloads over HTTP. */
export const recordsProfile: Profile<typeof SETTINGS, RecordsPart> = {
  summary: "records   YCSB's workloads A to G and I over HTTP",
  settings: SETTINGS,
  takesProperties: true,
  script: 'records.ts',
  check(config, properties) {
    checkApiTarget(config);
    const workload = readWorkload(config.workload, {
      ...properties,
      ...(config.records === null ? {} : { recordcount: String(config.records) }),
    });
    return { profile: 'records', workload, model: modelOf(config, workload.operationCount || null) };
  },
  async prepare(config, part, preparation) {
    const { closers } = preparation;
    const api = config.api ?? (await provideApi(await provideStore(config.store, closers), closers));
    const client = provideClient(config, closers);
    if (config.phase !== 'run') await makeTable(api, client, part.workload);
    await fill(recordItems(api, client, part.workload, config.seed), config, preparation);
    if (config.phase === 'load') return null;
    return { parts: [part], api: { url: api, token: config.apiToken }, broker: null };
  },
};

/** One of ours by its letter, or a file in YCSB's format. */
export function readWorkload(name: string, overrides: Readonly<Record<string, string>>): RecordWorkload {
  const ours = /^[a-gi]$/i.test(name);
  const file = ours
    ? fileURLToPath(import.meta.resolve(`@tidegauge/workload/workloads/workload${name.toLowerCase()}`))
    : resolve(name);
  let properties: string;
  try {
    properties = readFileSync(file, 'utf8');
  } catch (error) {
    throw mistake(`there is no workload ${name}: ${(error as Error).message}`);
  }
  const readFile = (beside: string) => readFileSync(resolve(dirname(file), beside), 'utf8');
  return parseWorkload(properties, {
    file: ours ? `workload${name.toLowerCase()}` : name,
    overrides,
    readFile,
  });
}
