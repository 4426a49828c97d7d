import { compileInfluxNames, INFLUX_DEVICE, INFLUX_METRIC, zoneProblem } from '@tidegauge/readings';
import {
  ACCESS_SETTINGS,
  BROKER_SETTINGS,
  boolean,
  bytes,
  defineConfig,
  duration,
  integer,
  type Kind,
  LIMIT_SETTINGS,
  OIDC_SETTINGS,
  ORIGIN_SETTINGS,
  oneOf,
  port,
  SERVICE_SETTINGS,
  text,
  url,
} from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { DIRECT_SETTINGS } from './direct/settings.ts';
import { RETENTION_SETTINGS } from './retention/settings.ts';
import { ACK_POLICIES, TOPIC_LEVELS } from './routes.ts';

/**
 * The client id is part of file names, quarantine ids and the broker's sessions, so only characters that all of these
 * allow are accepted.
 */
const clientId: Kind<string> = {
  takes: 'a name of 1 to 64 letters, digits, _ and -',
  parse(value) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(value)) throw new Error('it has other characters or is too long');
    return value;
  },
};

/** The beginning of topics for messages about alerts. Devices and metrics are added to it. */
const alertTopic: Kind<string> = {
  takes: 'an MQTT topic of 1 to 200 characters without + and #',
  placeholder: 'TOPIC',
  parse(value) {
    const isTopic = value.length <= 200 && /^[^$/+#\0][^+#\0]*$/u.test(value) && !value.endsWith('/');
    if (!isTopic) throw new Error('it is too long, has + or #, or begins with $ or /, or ends with /');
    return value;
  },
};

/** A time zone of the IANA database. */
const timeZone: Kind<string> = {
  takes: 'a time zone such as Europe/Berlin',
  placeholder: 'ZONE',
  parse(value) {
    const problem = zoneProblem(value);
    if (problem !== null) throw new Error(problem);
    return value;
  },
};

/** How local times of payloads are read. */
export const TIME_SETTINGS = defineConfig({
  timeZone: {
    kind: timeZone,
    help: 'Zone of local times in payloads, such as Europe/Berlin, unless their route states one. Default: UTC, with a note in GET /routes.',
  },
});

/** A template of names for line protocol. */
function influxTemplate(part: 'device' | 'metric'): Kind<string> {
  return {
    takes: 'a template with names in braces',
    parse(value) {
      if (part === 'device') compileInfluxNames(value);
      else compileInfluxNames(undefined, value);
      return value;
    },
  };
}

/** The certificate with which a client logs in to the broker. */
export const BROKER_CERTIFICATE_SETTINGS = defineConfig({
  brokerCert: { kind: text('a file name'), help: 'PEM file of a client certificate.' },
  brokerKey: { kind: text('a file name'), help: "PEM file of the client certificate's private key." },
});

/** Read by ingest and by `tidegauge explain`. */
export const TOPIC_LEVELS_SETTING = {
  kind: oneOf(TOPIC_LEVELS),
  help: 'What becomes of the level {metric} of a topic when the payload names its values itself. keep: it is the last segment of the device. drop: it is dropped, as before version 0.3. Default: the rule that DATA_DIR was used with; keep for a new one.',
} as const;

/** Every setting of ingest. The table in docs/configuration.md is generated from it. */
export const settings = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    default: 'sqlite:./data/tidegauge.db',
    secret: 'url',
    help: 'The store for readings. The scheme selects the backend.',
  },
  ...BROKER_SETTINGS,
  broker: {
    kind: BROKER_SETTINGS.broker.kind,
    secret: 'url',
    help: `The MQTT broker. User name and password have their own variables. Default: ${BROKER_SETTINGS.broker.default}, and none with LISTEN.`,
  },
  ...BROKER_CERTIFICATE_SETTINGS,
  ...DIRECT_SETTINGS,
  clientId: {
    kind: clientId,
    default: 'tidegauge-ingest',
    help: 'MQTT client id. The broker keeps a queue for each client id, so each replica needs its own, and the same one after a restart.',
  },
  shareGroup: { kind: text(), help: 'Share the messages among replicas: subscribe to $share/<group>/….' },
  ack: {
    kind: oneOf(ACK_POLICIES),
    default: 'durable',
    help: 'When a message is acknowledged, unless its route sets it. durable: after the commit, or after an fsync in the spool while the store is unavailable. stored: after the commit only. received: on arrival (a crash loses messages in flight).',
  },
  routes: {
    kind: text('a file name'),
    help: 'YAML or JSON file of routes. A change is used without a restart. Default: DATA_DIR/routes.yml. Without a file or an entry there is one route, sensors/{device+}/{metric}, in any format.',
  },
  siteFromDevice: {
    kind: boolean(),
    default: 'false',
    help: 'A device that registers itself with its first reading gets the first level of its name as site: site-3/boiler gets site-3. Known devices, and names of one level, stay without it.',
  },
  topicLevels: TOPIC_LEVELS_SETTING,
  ...TIME_SETTINGS,
  alerts: {
    kind: text('a file name'),
    help: 'YAML or JSON file of alert rules. A change is used without a restart. Default: DATA_DIR/alerts.yml, which need not exist.',
  },
  alertTopic: {
    kind: alertTopic,
    help: 'Publish a message about each alert below this MQTT topic, such as tidegauge/alerts. Default: none.',
  },
  alertWebhook: {
    kind: url('http', 'https'),
    secret: 'url',
    help: 'Send a message about each alert to this URL with POST. Default: none.',
  },
  alertWebhookSecret: {
    kind: text(),
    secret: true,
    help: 'Signs the messages to ALERT_WEBHOOK, as Standard Webhooks describes.',
  },
  influxDevice: {
    kind: influxTemplate('device'),
    default: INFLUX_DEVICE,
    help: 'The device of InfluxDB line protocol from HTTP: tags, {measurement} and {db} in braces; {a,b} is the first of these tags that a line has, {*} all other tags.',
  },
  influxMetric: {
    kind: influxTemplate('metric'),
    default: INFLUX_METRIC,
    help: 'The metric of InfluxDB line protocol from HTTP: {measurement}, {field} and tags.',
  },
  dataDir: {
    kind: text('a directory'),
    default: './data',
    help: "Directory for ingest's own files: the quarantine, and the spool unless SPOOL_DIR is set.",
  },
  spoolDir: {
    kind: text('a directory'),
    help: 'Directory for messages that wait while the store is unavailable. Each client id has its own subdirectory. Default: DATA_DIR/spool.',
  },
  spoolMaxBytes: {
    kind: bytes(0, 2 ** 40),
    default: '256MiB',
    help: 'Largest size of the spool. When it is full, messages wait at the broker. 0: no spool.',
  },
  keepLedger: {
    kind: boolean(),
    default: 'true',
    help: 'Keep the ledger of sequence numbers in DATA_DIR, so that a loss while ingest was stopped is found. false: the ledger begins at each start.',
  },
  resend: {
    kind: boolean(),
    default: 'true',
    help: 'Request readings that the ledger misses from their sensors, on tidegauge/resend/<device>. Sensors that do not subscribe to it are not affected. With SHARE_GROUP nothing is requested.',
  },
  rollups: {
    kind: boolean(),
    default: 'true',
    help: 'Compute rollups per minute, hour and day beside live traffic, on stores that keep them. One ingest process of a store does it at a time. false: their marks wait in the store.',
  },
  httpListen: SERVICE_SETTINGS.httpListen,
  metricsPort: {
    kind: port(),
    default: '9464',
    help: 'HTTP port for metrics, health, ledger, quarantine and live feed.',
  },
  httpToken: {
    kind: text(),
    secret: true,
    help: 'Bearer token that may do everything; the INGEST_TOKEN of the API. Where ingest listens beyond loopback, it, API_KEYS or OIDC_ISSUER is needed.',
  },
  ...ACCESS_SETTINGS,
  ...OIDC_SETTINGS,
  ...LIMIT_SETTINGS,
  ...ORIGIN_SETTINGS,
  maxBatch: { kind: integer(1, 100_000), default: '5000', help: 'Largest number of readings in one write.' },
  pace: {
    kind: duration(0, 1),
    default: '3ms',
    help: 'Least time between two writes under load. A single message does not wait.',
  },
  maxInFlight: {
    kind: integer(1, 1_000_000),
    default: '8000',
    help: 'Largest number of readings in memory. Further messages wait at the broker, or at the sensors.',
  },
  maxInFlightBytes: {
    kind: bytes(65_536, 2 ** 31),
    default: '16MiB',
    help: 'Largest size of the messages in memory: payloads, topics and decoded readings. Further messages wait at the broker.',
  },
  maxTopic: {
    kind: bytes(16, 65_535),
    default: '1KiB',
    help: 'The longest MQTT topic that is accepted. A message with a longer topic is quarantined, with its topic cut to 512 bytes.',
  },
  maxPayload: {
    kind: bytes(1024, 2 ** 28),
    default: '1MiB',
    help: 'The largest MQTT packet and HTTP payload that is accepted. A larger MQTT message is quarantined without its payload. The default fits 192 MiB of memory.',
  },
  quarantineMaxBytes: {
    kind: bytes(65_536, 2 ** 40),
    default: '64MiB',
    help: 'Largest size of the quarantine on disk. When it is full, the oldest items of the sender with the most bytes are dropped.',
  },
  ...RETENTION_SETTINGS,
  keepAlive: { kind: duration(1, 3600), default: '30s', help: 'MQTT keep-alive.' },
  stopTimeout: {
    kind: duration(1, 600),
    default: '10s',
    help: 'Longest time from a stop signal to the end of the process. Messages in flight are stored in the first three quarters of it; the broker keeps the rest.',
  },
  cleanStart: {
    kind: boolean(),
    default: 'false',
    help: 'Start a new MQTT session: discard the messages that the broker kept while ingest was not connected.',
  },
  boardName: SERVICE_SETTINGS.boardName,
  logLevel: SERVICE_SETTINGS.logLevel,
});
