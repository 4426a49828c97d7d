import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  boolean,
  type Config,
  ConfigError,
  defineConfig,
  inGroup,
  integer,
  isLoopback,
  LOG_LEVELS,
  oneOf,
  port,
  text,
  url,
} from '@tidegauge/service';
import { STORE_SCHEMES } from '@tidegauge/storage';

/** The npm package has no simulator, because it needs Python. */
export const HAS_SIMULATOR = existsSync(new URL('../../../sensors-sim', import.meta.url));

export const settings = defineConfig({
  ...inGroup('Data', {
    store: {
      kind: url(...STORE_SCHEMES),
      secret: 'url',
      help: 'The store for readings. Default: SQLite in the data directory.',
    },
    data: {
      kind: text('a directory'),
      default: './data',
      help: 'The directory for everything that is kept.',
    },
    routes: {
      kind: text('a file name'),
      help: 'File of routes. Default: routes.yml in the data directory. Without an entry: sensors/{device+}/{metric}.',
    },
  }),
  ...inGroup('Sensors', {
    sim: { kind: boolean(), default: `${HAS_SIMULATOR}`, help: 'Run simulated sensors.' },
    sensors: { kind: integer(1, 10_000), default: '50', help: 'The number of simulated sensors.' },
  }),
  ...inGroup('Network', {
    broker: {
      kind: url('mqtt', 'mqtts', 'ws', 'wss'),
      secret: 'url',
      help: 'An MQTT broker to read from. Default: none, sensors connect to ingest itself.',
    },
    httpPort: { kind: port(), default: '8080', help: 'The port of the API and the live page.' },
    mqttPort: { kind: integer(1, 65_535), default: '1883', help: 'The port for sensors.' },
    metricsPort: {
      kind: port(),
      default: '9464',
      help: 'The port of ingest: metrics, ledger and quarantine.',
    },
    listen: {
      kind: text('an address'),
      default: '127.0.0.1',
      help: 'The address for sensors and of the API. 0.0.0.0 is for other machines, and needs passwords.',
    },
  }),
  ...inGroup('Access', {
    mqttUser: { kind: text(), help: 'The user name of sensors, or of this program at the broker.' },
    mqttPassword: { kind: text(), secret: true, help: 'The password of MQTT_USER.' },
    apiToken: {
      kind: text(),
      secret: true,
      help: 'The bearer token of the API, which may do everything.',
    },
    apiKeys: {
      kind: text('a file name'),
      help: 'The file of API keys, which tidegauge keys makes. Default: keys.json in the data directory.',
    },
    httpToken: {
      kind: text(),
      secret: true,
      help: "The bearer token of ingest's port. Default: a new one for each run.",
    },
  }),
  ...inGroup('Logs', {
    logLevel: { kind: oneOf(LOG_LEVELS), default: 'warn', help: 'The lowest severity that is logged.' },
  }),
});

export type Settings = Config<typeof settings>;

/** The file of API keys. It does not have to exist. */
export function keysFile({ apiKeys, data }: Settings): string {
  return apiKeys ?? join(data, 'keys.json');
}

/**
 * Refuses to listen for other machines without passwords, and simulated sensors without the simulator.
 *
 * @throws {ConfigError} with the settings that are missing or wrong
 */
export function checkSettings(config: Settings): void {
  if (config.sim && !HAS_SIMULATOR)
    throw new ConfigError(['--sim needs a clone of the repository: leave it out, or set SIM to false']);
  if (isLoopback(config.listen)) return;
  const isListening = config.broker === null;
  const missing = [
    ...(isListening && config.mqttUser === null ? ['MQTT_USER (--mqtt-user)'] : []),
    ...(isListening && config.mqttPassword === null ? ['MQTT_PASSWORD or MQTT_PASSWORD_FILE'] : []),
    ...(config.apiToken === null && !existsSync(keysFile(config))
      ? ['API_TOKEN or API_TOKEN_FILE (or make an API key: tidegauge keys create NAME --scopes admin)']
      : []),
  ];
  if (missing.length === 0) return;
  throw new ConfigError([
    `--listen ${config.listen} opens Tidegauge to others: set ${missing.join(' and ')} first`,
  ]);
}
