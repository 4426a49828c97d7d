import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import type { LedgerDocument } from '@tidegauge/readings';
import { type Config, defineConfig, fetchFor, inputFile, text, url } from '@tidegauge/service';
import { startIngestProcess } from '@tidegauge/test-support/ingest-process';
import { maskUrl } from '@tidegauge/text';
import type { Broker } from '../operations/plan.ts';
import { type CommonConfig, mistake, refuseForeignHosts, STORE_SETTINGS } from '../profiles/settings.ts';
import type { Summary } from '../results/summary.ts';
import type { Closers } from './closers.ts';
import { checkStore, provideFolder, provideStore } from './targets.ts';

const STORED_MS = 60_000;
const ASK_MS = 100;

export const INGEST_TARGET_SETTINGS = defineConfig({
  ...STORE_SETTINGS,
  broker: {
    kind: url('mqtt', 'mqtts'),
    help: 'A broker that runs already, instead of a mosquitto started for the run.',
  },
  brokerUser: { kind: text(), help: 'User name for it.' },
  brokerPassword: { kind: text(), secret: true, help: 'Password for it.' },
  brokerCa: {
    kind: inputFile(),
    help: 'PEM file of the certificate authority that signed it, for mqtts.',
  },
  ingest: { kind: url('http'), help: 'HTTP port of an ingest that runs already and follows --broker.' },
});

export type IngestTarget = Config<typeof INGEST_TARGET_SETTINGS>;

/** @throws {ConfigError} */
export function checkIngestTarget(config: IngestTarget & CommonConfig): void {
  if (config.ingest !== null && config.broker === null) {
    throw mistake('--ingest needs the --broker that it follows');
  }
  for (const url of [config.broker, config.ingest]) if (url !== null) refuseForeignHosts(url, config);
  if (config.ingest !== null) return;
  checkStore(config.store, config);
}

/** Starts a broker and an ingest, unless the options name running ones. */
export async function provideIngest(config: IngestTarget, closers: Closers) {
  const broker = await provideBroker(config, closers);
  if (config.ingest !== null)
    return { broker, url: config.ingest, ledger: () => ledgerOf(config.ingest!), store: config.store };
  const store = await provideStore(config.store, closers);
  const ingest = await startIngestProcess({
    STORE: store,
    BROKER: broker.url,
    CLIENT_ID: `loadtest-${process.pid}`,
    DATA_DIR: provideFolder(closers),
    ...(broker.username === null ? {} : { BROKER_USER: broker.username }),
    ...(broker.password === null ? {} : { BROKER_PASSWORD: broker.password }),
    ...(config.brokerCa === null ? {} : { BROKER_CA: config.brokerCa }),
  });
  closers.add(() => ingest.stop());
  return { broker, url: ingest.url, ledger: () => ingest.ledger(), store };
}

async function provideBroker(config: IngestTarget, closers: Closers): Promise<Broker> {
  if (config.broker === null) {
    const mosquitto = await startMosquitto();
    closers.add(() => mosquitto.stop());
    return { url: mosquitto.url, username: null, password: null, ca: null };
  }
  return {
    url: config.broker,
    username: config.brokerUser,
    password: config.brokerPassword,
    ca: config.brokerCa === null ? null : readFileSync(config.brokerCa, 'utf8'),
  };
}

async function ledgerOf(url: string): Promise<LedgerDocument> {
  const response = await fetchFor('read the ledger of ingest', `${url}/ledger`, { timeoutMs: 30_000 });
  const ledger = (await response.json().catch(() => null)) as LedgerDocument | null;
  if (response.ok && ledger?.readings !== undefined) return ledger;
  throw new Error(
    `${maskUrl(url)}/ledger answered ${response.status} without a ledger: --ingest takes the HTTP port of ingest`,
  );
}

/**
 * Reads the ledger of ingest before a run. The returned function waits until the ledger contains all acknowledged
 * readings, and reports how many were stored. With QoS 0 nothing is acknowledged, so a loss is not a failure.
 */
export async function followLedger(ledger: () => Promise<LedgerDocument>, qos: number) {
  const before = (await ledger()).readings;
  return async ({ operations }: Summary): Promise<Pick<Summary, 'facts' | 'failures'>> => {
    const published = operations.PUBLISH?.outcomes.OK ?? 0;
    const since = async () => {
      const { readings, gaps } = await ledger();
      return {
        Published: published,
        Received: readings.received - before.received,
        Stored: readings.stored - before.stored,
        Duplicate: readings.duplicate - before.duplicate,
        Quarantined: readings.quarantined - before.quarantined,
        Missing: gaps.missing,
        InFlight: readings.inFlight + readings.spooled,
      };
    };
    const deadline = performance.now() + STORED_MS;
    let now = await since();
    while ((now.Received < published || now.InFlight > 0) && performance.now() < deadline) {
      await sleep(ASK_MS);
      now = await since();
    }
    const failures: string[] = [];
    if (qos > 0 && now.Stored + now.Duplicate < published) {
      failures.push(`${published} readings were acknowledged, ${now.Stored + now.Duplicate} are stored`);
    }
    if (now.Quarantined > 0) failures.push(`${now.Quarantined} readings are in quarantine`);
    return { facts: { LEDGER: now }, failures };
  };
}
