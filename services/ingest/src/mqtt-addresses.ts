import type { MqttAddressDocument } from '@tidegauge/readings';
import { type Config, isLoopback } from '@tidegauge/service';
import { brokerOf } from './broker-source.ts';
import { PORTS } from './direct/direct-source.ts';
import type { settings } from './settings.ts';

type Login = MqttAddressDocument['login'];

/**
 * Where sensors publish: at ingest itself, and at its broker, by the settings of ingest. The live page explains with
 * it how a first sensor is connected. A broker that is reached by WebSocket is left out.
 */
export function mqttAddresses(config: Config<typeof settings>): readonly MqttAddressDocument[] {
  const own = (config.listen ?? []).map((url) => addressOf(url, loginOf(config), true));
  const broker = brokerOf(config);
  const others =
    broker === null ? [] : [addressOf(broker, config.brokerUser === null ? 'none' : 'one', false)];
  return [...own, ...others].filter((address) => address !== null);
}

function addressOf(url: string, login: Login, isOwn: boolean): MqttAddressDocument | null {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'mqtt:' && protocol !== 'mqtts:') return null;
  const tls = protocol === 'mqtts:';
  const local = isOwn && isLoopback(hostname.replace(/^\[|\]$/g, ''));
  return { port: Number(port) || (tls ? PORTS.mqtts : PORTS.mqtt), tls, local, login };
}

/** The login that a new sensor needs at ingest. */
function loginOf(config: Config<typeof settings>): Login {
  const { listenAnonymous, listenUser, listenPasswords, listenCa } = config;
  if (listenAnonymous) return 'none';
  if (listenUser !== null) return 'one';
  return listenPasswords !== null || listenCa !== null ? 'own' : 'none';
}
