import {
  ACCESS_SETTINGS,
  bytes,
  type Config,
  defineConfig,
  duration,
  integer,
  LIMIT_SETTINGS,
  LOG_LEVELS,
  list,
  OIDC_SETTINGS,
  ORIGIN_SETTINGS,
  oneOf,
  port,
  SERVICE_SETTINGS,
  text,
  url,
} from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';

/** The settings of the API, with their defaults. */
export const API_SCHEMA = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    default: 'sqlite:./data/tidegauge.db',
    secret: 'url',
    help: 'The store that readings and devices are read from; the same as ingest writes to.',
  },
  ingest: {
    kind: list(url('http')),
    default: 'http://127.0.0.1:9464',
    help: 'Where the ingest processes listen; a host named tasks.… stands for all its addresses.',
  },
  ingestToken: {
    kind: text('a text of at least 16 characters'),
    secret: true,
    help: 'Login of the API at ingest: the HTTP_TOKEN of ingest, or a key of its API_KEYS with the scope admin. Needed where ingest listens beyond loopback, and for changes where ingest has a token or keys.',
  },
  httpListen: {
    kind: text('an address of this machine'),
    default: '127.0.0.1',
    help: 'Where to listen; beyond loopback it needs API_TOKEN, API_KEYS or OIDC_ISSUER.',
  },
  httpPort: { kind: port(), default: '8080', help: 'Port of the API and the live page.' },
  httpTlsCert: {
    kind: text('a file name'),
    help: 'PEM file of the certificate: with it and HTTP_TLS_KEY the API speaks HTTPS only. A renewed file is used within seconds.',
  },
  httpTlsKey: { kind: text('a file name'), help: "PEM file of the certificate's private key." },
  httpPlainPort: {
    kind: port(),
    help: 'Port of 127.0.0.1 for plain HTTP beside HTTPS, for a health check on the same machine.',
  },
  apiToken: {
    kind: text('a text of at least 16 characters'),
    secret: true,
    help: 'Bearer token that may do everything. Where the API listens beyond loopback, it, API_KEYS or OIDC_ISSUER is needed.',
  },
  readToken: {
    kind: text('a text of at least 16 characters'),
    secret: true,
    help: 'Bearer token that may read and nothing else, for Grafana.',
  },
  sessionLifetime: {
    kind: duration(60, 30 * 24 * 3600),
    default: '12h',
    help: 'How long a visitor of the live page stays signed in.',
  },
  ...ACCESS_SETTINGS,
  ...OIDC_SETTINGS,
  ...LIMIT_SETTINGS,
  ...ORIGIN_SETTINGS,
  apiWorkers: {
    kind: integer(1, 64),
    default: '1',
    help: 'Worker processes that answer requests. More than 1 is for boards with several cores that mostly read: limits, live feed, sessions and metrics are those of one API. Each worker needs the memory of an API.',
  },
  bodyLimit: {
    kind: bytes(1024, 64 * 2 ** 20),
    default: '1MiB',
    help: 'Largest body of POST /v1/readings, and of records.',
  },
  ingestTimeout: {
    kind: duration(0.1, 300),
    default: '10s',
    help: 'How long a call to an ingest process may take.',
  },
  maxConnections: {
    kind: integer(16, 65_536),
    default: '512',
    help: 'How many connections there may be at once.',
  },
  maxClientConnections: {
    kind: integer(1, 65_536),
    default: '128',
    help: 'How many connections one client (an address) may have at once. Raise both for a load test with more threads.',
  },
  listReads: {
    kind: integer(2, 1024),
    default: '4',
    help: 'How many pages may be read from the store at once, and as many parts of lists over many series; one client gets half. Each list takes about 256 KiB of memory while it is sent.',
  },
  liveClients: {
    kind: integer(1, 10_000),
    default: '100',
    help: 'How many clients may follow the live feed at once.',
  },
  liveRing: {
    kind: integer(100, 1_000_000),
    default: '20000',
    help: 'Recent readings kept for live clients that are slow or come back.',
  },
  boardName: SERVICE_SETTINGS.boardName,
  logLevel: { kind: oneOf(LOG_LEVELS), default: 'info', help: 'What is logged to standard error.' },
});

export type ApiConfig = Config<typeof API_SCHEMA>;
