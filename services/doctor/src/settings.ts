import {
  BROKER_LOGIN_SETTINGS,
  boolean,
  defineConfig,
  duration,
  integer,
  oneOf,
  text,
  url,
} from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { PROFILES } from './memory.ts';

export const DOCKER_SOCKET = '/var/run/docker.sock';
export const STACK = 'tidegauge';
const STANDALONE = 'hbase-standalone';

/** A store: the name of its stack, or its URL, kept as text. */
const store = {
  takes: `${STORE_SCHEMES.join(', ')}, ${STANDALONE}, or a URL that begins with one of the first`,
  parse(value: string): string {
    const [scheme] = value.split(':');
    if (STORE_SCHEMES.includes(scheme!) || value === STANDALONE) return value;
    throw new Error(`there is no store ${JSON.stringify(scheme)}`);
  },
};

/** Every setting of the doctor. */
export const settings = defineConfig({
  store: {
    kind: store,
    secret: 'url',
    help: 'The store of the deployment. With a URL, its writes are checked too.',
  },
  monitoring: {
    kind: boolean(),
    default: 'false',
    help: 'Monitoring will be deployed too (stacks/monitoring.yml).',
  },
  profile: {
    kind: oneOf(PROFILES),
    help: 'The memory profile of the deployment, from stacks/profiles.',
  },
  rate: { kind: integer(1, 10_000_000), help: 'Required messages per second.' },
  messageBytes: { kind: integer(1, 268_435_456), default: '100', help: 'Payload size of a message, bytes.' },
  data: {
    kind: text('a directory'),
    help: 'Data directory of the databases. Default: TIDEGAUGE_DATA, or /var/lib/tidegauge.',
  },
  cardTbw: {
    kind: integer(1, 1_000_000),
    help: 'Endurance of the SD card or disk in terabytes written (TBW), for an estimate of its life.',
  },
  diskTime: { kind: duration(0.1, 60), default: '3s', help: 'Longest time of the disk measurement.' },
  broker: {
    kind: url('mqtt', 'mqtts', 'ws', 'wss'),
    secret: 'url',
    help: 'A running broker whose limits are read, without user name and password.',
  },
  ...BROKER_LOGIN_SETTINGS,
  mosquittoConf: {
    kind: text('a file name'),
    help: 'The mosquitto.conf to check. Default: that of the stack.',
  },
  ingest: { kind: url('http'), help: 'A running ingest, whose commit times are read.' },
  ntp: {
    kind: text('HOST or HOST:PORT'),
    help: "Time server to compare the clock with. Default: the system's.",
  },
  dockerHost: {
    kind: text('unix:///PATH or tcp://HOST:PORT'),
    default: `unix://${DOCKER_SOCKET}`,
    help: 'The Docker engine. none: skip the checks of Docker and the swarm. Without its socket and --profile, --stack or --monitoring they are skipped too.',
  },
  files: {
    kind: text('a directory'),
    help: 'Directory of docker-stack.yml and stacks/. Default: those of this installation.',
  },
  stack: { kind: text(), default: STACK, help: 'Name of the deployed stack.' },
  root: {
    kind: text('a directory'),
    default: '/',
    help: "The board's root directory. In a container with --volume /:/host:ro it is /host.",
  },
  strict: { kind: boolean(), default: 'false', help: 'Fail on warnings and unknowns too.' },
  json: { kind: boolean(), default: 'false', help: 'Print one JSON document instead of lines.' },
});
