import { compileInfluxNames, INFLUX_DEVICE, INFLUX_METRIC, zoneProblem } from '@tidegauge/readings';
import {
  ACCESS_SETTINGS,
  BROKER_LOGIN_SETTINGS,
  BROKER_SETTINGS,
  boolean,
  bytes,
  defineConfig,
  duration,
  type Gone,
  inGroup,
  integer,
  type Kind,
  LIMIT_SETTINGS,
  OIDC_GONE,
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
import { RELAY_SETTINGS } from './relay/settings.ts';
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

const fixedPace = duration(0, 1);

const pace: Kind<number | 'auto'> = {
  ...fixedPace,
  takes: `auto, or ${fixedPace.takes}`,
  limits: `auto, ${fixedPace.limits}`,
  parse: (value) => (value === 'auto' ? value : fixedPace.parse(value)),
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
    help: 'Zone of local times in payloads, unless their route states one. Default: UTC.',
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
export const BROKER_CERTIFICATE_SETTINGS = inGroup('Broker login', {
  brokerCert: { kind: text('a file name'), help: 'PEM file of a client certificate.' },
  brokerKey: { kind: text('a file name'), help: "PEM file of the client certificate's private key." },
});

/** Read by ingest and by `tidegauge explain`. */
export const TOPIC_LEVELS_SETTING = {
  kind: oneOf(TOPIC_LEVELS),
  help: 'Whether {metric} of a topic is part of the device when the payload names its values. Default: keep for a new DATA_DIR.',
} as const;

const { listen, listenPasswords, ...direct } = DIRECT_SETTINGS;

/**
 * Every setting of ingest, those that most installations need first. docs/configuration.md is generated from it.
 */
export const settings = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    default: 'sqlite:./data/tidegauge.db',
    secret: 'url',
    help: 'The store for readings. The scheme selects the backend.',
  },
  broker: {
    kind: BROKER_SETTINGS.broker.kind,
    secret: 'url',
    help: `The MQTT broker. Default: ${BROKER_SETTINGS.broker.default}, and none with LISTEN.`,
  },
  listen,
  listenPasswords,
  routes: {
    kind: text('a file name'),
    help: 'File of routes. Default: DATA_DIR/routes.yml. Without an entry: one route, sensors/{device+}/{metric}.',
  },
  dataDir: {
    kind: text('a directory'),
    default: './data',
    help: 'Directory of the quarantine, the spool and the ledger.',
  },
  alerts: {
    kind: text('a file name'),
    help: 'File of alert rules. Default: DATA_DIR/alerts.yml, which need not exist.',
  },
  metricsPort: {
    kind: port(),
    default: '9464',
    help: 'HTTP port for metrics, health, ledger, quarantine and live feed.',
  },
  httpToken: {
    kind: text(),
    secret: true,
    help: 'Bearer token that may do everything: the INGEST_TOKEN of the API.',
  },
  clientId: {
    kind: clientId,
    default: 'tidegauge-ingest',
    help: 'MQTT client id. Each replica needs its own, and the same one after a restart.',
  },
  shareGroup: { kind: text(), help: 'Share the messages among replicas: subscribe to $share/<group>/….' },
  ack: {
    kind: oneOf(ACK_POLICIES),
    default: 'durable',
    help: 'When a message is acknowledged. durable: stored or in the spool. stored: stored. received: on arrival.',
  },
  siteFromDevice: {
    kind: boolean(),
    default: 'false',
    help: 'A device that registers itself gets the first level of its name as site: site-3/boiler gets site-3.',
  },
  ...BROKER_LOGIN_SETTINGS,
  ...BROKER_CERTIFICATE_SETTINGS,
  ...direct,
  topicLevels: TOPIC_LEVELS_SETTING,
  ...TIME_SETTINGS,
  alertTopic: {
    kind: alertTopic,
    help: 'Publish a message about each alert below this MQTT topic, such as tidegauge/alerts.',
  },
  alertWebhook: {
    kind: url('http', 'https'),
    secret: 'url',
    help: 'Send a message about each alert to this URL with POST.',
  },
  alertWebhookSecret: {
    kind: text(),
    secret: true,
    help: 'Signs the messages to ALERT_WEBHOOK, as Standard Webhooks describes.',
  },
  alertSmtp: {
    kind: url('smtp', 'smtps'),
    secret: 'url',
    help: 'Mail server for receivers of the kind email, such as smtps://user:password@mail.example.org.',
  },
  influxDevice: {
    kind: influxTemplate('device'),
    default: INFLUX_DEVICE,
    help: 'Device of InfluxDB line protocol from HTTP, from tags and {measurement}.',
  },
  influxMetric: {
    kind: influxTemplate('metric'),
    default: INFLUX_METRIC,
    help: 'Metric of InfluxDB line protocol from HTTP.',
  },
  spoolDir: {
    kind: text('a directory'),
    help: 'Directory of the spool, such as on another disk. Default: DATA_DIR/spool.',
  },
  spoolMaxBytes: {
    kind: bytes(0, 2 ** 40),
    default: '256MiB',
    help: 'Largest size of the spool. When it is full, messages wait at the broker. 0: no spool.',
  },
  quarantineMaxBytes: {
    kind: bytes(65_536, 2 ** 40),
    default: '64MiB',
    help: 'Largest size of the quarantine. Then the sender with the most bytes loses its oldest messages.',
  },
  resend: {
    kind: boolean(),
    default: 'true',
    help: 'Request readings that the ledger misses from their sensors, on tidegauge/resend/<device>. Sensors that do not subscribe to it are not affected. With SHARE_GROUP nothing is requested.',
  },
  rollups: {
    kind: boolean(),
    default: 'true',
    help: 'Compute rollups per minute, hour and day, on stores that keep them.',
  },
  ...RETENTION_SETTINGS,
  ...RELAY_SETTINGS,
  maxInFlight: {
    kind: integer(1, 1_000_000),
    default: '8000',
    help: 'Most readings in memory. Further messages wait at the broker, or at the sensors.',
  },
  maxInFlightBytes: {
    kind: bytes(65_536, 2 ** 31),
    default: '16MiB',
    help: 'Largest size of the messages in memory, with their decoded readings.',
  },
  maxPayload: {
    kind: bytes(1024, 2 ** 28),
    // It fits 192 MiB of memory, with what the decoders need for it.
    default: '1MiB',
    help: 'Largest MQTT packet and HTTP payload. A larger MQTT message is quarantined without its payload.',
  },
  pace: {
    kind: pace,
    default: 'auto',
    help: 'Least time between two writes under load. auto: 3ms, and up to 200 ms while no sensor waits for an acknowledgement.',
  },
  keepAlive: { kind: duration(1, 3600), default: '30s', help: 'MQTT keep-alive.' },
  cleanStart: {
    kind: boolean(),
    default: 'false',
    help: 'Discard the messages that the broker kept while ingest was not connected.',
  },
  stopTimeout: {
    kind: duration(1, 600),
    default: '10s',
    help: 'Longest time from a stop signal to the end of the process.',
  },
  ...SERVICE_SETTINGS,
  ...ACCESS_SETTINGS,
  ...ORIGIN_SETTINGS,
  ...OIDC_SETTINGS,
  ...LIMIT_SETTINGS,
});

/** Settings of earlier versions. */
export const GONE: Gone = {
  ...OIDC_GONE,
  listenMaxPerAddress: 'LISTEN_MAX_PER_LOGIN replaces it',
  listenConnectTimeout: 'a sensor has 10s for TLS and CONNECT',
  listenInFlight: 'a connection has at most 1000 messages that are not acknowledged',
  listenInFlightBytes: 'a connection has at most 1MiB of messages that are not acknowledged',
  listenPartialBytes: 'packets that have arrived in part have 8MiB, or MAX_PAYLOAD if that is more',
  listenSessionExpiry: 'sessions of sensors are kept for 1d',
  maxBatch: 'a write has at most 5000 readings',
  maxTopic: 'a topic has at most 1KiB',
  keepLedger: 'the ledger is kept in DATA_DIR',
};
