import { isLoopback } from '@tidegauge/service';
import { maskUrl } from '@tidegauge/text';
import type { Shared } from './child-environments.ts';
import { HAS_SIMULATOR, type Settings } from './settings.ts';

const MQTT_PORT = 1883;

/** What the user reads when everything runs: where each part is, and how to publish a first reading. */
export function announcement(config: Settings, { broker, store, ingest }: Shared, api: string): string {
  const mqttPort = new URL(broker).port || MQTT_PORT;
  const none = HAS_SIMULATOR ? 'none simulated (--no-sim)' : 'none simulated';
  return `
Tidegauge is running.

  Live page   ${api}/${isLoopback(config.listen) ? '' : ' (sign in with an API key or API_TOKEN)'}
  API         ${api}/docs
  ${config.broker === null ? 'MQTT  ' : 'Broker'}      ${maskUrl(broker)}
  Store       ${maskUrl(store)}
  Ingest      ${ingest}/metrics, /ledger, /quarantine
  Sensors     ${config.sim ? `${config.sensors} simulated, one measurement per second each` : none}

To connect a real sensor, publish to sensors/<device>/<metric>. The payload is a number or {"t": <time>, "v": <value>}:
  mosquitto_pub -h 127.0.0.1 -p ${mqttPort} -q 1 -t sensors/kitchen/temperature -m 21.5

Ctrl-C stops everything without losing data.
`;
}
