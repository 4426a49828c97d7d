import {
  BROKER_SETTINGS,
  boolean,
  bytes,
  defineConfig,
  duration,
  integer,
  type Kind,
  oneOf,
  port,
  SERVICE_SETTINGS,
  text,
  url,
} from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { ACK_POLICIES } from './routes.ts';

/** Stands in file names, quarantine ids and on the broker, so it is kept to what all of these allow. */
const clientId: Kind<string> = {
  takes: 'a name of 1 to 64 letters, digits, _ and -',
  parse(value) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(value)) throw new Error('it has other characters or length');
    return value;
  },
};

/** Every setting of ingest; the README's table is generated from it. */
export const settings = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    default: 'sqlite:./data/tidegauge.db',
    secret: 'url',
    help: 'Where readings are stored; the scheme picks the backend.',
  },
  ...BROKER_SETTINGS,
  brokerCert: { kind: text('a file name'), help: 'PEM file of a client certificate.' },
  brokerKey: { kind: text('a file name'), help: 'PEM file of the key to it.' },
  clientId: {
    kind: clientId,
    default: 'tidegauge-ingest',
    help: 'MQTT client id. The broker keeps the queue under it, so each replica has its own, the same after a restart.',
  },
  shareGroup: { kind: text(), help: 'Share the work with other replicas: subscribes as $share/<group>/….' },
  ack: {
    kind: oneOf(ACK_POLICIES),
    default: 'durable',
    help: 'When a message is acknowledged, where its route does not say: durable after the commit, or while the store is away once it is fsynced in the spool; stored after the commit only; received at once (can lose what is in flight).',
  },
  routes: {
    kind: text('a file name'),
    help: 'YAML or JSON file of routes; without one, sensors/{device+}/{metric} in any format.',
  },
  dataDir: {
    kind: text('a directory'),
    default: './data',
    help: 'Where ingest keeps what is its own: the quarantine, and the spool unless SPOOL_DIR says otherwise.',
  },
  spoolDir: {
    kind: text('a directory'),
    help: 'Where messages wait while the store is away; each client id has its own part of it. DATA_DIR/spool by default.',
  },
  spoolMaxBytes: {
    kind: bytes(0, 2 ** 40),
    default: '256MiB',
    help: 'Size of the spool; beyond it the broker has to wait. 0 does without: then the broker waits at once.',
  },
  httpListen: SERVICE_SETTINGS.httpListen,
  metricsPort: {
    kind: port(),
    default: '9464',
    help: 'HTTP port: metrics, health, ledger, quarantine, live feed.',
  },
  httpToken: {
    kind: text(),
    secret: true,
    help: 'Bearer token asked of every request that changes something; needed when listening beyond this machine.',
  },
  maxBatch: { kind: integer(1, 100_000), default: '5000', help: 'Readings in one write, at most.' },
  pace: {
    kind: duration(0, 1),
    default: '3ms',
    help: 'Least time between two writes under load; a message that comes alone never waits.',
  },
  maxInFlight: {
    kind: integer(1, 1_000_000),
    default: '8000',
    help: 'Readings in memory, at most; beyond it the broker has to wait.',
  },
  maxInFlightBytes: {
    kind: bytes(65_536, 2 ** 31),
    default: '16MiB',
    help: 'Bytes of messages in memory, at most, likewise: payloads, topics and all that is kept beside them.',
  },
  maxTopic: {
    kind: bytes(16, 65_535),
    default: '1KiB',
    help: 'The longest MQTT topic taken; a message with a longer one is quarantined, its topic cut to 512 bytes.',
  },
  maxPayload: {
    kind: bytes(1024, 2 ** 28),
    default: '8MiB',
    help: 'The largest MQTT packet and the largest HTTP payload taken; a larger MQTT message is quarantined without its payload.',
  },
  quarantineMaxBytes: {
    kind: bytes(65_536, 2 ** 40),
    default: '64MiB',
    help: 'Size of the quarantine on the disk; the oldest items make room.',
  },
  keepAlive: { kind: duration(1, 3600), default: '30s', help: 'MQTT keep-alive.' },
  stopTimeout: {
    kind: duration(1, 600),
    default: '10s',
    help: 'Time from being asked to stop to the end of the process, at most. What is in flight is stored in its first three quarters; the rest stays with the broker.',
  },
  cleanStart: {
    kind: boolean(),
    default: 'false',
    help: 'Forget what the broker kept for us while we were away.',
  },
  logLevel: SERVICE_SETTINGS.logLevel,
});
