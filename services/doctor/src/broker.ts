import { readFileSync } from 'node:fs';
import { connect, type IClientOptions, type IConnackPacket, type MqttClient } from 'mqtt';
import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { count } from './units.ts';

const CONNECT_MS = 5000;
/** $SYS topics are retained: they arrive after the subscription, unless this user may not read them. */
const SYS_MS = 2000;
const VERSION = '$SYS/broker/version';
const DROPPED = '$SYS/broker/publish/messages/dropped';
/** The SUBACK reason code for a refused subscription (MQTT 5, 3.9.3). */
const REFUSED = 128;

export interface BrokerAccess {
  readonly url: string;
  readonly user: string | null;
  readonly password: string | null;
  /** PEM file. */
  readonly ca: string | null;
}

/** What a broker reports about itself. */
export interface Broker {
  /** Unacknowledged messages that it accepts from one client; mosquitto sends the same number. 0 means no limit. */
  readonly inflight: number;
  readonly sharedSubscriptions: boolean;
  readonly maximumPacketSize: number | null;
  readonly version: string | null;
  /** Messages dropped since its start; null when this user may not read $SYS. */
  readonly dropped: number | null;
}

/**
 * Connects once with MQTT 5 and a session that ends with the connection. Rejects within 5 s, with the broker's
 * reason.
 */
export async function readBroker(access: BrokerAccess): Promise<Broker> {
  const client = connect(access.url, options(access));
  try {
    const { properties } = await connected(client);
    const [version, dropped] = await readSys(client);
    return {
      // Without the property it is 65,535 (MQTT 5, 3.2.2.3.3), as with mosquitto's max_inflight_messages 0.
      inflight: properties?.receiveMaximum ?? 0,
      sharedSubscriptions: properties?.sharedSubscriptionAvailable !== false,
      maximumPacketSize: properties?.maximumPacketSize ?? null,
      version,
      dropped: dropped === null ? null : Number(dropped),
    };
  } finally {
    await client.endAsync(true);
  }
}

function options({ user, password, ca }: BrokerAccess): IClientOptions {
  return {
    protocolVersion: 5,
    clean: true,
    reconnectPeriod: 0,
    connectTimeout: CONNECT_MS,
    ...(user === null ? {} : { username: user }),
    ...(password === null ? {} : { password }),
    ...(ca === null ? {} : { ca: readFileSync(ca) }),
  };
}

function connected(client: MqttClient): Promise<IConnackPacket> {
  return new Promise((resolve, reject) => {
    client.once('connect', resolve);
    client.on('error', reject);
    client.once('close', () => reject(new Error(`no answer within ${CONNECT_MS / 1000} s`)));
  });
}

async function readSys(client: MqttClient): Promise<[version: string | null, dropped: string | null]> {
  const values = new Map<string, string>();
  const { promise: all, resolve } = Promise.withResolvers<void>();
  client.on('message', (topic, payload) => {
    values.set(topic, payload.toString());
    if (values.size === 2) resolve();
  });
  const late = setTimeout(resolve, SYS_MS);
  client.subscribe([VERSION, DROPPED], (_error, granted) => {
    if (granted === undefined || granted.some(({ qos }) => qos >= REFUSED)) resolve();
  });
  await all.finally(() => clearTimeout(late));
  return [values.get(VERSION) ?? null, values.get(DROPPED) ?? null];
}

/** Checks the report of a running broker, or the reason for its absence. */
export function checkBroker(url: string, reached: Broker | { readonly why: string }): Finding[] {
  if ('why' in reached) {
    const fix =
      'check its host, port and certificate (--broker-ca), and the user and password (--broker-user, BROKER_PASSWORD)';
    return [error('broker.connection', `${url} does not accept the connection: ${reached.why}`, fix)];
  }
  const { version, dropped, inflight, sharedSubscriptions } = reached;
  return [
    ok(
      'broker.connection',
      `${url}: ${version ?? 'version not reported'}, ${inflight === 0 ? 'no limit on' : count(inflight)} messages in flight`,
    ),
    ...(sharedSubscriptions
      ? []
      : [
          error(
            'broker.shared',
            'no shared subscriptions: with several ingest replicas, each would store everything',
            'run one replica without SHARE_GROUP, or use mosquitto 2',
          ),
        ]),
    checkDropped(dropped),
  ];
}

function checkDropped(dropped: number | null): Finding {
  const check = 'broker.dropped';
  if (dropped === null) {
    return unknown(
      check,
      'this user may not read $SYS, so dropped messages are not reported',
      'use a user that may read $SYS/#, such as the one of broker-metrics',
    );
  }
  if (dropped === 0) return ok(check, 'no messages dropped since it started');
  return warning(
    check,
    `${count(dropped)} messages dropped since it started, although they were acknowledged to their publishers`,
    'raise max_queued_messages and max_queued_bytes; the ledger lists the missing sequence numbers',
  );
}
