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

/** Everything that keeps Citus's membership can be told, with its defaults. */
export const settings = defineConfig({
  coordinator: {
    kind: url('postgres'),
    required: true,
    help: 'The coordinator, as postgres://administrator@host:port/database; its host and port are how workers reach it too.',
  },
  password: { kind: text(), secret: true, help: "The administrator's password, on every node." },
  workers: {
    kind: text('a name'),
    default: 'tasks.citus_worker',
    help: 'The name whose addresses are the workers.',
  },
  workerPort: { kind: port(), default: '5432', help: 'Port of the workers.' },
  dnsServers: {
    kind: list(text('an address, with or without a port')),
    help: "DNS servers to ask; without any, the system's.",
  },
  interval: {
    kind: duration(0.1, 300),
    default: '5s',
    help: 'Time between two looks, give or take a fifth.',
  },
  lostAfter: {
    kind: duration(1, 86_400),
    default: '2m',
    help: 'Time after which a worker that does not answer is disabled, where others have copies of all it holds.',
  },
  settle: {
    kind: duration(0, 3600),
    default: '15s',
    help: 'The first workers join together once no further one has shown up for so long.',
  },
  founders: {
    kind: integer(1, 512),
    default: '1',
    help: 'How many workers there must be at first; at least as many as the store has copies.',
  },
  rebalance: {
    kind: boolean(),
    default: 'false',
    help: 'Once after the start: make missing copies and spread shards evenly.',
  },
  httpListen: SERVICE_SETTINGS.httpListen,
  httpToken: {
    kind: text(),
    secret: true,
    help: 'Bearer token that POST /rebalance asks for; needed when listening beyond this machine.',
  },
  metricsPort: { kind: port(), default: '9466', help: 'HTTP port: metrics, health, workers, rebalance.' },
  logLevel: SERVICE_SETTINGS.logLevel,
});
