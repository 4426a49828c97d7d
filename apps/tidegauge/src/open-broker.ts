import { startEmbeddedBroker } from '@tidegauge/lab';
import { ConfigError } from '@tidegauge/service';
import type { Settings } from './settings.ts';

/** The broker that ingest and the simulator connect to. */
export interface Broker {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The broker of `--broker`, or the embedded one, started.
 *
 * @throws {ConfigError} when the port of the embedded broker is taken
 */
export async function openBroker(config: Settings): Promise<Broker> {
  if (config.broker !== null) return { url: config.broker, close: async () => {} };
  try {
    const broker = await startEmbeddedBroker({
      host: config.listen,
      port: config.mqttPort,
      ...(config.mqttUser === null ? {} : { username: config.mqttUser }),
      ...(config.mqttPassword === null ? {} : { password: config.mqttPassword }),
    });
    return { url: `mqtt://127.0.0.1:${broker.port}`, close: async () => void (await broker.close()) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new ConfigError([
      `port ${config.mqttPort} on ${config.listen} is taken: choose another with --mqtt-port, or use that broker with --broker mqtt://127.0.0.1:${config.mqttPort}`,
    ]);
  }
}
