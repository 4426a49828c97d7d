import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, integer, oneOf, text } from '@tidegauge/service';
import { parseWorkload, type RecordWorkload } from '@tidegauge/workload';
import { HttpClient } from './http-client.ts';
import { loadRecords, requireLoaded } from './load-records.ts';
import { apiUrl, COMMON_SETTINGS, mistake, modelOf, refuseForeignHosts } from './loadtest-settings.ts';
import type { Profile } from './profile.ts';
import { showNumber } from './table.ts';
import { checkStore, isStoreUrl, provideApi, provideStore } from './targets.ts';

const MAX_RECORDS = 2 ** 31 - 1;

const SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  workload: {
    kind: text('a letter from a to g, or i, or a YCSB property file'),
    default: 'a',
    help: 'The workload, one of ours or a file in the format of YCSB.',
  },
  store: {
    kind: text("a store's URL, or a store of the lab"),
    default: 'sqlite',
    secret: 'url',
    help: 'The store under test; one without a URL is started, empty, and gone afterwards.',
  },
  api: { kind: apiUrl, help: 'An API that runs already, instead of one started over --store.' },
  apiToken: { kind: text(), secret: true, help: 'Bearer token of that API.' },
  records: { kind: integer(1, MAX_RECORDS), help: 'Records in the table; default: recordcount.' },
  phase: {
    kind: oneOf(['both', 'load', 'run']),
    default: 'both',
    help: 'Insert what is not there yet, run the operations on what is there, or one after the other.',
  },
});

/** YCSB's workloads over HTTP. */
export const recordsProfile: Profile<typeof SETTINGS> = {
  summary: "records: YCSB's workloads A to G and I over HTTP",
  settings: SETTINGS,
  takesProperties: true,
  script: 'records.ts',
  check(config, properties) {
    if (config.api !== null) refuseForeignHosts(config.api, config);
    else checkStore(config.store);
    if (config.api === null && isStoreUrl(config.store)) refuseForeignHosts(config.store, config);
    const workload = readWorkload(config.workload, {
      ...properties,
      ...(config.records === null ? {} : { recordcount: String(config.records) }),
    });
    return { workload, model: modelOf(config, workload.operationCount || null) };
  },
  async prepare(config, { workload, model }, { closers, signal, say }) {
    const api = config.api ?? (await provideApi(await provideStore(config.store, closers), closers));
    const client = new HttpClient(config.threads, config.apiToken);
    closers.add(async () => client.close());
    const load = { api, client, workload, seed: config.seed, threads: config.threads, signal };
    if (config.phase === 'run') await requireLoaded(load);
    else {
      const { found, inserted, perSecond } = await loadRecords(load);
      const already = found > 0 ? `, ${found.toLocaleString('en')} were there` : '';
      say(`loaded ${inserted.toLocaleString('en')} records, ${showNumber(perSecond)}/s${already}`);
    }
    if (config.phase === 'load') return null;
    return {
      parts: [{ profile: 'records', workload, model }],
      api: { url: api, token: config.apiToken },
      broker: null,
    };
  },
};

function readWorkload(name: string, overrides: Readonly<Record<string, string>>): RecordWorkload {
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
