import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMosquitto } from '@tidegauge/lab';
import type { LedgerDocument } from '@tidegauge/readings';
import { boolean, type Config, defineConfig, integer, oneOf, text } from '@tidegauge/service';
import { startIngestProcess } from './ingest-process.ts';
import {
  apiUrl,
  brokerUrl,
  COMMON_SETTINGS,
  mistake,
  modelOf,
  refuseForeignHosts,
} from './loadtest-settings.ts';
import type { Broker, IngestPart } from './plan.ts';
import type { Profile } from './profile.ts';
import { publishFromProcess } from './publisher-process.ts';
import type { Summary } from './summary.ts';
import { type Closers, checkStore, isStoreUrl, provideFolder, provideStore } from './targets.ts';

const STORED_MS = 60_000;
const ASK_MS = 100;
/** Each message's time is kept. */
const MAX_OWN_MESSAGES = 10_000_000;

export const INGEST_SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  store: {
    kind: text("a store's URL, or a store of the lab"),
    default: 'sqlite',
    secret: 'url',
    help: 'Where the ingest under test stores; one without a URL is started, empty, and gone afterwards.',
  },
  broker: {
    kind: brokerUrl,
    help: 'A broker that runs already, instead of a mosquitto started for the run.',
  },
  brokerUser: { kind: text(), help: 'User name for it.' },
  brokerPassword: { kind: text(), secret: true, help: 'Password for it.' },
  brokerCa: {
    kind: text('a file'),
    help: 'PEM file of the certificate authority that signed it, for mqtts.',
  },
  ingest: { kind: apiUrl, help: 'HTTP port of an ingest that runs already and follows --broker.' },
  devices: { kind: integer(1, 1_000_000), default: '500', help: 'Devices that publish.' },
  qos: { kind: oneOf(['0', '1', '2']), default: '1', help: 'Quality of service of the messages.' },
  receive: {
    kind: boolean(),
    default: 'false',
    help: 'Threads subscribe to what they publish, wait for it, and time that too.',
  },
  driver: {
    kind: oneOf(['k6', 'own']),
    default: 'k6',
    help: 'own: one connection with thousands of messages in flight, for rates beyond k6 (QoS 1 only).',
  },
});

export type IngestConfig = Config<typeof INGEST_SETTINGS>;

/** Readings over MQTT into ingest, whose ledger has to agree with what was acknowledged. */
export const ingestProfile: Profile<typeof INGEST_SETTINGS, IngestPart> = {
  summary: 'ingest: readings over MQTT into a store, checked against the ledger',
  settings: INGEST_SETTINGS,
  takesProperties: false,
  script: 'ingest.ts',
  check: (config) => {
    checkTargets(config);
    if (config.driver === 'own') checkOwnDriver(config);
    return ingestPart(config);
  },
  async prepare(config, part, { closers }) {
    const { broker, ledger } = await provideIngest(config, closers);
    const verify = await followLedger(ledger, part.qos);
    const prepared = { parts: [part], api: null, broker, verify };
    return config.driver === 'own' ? { ...prepared, drive: () => publishOurselves(broker, part) } : prepared;
  },
};

export function checkTargets(config: IngestConfig): void {
  if (config.ingest !== null && config.broker === null) {
    throw mistake('--ingest needs the --broker that it follows');
  }
  for (const url of [config.broker, config.ingest]) if (url !== null) refuseForeignHosts(url, config);
  if (config.ingest !== null) return;
  checkStore(config.store);
  if (isStoreUrl(config.store)) refuseForeignHosts(config.store, config);
}

function checkOwnDriver({
  qos,
  receive,
  threads,
  model,
  ramp,
  broker,
  ops,
  duration,
  rate,
}: IngestConfig): void {
  if (qos !== '1' || receive) throw mistake('--driver own publishes with QoS 1 and does not receive');
  if (threads !== 1) throw mistake('--driver own has one connection: leave out --threads');
  if (model === 'open' || ramp !== null)
    throw mistake('--driver own takes --rate or none, not --model or --ramp');
  if (broker !== null && !broker.startsWith('mqtt://127.0.0.1')) {
    throw mistake('--driver own takes a broker at mqtt://127.0.0.1');
  }
  const messages = ops ?? (duration ?? Number.NaN) * (rate ?? Number.NaN);
  if (!(messages <= MAX_OWN_MESSAGES)) {
    throw mistake(
      `--driver own takes --ops, or --rate and --duration, of ${MAX_OWN_MESSAGES} messages at most`,
    );
  }
}

export function ingestPart(config: IngestConfig): IngestPart {
  return {
    profile: 'ingest',
    model: modelOf(config, null),
    devices: config.devices,
    qos: Number(config.qos) as IngestPart['qos'],
    run: `loadtest-${Date.now().toString(36)}`,
    receive: config.receive,
  };
}

/** Broker and ingest, as far as they do not run already. */
export async function provideIngest(config: IngestConfig, closers: Closers) {
  const broker = await provideBroker(config, closers);
  if (config.ingest !== null) return { broker, ledger: () => ledgerOf(config.ingest!), store: null };
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
  return { broker, ledger: () => ingest.ledger(), store };
}

async function provideBroker(config: IngestConfig, closers: Closers): Promise<Broker> {
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
  const response = await fetch(`${url}/ledger`, { signal: AbortSignal.timeout(30_000) });
  if (!response.ok) throw new Error(`${url}/ledger answered ${response.status}`);
  return response.json() as Promise<LedgerDocument>;
}

/**
 * Begins to watch a ledger. When the run is over, waits until it has all that was acknowledged, and tells what has
 * become of it. With QoS 0 nothing is acknowledged and a loss is no failure.
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

/** The publisher of the benches, whose figures take the shape of k6's. */
async function publishOurselves({ url }: Broker, { model, devices, run }: IngestPart): Promise<Summary> {
  const { operations, durationMs, rate } = model as Extract<IngestPart['model'], { kind: 'closed' }>;
  const count = operations ?? Math.floor((durationMs! / 1000) * rate!);
  const result = await publishFromProcess({
    port: Number(new URL(url).port || 1883),
    count,
    devices,
    prefix: run,
    ...(rate === null ? {} : { rate }),
  });
  const { acknowledged, seconds, latency, intended } = result;
  return {
    runTimeMs: seconds * 1000,
    throughput: acknowledged / seconds,
    operations: { PUBLISH: { latency, intended, failed: null, outcomes: { OK: acknowledged } } },
    facts: {},
    dropped: 0,
    invalid: [],
    failures: [],
  };
}
