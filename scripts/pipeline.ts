import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedBroker } from '@tidegauge/lab';
import type { LedgerDocument } from '@tidegauge/readings';
import {
  boolean,
  type Config,
  ConfigError,
  defineConfig,
  integer,
  isLoopback,
  LOG_LEVELS,
  oneOf,
  port,
  type Running,
  run,
  text,
} from '@tidegauge/service';
import { NODE, NODE_ENVIRONMENT, NODE_FLAGS, PYTHON, ROOT, setUpPython } from './setup.js';

const START_SECONDS = 60;
const STOP_SECONDS = 30;

const settings = defineConfig({
  store: {
    kind: text('a store URL'),
    secret: 'url',
    help: 'Where readings are stored; without one, SQLite in the data directory.',
  },
  broker: { kind: text('an MQTT URL'), help: 'An MQTT broker to use instead of the embedded one.' },
  sim: { kind: boolean(), default: 'true', help: 'Run simulated sensors.' },
  sensors: { kind: integer(1, 10_000), default: '50', help: 'How many simulated sensors.' },
  httpPort: { kind: port(), default: '8080', help: 'Port of the API and the live page.' },
  mqttPort: { kind: port(), default: '1883', help: 'Port of the embedded broker.' },
  metricsPort: { kind: port(), default: '9464', help: 'Port of ingest: its metrics, ledger and quarantine.' },
  data: { kind: text('a directory'), default: './data', help: 'Where everything is kept.' },
  listen: {
    kind: text('an address'),
    default: '127.0.0.1',
    help: 'Address of the broker and the API; 0.0.0.0 opens them to others, and then they need passwords.',
  },
  mqttUser: { kind: text(), help: 'User name the broker asks for.' },
  mqttPassword: { kind: text(), secret: true, help: 'Password the broker asks for.' },
  apiToken: { kind: text(), secret: true, help: 'Bearer token the API asks for before it changes anything.' },
  logLevel: { kind: oneOf(LOG_LEVELS), default: 'warn', help: 'Least severity that is logged.' },
});
type Settings = Config<typeof settings>;

/** Starts everything in order and gives back how to stop it in the reverse order, so that nothing is lost. */
async function start(config: Settings, signal: AbortSignal): Promise<Running> {
  requireSecrets(config);
  if (config.sim) setUpPython();
  mkdirSync(config.data, { recursive: true });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const undo: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const child = (name: string, program: string, args: readonly string[], env: Record<string, string>) => {
    const started = startChild(name, program, args, env, (error) => failed.reject(error));
    undo.push(started);
  };
  try {
    const broker = config.broker ?? (await embeddedBroker(config, undo));
    const ingest = `http://127.0.0.1:${config.metricsPort}`;
    const api = `http://${isLoopback(config.listen) ? config.listen : '127.0.0.1'}:${config.httpPort}`;
    const store = config.store ?? `sqlite:${join(config.data, 'tidegauge.db')}`;
    const shared = { STORE: store, LOG_LEVEL: config.logLevel };
    const login = {
      ...given('BROKER_USER', config.mqttUser),
      ...given('BROKER_PASSWORD', config.mqttPassword),
    };
    child('ingest', NODE, [...NODE_FLAGS, 'services/ingest/src/main.ts'], {
      ...shared,
      ...login,
      BROKER: broker,
      DATA_DIR: config.data,
      METRICS_PORT: String(config.metricsPort),
    });
    await ready('ingest', `${ingest}/readyz`, failed.promise, signal);
    child('api', NODE, [...NODE_FLAGS, 'services/api/src/main.ts'], {
      ...shared,
      ...given('API_TOKEN', config.apiToken),
      INGEST: ingest,
      HTTP_PORT: String(config.httpPort),
      HTTP_LISTEN: config.listen,
    });
    await ready('the API', `${api}/readyz`, failed.promise, signal);
    if (config.sim) {
      undo.push(() => settled(ingest));
      child('sim', PYTHON, ['-m', 'tidegauge_sim', '--quiet'], {
        ...given('SIM_PASSWORD', config.mqttPassword),
        SIM_BROKER: withUser(broker, config.mqttUser),
        // The embedded broker speaks 3.1.1; any other the newest.
        SIM_MQTT: config.broker === null ? '3.1.1' : '5',
        SIM_SENSORS: String(config.sensors),
      });
    }
    announce(config, broker, store, api, ingest);
    return { stop, failed: failed.promise };
  } catch (error) {
    await stop();
    throw error;
  }
}

function requireSecrets(config: Settings): void {
  if (isLoopback(config.listen)) return;
  const missing = [
    ...(config.broker === null && config.mqttUser === null ? ['MQTT_USER (--mqtt-user)'] : []),
    ...(config.broker === null && config.mqttPassword === null
      ? ['MQTT_PASSWORD or MQTT_PASSWORD_FILE']
      : []),
    ...(config.apiToken === null ? ['API_TOKEN or API_TOKEN_FILE'] : []),
  ];
  if (missing.length > 0) {
    throw new ConfigError([
      `--listen ${config.listen} opens Tidegauge to others: set ${missing.join(' and ')} first`,
    ]);
  }
}

