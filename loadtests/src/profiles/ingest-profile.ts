import { boolean, type Config, defineConfig, integer, oneOf } from '@tidegauge/service';
import { publishFromProcess } from '@tidegauge/test-support/publisher-process';
import type { Broker, IngestPart } from '../operations/plan.ts';
import type { Summary } from '../results/summary.ts';
import {
  checkIngestTarget,
  followLedger,
  INGEST_TARGET_SETTINGS,
  provideIngest,
} from '../targets/ingest-target.ts';
import type { Profile } from './profile.ts';
import { COMMON_SETTINGS, mistake, modelOf } from './settings.ts';

/** The limit bounds memory: the own driver stores the latency of each message. */
const MAX_OWN_MESSAGES = 10_000_000;

export const INGEST_SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  ...INGEST_TARGET_SETTINGS,
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
    help: 'own: one connection with thousands of messages in flight, for rates beyond k6.',
  },
});

export type IngestConfig = Config<typeof INGEST_SETTINGS>;

/** Publishes readings over MQTT to ingest, and compares the ledger of ingest with the acknowledged messages. */
export const ingestProfile: Profile<typeof INGEST_SETTINGS, IngestPart> = {
  summary: 'Readings over MQTT into a store, checked against the ledger.',
  settings: INGEST_SETTINGS,
  takesProperties: false,
  script: 'ingest.ts',
  operations: ['publish', 'receive'],
  check: (config) => {
    checkIngestTarget(config);
    if (config.driver === 'own') checkOwnDriver(config);
    return ingestPart(config);
  },
  async prepare(config, part, { closers }) {
    const { broker, ledger } = await provideIngest(config, closers);
    const verify = await followLedger(ledger, part.qos);
    const prepared = { parts: [part], api: null, broker, verify };
    if (config.driver === 'k6') return prepared;
    return { ...prepared, drive: (signal) => publishOurselves(broker, part, signal) };
  },
};

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

/** Publishes with the benchmarks' publisher, and converts its figures to the format of k6's. */
async function publishOurselves(
  { url }: Broker,
  { model, devices, run }: IngestPart,
  signal: AbortSignal,
): Promise<Summary> {
  const { operations, durationMs, rate } = model as Extract<IngestPart['model'], { kind: 'closed' }>;
  const count = operations ?? Math.floor((durationMs! / 1000) * rate!);
  const result = await publishFromProcess({
    port: Number(new URL(url).port || 1883),
    count,
    devices,
    prefix: run,
    signal,
    ...(rate === null ? {} : { rate }),
  });
  const { acknowledged, seconds, latency, intended } = result;
  return {
    runTimeMs: seconds * 1000,
    throughput: acknowledged / seconds,
    operations: { PUBLISH: { latency, intended, failed: null, outcomes: { OK: acknowledged } } },
    facts: {},
    dropped: 0,
    invalid: acknowledged === 0 ? ['not one operation succeeded'] : [],
    failures: [],
  };
}
