import {
  type Config,
  createLogger,
  createServiceApp,
  listen,
  Metrics,
  type Running,
  readSettingFile,
} from '@tidegauge/service';
import { maskUrl } from '@tidegauge/text';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { BrokerReport } from './broker-report.ts';
import type { settings } from './settings.ts';

const TOPICS = '$SYS/broker/#';
const RECONNECT_MS = 1000;
const CONNECT_MS = 5000;
/** The SUBACK return code for a refused subscription (MQTT 3.1.1, 3.9.3). */
const REFUSED = 128;

/**
 * Starts the exporter. HTTP starts at once; the broker is connected when it answers, and again after each failure. An
 * unavailable broker is a metric, not an error.
 */
export async function startBrokerMetrics(config: Config<typeof settings>): Promise<Running> {
  const logger = createLogger('broker-metrics', config.logLevel);
  const metrics = new Metrics(config.boardName);
  const report = new BrokerReport();
  const options = connection(config);
  let client: MqttClient | null = null;
  const isConnected = () => client?.connected === true;
  report.measure(metrics, isConnected);

  const checks = {
    'the broker': () => (isConnected() ? null : `the broker ${maskUrl(config.broker)} is not connected`),
  };
  const app = createServiceApp({ listen: config.httpListen, logger, metrics, checks });
  const http = await listen(app, config.httpListen, config.metricsPort, 'METRICS_PORT (--metrics-port)');

  const session = connect(config.broker, options);
  client = session;
  let lastError = '';
  session.on('connect', () => {
    lastError = '';
    logger.info({ broker: config.broker }, 'connected to the broker');
    session.subscribe(TOPICS, (error, granted) => {
      if (error === null && granted?.every(({ qos }) => qos < REFUSED)) return;
      logger.error(
        { topics: TOPICS, err: error },
        'the broker does not allow this user to read $SYS: change its access rules',
      );
    });
  });
  session.on('message', (topic, payload, { retain }) => report.take(topic, payload.toString(), retain));
  session.on('close', () => report.clear());
  session.on('error', (error) => {
    // It retries every second; each error is logged once.
    if (error.message !== lastError)
      logger.warn({ broker: config.broker, err: error }, 'cannot reach the broker');
    lastError = error.message;
  });
  logger.info({ http: http.url, broker: config.broker }, 'broker-metrics is ready');
  return {
    async stop() {
      await session.endAsync(true);
      await http.close();
    },
  };
}

function connection({ brokerUser, brokerPassword, brokerCa }: Config<typeof settings>): IClientOptions {
  return {
    protocolVersion: 4,
    clean: true,
    resubscribe: false,
    reconnectPeriod: RECONNECT_MS,
    connectTimeout: CONNECT_MS,
    keepalive: 10,
    ...(brokerUser === null ? {} : { username: brokerUser }),
    ...(brokerPassword === null ? {} : { password: brokerPassword }),
    ...(brokerCa === null ? {} : { ca: readSettingFile('BROKER_CA', brokerCa) }),
  };
}
