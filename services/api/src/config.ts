import {
  ACCESS_SETTINGS,
  bytes,
  type Config,
  defineConfig,
  duration,
  type Gone,
  integer,
  LIMIT_SETTINGS,
  list,
  OIDC_GONE,
  OIDC_SETTINGS,
  ORIGIN_SETTINGS,
  port,
  SERVICE_SETTINGS,
  text,
  url,
} from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';

/** The settings of the API, with their defaults. Those that most installations need are first. */
export const API_SCHEMA = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    default: 'sqlite:./data/tidegauge.db',
    secret: 'url',
    help: 'The store that ingest writes to.',
  },
  ingest: {
    kind: list(url('http')),
    default: 'http://127.0.0.1:9464',
    help: 'Where the ingest processes listen; a host named tasks.… stands for all its addresses.',
  },
  ingestToken: {
    kind: text('a text of at least 16 characters'),
    secret: true,
    help: 'Login at ingest: its HTTP_TOKEN, or a key of its API_KEYS with the scope admin.',
  },
  backup: {
    kind: url('http'),
    help: 'Where tidegauge backup listens (--every, --metrics-port), for the backups on the live page.',
  },
  backupToken: { kind: text(), secret: true, help: 'The HTTP_TOKEN of tidegauge backup.' },
  httpPort: { kind: port(), default: '8080', help: 'Port of the API and the live page.' },
  httpTlsCert: {
    kind: text('a file name'),
    help: 'PEM file of the certificate. The API then speaks HTTPS only.',
  },
  httpTlsKey: { kind: text('a file name'), help: "PEM file of the certificate's private key." },
  apiToken: {
    kind: text('a text of at least 16 characters'),
    secret: true,
    help: 'Bearer token that may do everything. Beyond loopback, it, API_KEYS or OIDC_ISSUER is needed.',
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
  httpPlainPort: {
    kind: port(),
    help: 'Port of 127.0.0.1 for plain HTTP beside HTTPS, for a health check.',
  },
  apiWorkers: {
    kind: integer(1, 64),
    default: '1',
    help: 'Worker processes, for boards with several cores. Each needs the memory of an API.',
  },
  bodyLimit: {
    kind: bytes(1024, 64 * 2 ** 20),
    default: '1MiB',
    help: 'Largest body of POST /v1/readings, and of records.',
  },
  maxConnections: { kind: integer(16, 65_536), default: '512', help: 'Most connections.' },
  maxClientConnections: {
    kind: integer(1, 65_536),
    default: '128',
    help: 'Most connections of one address.',
  },
  listReads: {
    kind: integer(2, 1024),
    default: '4',
    help: 'Pages read from the store at once. One client gets half. Each takes about 256 KiB of memory.',
  },
  liveClients: { kind: integer(1, 10_000), default: '100', help: 'Most clients of the live feed.' },
  ...SERVICE_SETTINGS,
  ...ACCESS_SETTINGS,
  ...ORIGIN_SETTINGS,
  ...OIDC_SETTINGS,
  ...LIMIT_SETTINGS,
});

/** Settings of earlier versions. */
export const GONE: Gone = {
  ...OIDC_GONE,
  ingestTimeout: 'a call to ingest may take 10s',
  liveRing: 'the last 20000 readings, of at most 8MiB, are kept for the live feed',
};

export type ApiConfig = Config<typeof API_SCHEMA>;
