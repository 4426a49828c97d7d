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
  lockDirectory,
  oneOf,
  port,
  type Running,
  run,
  text,
  url,
} from '@tidegauge/service';
import { createStore, STORE_SCHEMES } from '@tidegauge/storage';
import { maskUrl } from '@tidegauge/text';
import { type Child, startChild } from './child.ts';
import { NODE, NODE_FLAGS, PYTHON, setUpPython } from './setup.js';

const START_SECONDS = 60;
const STOP_SECONDS = 30;
/** Its own lock ends with it; its ingest, which may still run, has one of its own. */
const LOCK_MS = 1000;

const settings = defineConfig({
  store: {
    kind: url(...STORE_SCHEMES),
    secret: 'url',
    help: 'Where readings are stored; without one, SQLite in the data directory.',
  },
  broker: {
    kind: url('mqtt', 'mqtts', 'ws', 'wss'),
    secret: 'url',
    help: 'An MQTT broker to use instead of the embedded one.',
  },
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
  const store = config.store ?? `sqlite:${join(config.data, 'tidegauge.db')}`;
  // Finds a wrong URL before anything is installed or started.
  await createStore(store);
  const lock = await lockDirectory(config.data, 'tidegauge', { waitMs: LOCK_MS, setting: '--data' });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const undo: (() => unknown)[] = [() => lock.release()];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const child = (name: string, program: string, args: readonly string[], env: Record<string, string>) => {
    const started = startChild(name, program, args, env, (error) => failed.reject(error));
    undo.push(() => started.stop());
    return started;
  };
  try {
    if (config.sim) setUpPython();
    const broker = config.broker ?? (await embeddedBroker(config, undo));
    const ingest = `http://127.0.0.1:${config.metricsPort}`;
    const shared = { STORE: store, LOG_LEVEL: config.logLevel };
    const login = {
      ...given('BROKER_USER', config.mqttUser),
      ...given('BROKER_PASSWORD', config.mqttPassword),
    };
    const ingestProcess = child('ingest', NODE, [...NODE_FLAGS, 'services/ingest/src/main.ts'], {
      ...shared,
      ...login,
      BROKER: broker,
      DATA_DIR: config.data,
      HTTP_LISTEN: '127.0.0.1',
      METRICS_PORT: String(config.metricsPort),
    });
    await ready('ingest', ingestProcess, failed.promise, signal);
    const apiProcess = child('api', NODE, [...NODE_FLAGS, 'services/api/src/main.ts'], {
      ...shared,
      ...given('API_TOKEN', config.apiToken),
      ...given('INGEST_TOKEN', process.env.HTTP_TOKEN ?? null),
      ...given('INGEST_TOKEN_FILE', process.env.HTTP_TOKEN_FILE ?? null),
      INGEST: ingest,
      HTTP_PORT: String(config.httpPort),
      HTTP_LISTEN: config.listen,
    });
    const listening = (await ready('the API', apiProcess, failed.promise, signal)) ?? '';
    const api = isLoopback(config.listen)
      ? listening
      : listening.replace(/\/\/[^/]*(?=:\d+$)/, '//127.0.0.1');
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

async function embeddedBroker(config: Settings, undo: (() => unknown)[]): Promise<string> {
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

function withUser(broker: string, user: string | null): string {
  return user === null ? broker : broker.replace('://', `://${encodeURIComponent(user)}@`);
}

/** Waits until a child is ready; resolves to where it listens. */
async function ready(
  name: string,
  child: Child,
  failed: Promise<never>,
  signal: AbortSignal,
): Promise<string | null> {
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(START_SECONDS * 1000)]);
  const late = new Promise<never>((_, reject) => {
    waiting.addEventListener('abort', () => {
      const why = `${name} was not ready within ${START_SECONDS} s: with --log-level info it says what it waits for`;
      reject(signal.aborted ? signal.reason : new Error(why));
    });
  });
  signal.throwIfAborted();
  return Promise.race([child.ready, failed, late]);
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
  Broker      ${maskUrl(broker)}${config.broker === null ? ' (embedded)' : ''}
  Store       ${maskUrl(store)}
  Ingest      ${ingest}/metrics, /ledger, /quarantine
  Sensors     ${config.sim ? `${config.sensors} simulated, each measuring once a second` : 'none simulated (--no-sim)'}

Point a real sensor at it: topic sensors/<device>/<metric>, payload a number or {"t": <time>, "v": <value>}:
  ${example}

Ctrl-C stops everything and loses nothing.
`);
}

// Names that its parts have for the same.
const { DATA_DIR, SIM_SENSORS } = process.env;
if (DATA_DIR) process.env.DATA ??= DATA_DIR;
if (SIM_SENSORS) process.env.SENSORS ??= SIM_SENSORS;

process.exitCode = await run({
  name: 'npm start',
  summary: 'Runs the whole pipeline: MQTT broker, ingest, store, HTTP API, live page and simulated sensors.',
  details:
    'Ingest, API and simulator read their other settings from the environment: ROUTES=routes.yaml npm start',
  settings,
  stopSeconds: () => STOP_SECONDS,
  start,
});
