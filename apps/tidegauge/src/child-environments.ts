import { keysFile, type Settings } from './settings.ts';

/** Variables for a child process, on top of those of this process. */
type Variables = Readonly<Record<string, string>>;

/** What the children have in common. */
export interface Shared {
  readonly store: string;
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
    ...optional('BROKER_USER', config.mqttUser),
    ...optional('BROKER_PASSWORD', config.mqttPassword),
    STORE: store,
    LOG_LEVEL: config.logLevel,
    BROKER: broker,
    DATA_DIR: config.data,
    HTTP_LISTEN: '127.0.0.1',
    METRICS_PORT: String(config.metricsPort),
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
    // The embedded broker supports MQTT 3.1.1 only.
    SIM_MQTT: config.broker === null ? '3.1.1' : '5',
    SIM_SENSORS: String(config.sensors),
  };
}

function optional(name: string, value: string | null): Variables {
  return value === null ? {} : { [name]: value };
}

function withUser(broker: string, user: string | null): string {
  return user === null ? broker : broker.replace('://', `://${encodeURIComponent(user)}@`);
}