async function embeddedBroker(config: Settings, undo: (() => Promise<void>)[]): Promise<string> {
  try {
    const broker = await startEmbeddedBroker({
      host: config.listen,
      port: config.mqttPort,
      ...(config.mqttUser === null ? {} : { username: config.mqttUser }),
      ...(config.mqttPassword === null ? {} : { password: config.mqttPassword }),
    });
    undo.push(() => broker.close());
    return `mqtt://127.0.0.1:${broker.port}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new ConfigError([
      `port ${config.mqttPort} on ${config.listen} is taken: choose another with --mqtt-port, or use that broker with --broker mqtt://127.0.0.1:${config.mqttPort}`,
    ]);
  }
}

function given(name: string, value: string | null): Record<string, string> {
  return value === null ? {} : { [name]: value };
}

/**
 * Starts a child in a process group of its own, so that Ctrl-C reaches only this process and children end in
 * order; the channel to it closes when this process dies, which they take as the order to stop.
 *
 * @returns how to end it and wait for that
 */
function startChild(
  name: string,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  onExit: (error: Error) => void,
): () => Promise<void> {
  const stdio = ['pipe', 'inherit', 'inherit'] as const;
  const child = spawn(program, args, {
    cwd: ROOT,
    stdio: [...stdio],
    detached: true,
    env: { ...environment(), ...NODE_ENVIRONMENT, ...env, STOP_WITH_STDIN: 'true' },
  });
  let stopping = false;
  const exited = exit(child);
  void exited.then((how) => {
    if (!stopping) onExit(new ConfigError([`${name} ended by itself (${how}): its own message is above`]));
  });
  return async () => {
    stopping = true;
    child.kill('SIGTERM');
    await exited;
  };
}

function withUser(broker: string, user: string | null): string {
  return user === null ? broker : broker.replace('://', `://${encodeURIComponent(user)}@`);
}

/** Ours without what configures the parts: they get only what this program decided. */
function environment(): NodeJS.ProcessEnv {
  const { PATH, HOME, LANG, TZ, TERM } = process.env;
  return Object.fromEntries(
    Object.entries({ PATH, HOME, LANG, TZ, TERM }).filter(([, value]) => value !== undefined),
  );
}

async function exit(child: ChildProcess): Promise<string> {
  const how = await Promise.race([once(child, 'exit'), once(child, 'error')]);
  if (how[0] instanceof Error) return how[0].message;
  return how[0] === null ? `signal ${how[1]}` : `exit code ${how[0]}`;
}

async function ready(name: string, url: string, failed: Promise<never>, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + START_SECONDS * 1000;
  for (;;) {
    signal.throwIfAborted();
    const answer = await Promise.race([
      fetch(url, { signal: AbortSignal.timeout(2000) }).catch(() => null),
      failed,
    ]);
    if (answer?.ok) return;
    if (Date.now() > deadline) throw new Error(`${name} was not ready within ${START_SECONDS} s (${url})`);
    await sleep(50);
  }
}

/** Waits until ingest has stored what the broker still had for it: nothing in flight and nothing new. */
async function settled(ingest: string): Promise<void> {
  let before = -1;
  for (const deadline = Date.now() + 5000; Date.now() < deadline; await sleep(100)) {
    const answer = await fetch(`${ingest}/ledger`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
    if (answer === null) return;
    const { messages, readings } = (await answer.json()) as LedgerDocument;
    if (readings.inFlight === 0 && messages.received === before) return;
    before = messages.received;
  }
}

function announce(config: Settings, broker: string, store: string, api: string, ingest: string): void {
  const example = `mosquitto_pub -h 127.0.0.1 -p ${new URL(broker).port || 1883} -q 1 -t sensors/kitchen/temperature -m 21.5`;
  process.stdout.write(`
Tidegauge is running.

  Live page   ${api}/
  API         ${api}/docs
  Broker      ${broker}${config.broker === null ? ' (embedded)' : ''}
  Store       ${store.replace(/:[^/:@]*@/, ':***@')}
  Ingest      ${ingest}/metrics, /ledger, /quarantine
  Sensors     ${config.sim ? `${config.sensors} simulated, each measuring once a second` : 'none simulated (--no-sim)'}

Point a real sensor at it: topic sensors/<device>/<metric>, payload a number or {"t": <time>, "v": <value>}:
  ${example}

Ctrl-C stops everything and loses nothing.
`);
}

process.exitCode = await run({
  usage:
    'tidegauge: the whole pipeline in one go. Broker, ingest, store, API, live page and simulated sensors.',
  schema: settings,
  stopSeconds: () => STOP_SECONDS,
  start,
});
