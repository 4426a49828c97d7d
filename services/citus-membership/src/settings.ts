import {
  boolean,
  defineConfig,
  duration,
  integer,
  list,
  port,
  SERVICE_SETTINGS,
  text,
  url,
} from '@tidegauge/service';

/** Every setting of citus-membership. */
export const settings = defineConfig({
  coordinator: {
    kind: url('postgres'),
    required: true,
    help: 'The coordinator: postgres://administrator@host:port/database.',
  },
  password: { kind: text(), secret: true, help: "The administrator's password, on every node." },
  workers: {
    kind: text('a name'),
    default: 'tasks.citus_worker',
    help: 'The DNS name whose addresses are the workers.',
  },
  workerPort: { kind: port(), default: '5432', help: 'Port of the workers.' },
  dnsServers: {
    kind: list(text('an address, with or without a port')),
    help: "DNS servers. Default: the system's.",
  },
  interval: {
    kind: duration(0.1, 300),
    default: '5s',
    help: 'Time between two rounds, with a random variation of 20 %.',
  },
  lostAfter: {
    kind: duration(1, 86_400),
    default: '2m',
    help: 'A worker that does not answer for this time is disabled, if others have copies of its shards.',
  },
  settle: {
    kind: duration(0, 3600),
    default: '15s',
    help: 'The first workers join together when no further worker has appeared for this long.',
  },
  founders: {
    kind: integer(1, 512),
    default: '1',
    help: 'Workers that must be present before the first ones join: at least the copies of the store.',
  },
  rebalance: {
    kind: boolean(),
    default: 'false',
    help: 'After the start, create missing copies and distribute shards evenly, once.',
  },
  httpListen: SERVICE_SETTINGS.httpListen,
  httpToken: {
    kind: text(),
    secret: true,
    help: 'Bearer token for POST /rebalance. Required when HTTP_LISTEN is not loopback.',
  },
  metricsPort: {
    kind: port(),
    default: '9466',
    help: 'HTTP port for metrics, health, workers and rebalance.',
  },
  boardName: SERVICE_SETTINGS.boardName,
  logLevel: SERVICE_SETTINGS.logLevel,
});
