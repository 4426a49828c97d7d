import { boolean, defineConfig, duration, integer, oneOf, text, url } from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';
import { PROFILES } from './memory.ts';

const STANDALONE = 'hbase-standalone';

/** A store as the word of its stack or as its URL, kept as text. */
const store = {
  takes: `${STORE_SCHEMES.join(', ')}, ${STANDALONE}, or a URL that begins with one of the first`,
  parse(value: string): string {
    const [scheme] = value.split(':');
    if (STORE_SCHEMES.includes(scheme!) || value === STANDALONE) return value;
    throw new Error(`there is no store ${JSON.stringify(scheme)}`);
  },
};

/** Everything the doctor can be told, with its defaults. */
export const settings = defineConfig({
  store: {
    kind: store,
    secret: 'url',
    help: 'The store that is meant to run; with a URL it is asked whether it would take a write, and how fast.',
  },
  monitoring: {
    kind: boolean(),
    default: 'false',
    help: 'Monitoring is meant to run too: stacks/monitoring.yml.',
  },
  profile: {
    kind: oneOf(PROFILES),
    help: 'The memory profile of the deploy: a file of stacks/profiles.',
  },
  rate: { kind: integer(1, 10_000_000), help: 'Messages per second that are wanted.' },
  messageBytes: { kind: integer(1, 268_435_456), default: '100', help: "Size of a message's payload." },
  data: {
    kind: text('a directory'),
    default: '/var/lib/tidegauge',
    help: 'Where databases keep their data on this board: its disk is measured, and nothing left there.',
  },
  diskTime: { kind: duration(0.1, 60), default: '3s', help: 'How long the disk is measured, at most.' },
  broker: {
    kind: url('mqtt', 'mqtts', 'ws', 'wss'),
    secret: 'url',
    help: 'A running broker to ask for its limits; user and password have variables of their own.',
  },
  brokerUser: { kind: text(), help: 'User name for the broker.' },
  brokerPassword: { kind: text(), secret: true, help: 'Password for the broker.' },
  brokerCa: {
    kind: text('a file name'),
    help: 'PEM file of the certificate authority that signed the broker.',
  },
  mosquittoConf: {
    kind: text('a file name'),
    help: "The mosquitto.conf to judge; without one, the stack's with what its service adds.",
  },
  ingest: { kind: url('http'), help: 'A running ingest, to learn how long commits take.' },
  ntp: {
    kind: text('HOST or HOST:PORT'),
    help: 'Time server to compare the clock with; without one, the one configured here.',
  },
  dockerHost: {
    kind: text('unix:///PATH or tcp://HOST:PORT'),
    default: 'unix:///var/run/docker.sock',
    help: 'The Docker engine to ask; none skips Docker and the swarm.',
  },
  files: {
    kind: text('a directory'),
    help: 'Where docker-stack.yml and stacks/ are; without it, those of this installation.',
  },
  stack: { kind: text(), default: 'tidegauge', help: 'Name that the stack is or will be deployed under.' },
  root: {
    kind: text('a directory'),
    default: '/',
    help: "Where the board's root is seen: in a container, with --volume /:/host:ro, it is /host.",
  },
  strict: { kind: boolean(), default: 'false', help: 'Let warnings and what stays unknown fail too.' },
  json: { kind: boolean(), default: 'false', help: 'Print one JSON document instead of lines.' },
});
