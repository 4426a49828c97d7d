import { defineConfig, integer } from '@tidegauge/service';
import { readingItems } from '../loading/load-fleet.ts';
import type { IngestPart, QueriesPart } from '../operations/plan.ts';
import { followLedger } from '../targets/ingest-target.ts';
import { checkStore, fill, provideClient } from '../targets/targets.ts';
import { INGEST_SETTINGS } from './ingest-profile.ts';
import type { Profile } from './profile.ts';
import { provideStack, QUERIES, QUERY_SETTINGS, queriesPart } from './queries-profile.ts';
import { COMMON_SETTINGS, mistake, modelOf, STORE_SETTINGS } from './settings.ts';

const SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  ...STORE_SETTINGS,
  ...QUERY_SETTINGS,
  qos: INGEST_SETTINGS.qos,
  queryThreads: {
    kind: integer(1, 10_000),
    default: '1',
    help: 'Queries at once; --threads are connections that publish.',
  },
  queryRate: { kind: integer(1, 1_000_000), help: 'Queries per second; --rate are messages per second.' },
});

interface Parts {
  readonly ingest: IngestPart;
  readonly queries: QueriesPart;
}

/** Publishes readings over MQTT, and at the same time queries loaded readings over HTTP. */
export const mixedProfile: Profile<typeof SETTINGS, Parts> = {
  summary: 'Ingest and queries at once.',
  settings: SETTINGS,
  takesProperties: false,
  script: 'mixed.ts',
  operations: ['publish', 'receive', ...QUERIES],
  check(config) {
    checkStore(config.store, config);
    if (config.ops !== null || config.duration === null || config.ramp !== null) {
      throw mistake('both parts of mixed end together: give --duration, without --ops or --ramp');
    }
    if (config.model === 'open' && config.queryRate === null) {
      throw mistake('the open model needs a rate: add --query-rate');
    }
    const { devices, qos, queryThreads: threads, queryRate: rate } = config;
    const run = `loadtest-${Date.now().toString(36)}`;
    return {
      ingest: {
        profile: 'ingest',
        model: modelOf(config, null),
        devices,
        qos: Number(qos) as IngestPart['qos'],
        run,
        receive: false,
      },
      queries: { ...queriesPart(config), model: modelOf({ ...config, threads, rate }, null) },
    };
  },
  async prepare(config, { ingest, queries }, preparation) {
    const { closers } = preparation;
    const { api, broker, ledger } = await provideStack(config.store, closers);
    const client = provideClient({ ...config, api, apiToken: null }, closers);
    await fill(readingItems(api, client, config.devices, config.readings), config, preparation);
    if (config.phase === 'load') return null;
    const verify = await followLedger(ledger, ingest.qos);
    return { parts: [ingest, queries], api: { url: api, token: null }, broker, verify };
  },
};
