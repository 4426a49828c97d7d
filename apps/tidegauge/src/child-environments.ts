import { keysFile, type Settings } from './settings.ts';

/** Variables for a child process, on top of those of this process. */
type Variables = Readonly<Record<string, string>>;

/** What the children have in common. */
export interface Shared {
  readonly store: string;
  /** Where sensors publish: ingest itself, or the broker of `--broker`. */
  readonly broker: string;
  /** URL of ingest's HTTP port. */
  readonly ingest: string;
  /** The token with which the API logs in at ingest. */
  readonly ingestToken: string;
}

export function ingestEnvironment(config: Settings, { store, broker, ingestToken }: Shared): Variables {
  return {
    HTTP_TOKEN: ingestToken,
    API_KEYS: keysFile(config),
    ...optional('ROUTES', config.routes),
    ...(config.broker === null ? listenVariables(config) : brokerVariables(config, broker)),
    STORE: store,
    LOG_LEVEL: config.logLevel,
    DATA_DIR: config.data,
    HTTP_LISTEN: '127.0.0.1',
    METRICS_PORT: String(config.metricsPort),
  };
}

/** Sensors connect to ingest itself. `LISTEN` of this program is an address, so it must not reach ingest. */
function listenVariables({ listen, mqttPort, mqttUser, mqttPassword }: Settings): Variables {
  const host = listen.includes(':') ? `[${listen}]` : listen;
  return {
    LISTEN: `mqtt://${host}:${mqttPort}`,
    BROKER: '',
    ...optional('LISTEN_USER', mqttUser),
    ...optional('LISTEN_PASSWORD', mqttPassword),
  };
}

function brokerVariables({ mqttUser, mqttPassword }: Settings, broker: string): Variables {
  return {
    LISTEN: '',
    BROKER: broker,
    ...optional('BROKER_USER', mqttUser),
    ...optional('BROKER_PASSWORD', mqttPassword),
  };
}

export function apiEnvironment(config: Settings, { store, ingest, ingestToken }: Shared): Variables {
  return {
    INGEST_TOKEN: ingestToken,
    ...optional('API_TOKEN', config.apiToken),
    API_KEYS: keysFile(config),
    STORE: store,
    LOG_LEVEL: config.logLevel,
    INGEST: ingest,
    HTTP_PORT: String(config.httpPort),
    HTTP_LISTEN: config.listen,
  };
}

export function simulatorEnvironment(config: Settings, { broker }: Shared): Variables {
  return {
    ...optional('SIM_PASSWORD', config.mqttPassword),
    SIM_BROKER: withUser(broker, config.mqttUser),
    SIM_MQTT: '5',
    SIM_SENSORS: String(config.sensors),
  };
}

function optional(name: string, value: string | null): Variables {
  return value === null ? {} : { [name]: value };
}

function withUser(broker: string, user: string | null): string {
  return user === null ? broker : broker.replace('://', `://${encodeURIComponent(user)}@`);
}
