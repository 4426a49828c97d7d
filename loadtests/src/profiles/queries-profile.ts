import { type Config, defineConfig, integer } from '@tidegauge/service';
import { readingItems } from '../loading/load-fleet.ts';
import type { QueriesPart } from '../operations/plan.ts';
import { QUERY_COUNT } from '../operations/query-operations.ts';
import type { Closers } from '../targets/closers.ts';
import { provideIngest } from '../targets/ingest-target.ts';
import { checkApiTarget, fill, provideApi, provideClient } from '../targets/targets.ts';
import type { Profile } from './profile.ts';
import { API_SETTINGS, COMMON_SETTINGS, modelOf, PHASE_SETTING, STORE_SETTINGS } from './settings.ts';

export const QUERY_SETTINGS = defineConfig({
  ...PHASE_SETTING,
  devices: { kind: integer(1, 1_000_000), default: '500', help: 'Devices that have readings.' },
  readings: {
    kind: integer(1, 1_000_000),
    default: '1000',
    help: 'Readings of each device, a minute apart.',
  },
  share: { kind: integer(1, 100), default: '100', help: 'Percent of devices and of time to ask for.' },
  query: { kind: integer(1, QUERY_COUNT), help: 'Only this one of the ten queries.' },
});

/** The names of the meters of queries. */
export const QUERIES: readonly string[] = Array.from(
  { length: QUERY_COUNT },
  (_, index) => `query_${index + 1}`,
);

const SETTINGS = defineConfig({ ...COMMON_SETTINGS, ...STORE_SETTINGS, ...API_SETTINGS, ...QUERY_SETTINGS });

/** Ten reads of growing complexity over readings and devices. */
export const queriesProfile: Profile<typeof SETTINGS, QueriesPart> = {
  summary: 'Ten reads of growing complexity over readings and devices.',
  settings: SETTINGS,
  takesProperties: false,
  script: 'queries.ts',
  operations: QUERIES,
  check(config) {
    checkApiTarget(config);
    return { ...queriesPart(config), model: modelOf(config, null) };
  },
  async prepare(config, part, preparation) {
    const { closers } = preparation;
    const api = config.api ?? (await provideStack(config.store, closers)).api;
    const client = provideClient(config, closers);
    await fill(readingItems(api, client, config.devices, config.readings), config, preparation);
    if (config.phase === 'load') return null;
    return { parts: [part], api: { url: api, token: config.apiToken }, broker: null };
  },
};

export function queriesPart(config: Config<typeof QUERY_SETTINGS>): Omit<QueriesPart, 'model'> {
  const { devices, readings, share, query } = config;
  return { profile: 'queries', devices, readings, share, query };
}

/** Starts all parts of the application on a store: ingest writes the readings, and the API serves the queries. */
export async function provideStack(store: string, closers: Closers) {
  const nothing = { broker: null, brokerUser: null, brokerPassword: null, brokerCa: null, ingest: null };
  const ingest = await provideIngest({ ...nothing, store }, closers);
  return { ...ingest, api: await provideApi(ingest.store, closers, { INGEST: ingest.url }) };
}
