import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Acknowledgeable, MqttSession, type Subscription } from '@tidegauge/mqtt-session';
import { BROKER_SETTINGS, type Config, type Logger, readSettingFile } from '@tidegauge/service';
import { maskUrl } from '@tidegauge/text';
import { AckDemand } from './ack-demand.ts';
import type { Delivery, Origin } from './delivery.ts';
import type { MessageSource } from './message-source.ts';
import type { Pipeline } from './pipeline.ts';
import { MAX_TOPIC_BYTES, type Route } from './routes.ts';
import type { settings } from './settings.ts';

/**
 * MQTT's largest Receive Maximum (MQTT 5, section 3.1.2.11.3). At this number of unacknowledged messages the broker
 * stops sending, so the socket does not have to be paused.
 */
const MOST_OUTSTANDING = 65_535;

/**
 * The broker session that feeds a pipeline and acknowledges the messages that the pipeline settles. The pipeline
 * pauses and resumes the session, so the session is created first and the pipeline is set in `start`.
 */
export class BrokerSource implements MessageSource, Origin {
  readonly name = 'the broker';
  readonly session: MqttSession;
  /** The broker has acknowledged to the sensors, so only the broker can wait. */
  readonly demand = new AckDemand();
  readonly #file: string;
  readonly #shareGroup: string | null;
  readonly #url: string;
  #pipeline: Pipeline | null = null;
  /** The connection of the last message. */
  #epoch = 0;

  constructor(config: Config<typeof settings>, url: string, routes: readonly Route[], logger: Logger) {
    this.#url = url;
    this.#file = join(config.dataDir, `${config.clientId}.subscriptions.json`);
    this.#shareGroup = config.shareGroup;
    this.session = new MqttSession({
      ...connection({ ...config, broker: url }),
      clientId: config.clientId,
      cleanStart: config.cleanStart,
      keepAliveSeconds: config.keepAlive,
      maximumPacketSize: config.maxPayload,
      maximumTopicBytes: MAX_TOPIC_BYTES,
      receiveMaximum: Math.min(config.maxInFlight, MOST_OUTSTANDING),
      subscriptions: subscriptions(routes, config.shareGroup),
      previousSubscriptions: remembered(this.#file),
      onMessage: (message) => {
        if (message.epoch !== this.#epoch) this.#beginConnection(message.epoch);
        this.#pipeline!.accept(message, this);
      },
      onUndecodable: (message) => this.#pipeline!.refuse(message, this),
      logger,
    });
  }

  get connected(): boolean {
    return this.session.connected;
  }

  get trouble(): string | null {
    return this.connected ? null : `the broker ${maskUrl(this.#url)} is not connected`;
  }

  pause(): void {
    this.session.pause();
  }

  resume(): void {
    this.session.resume();
  }

  /** The broker keeps further messages. */
  stopAccepting(): void {}

  close(): Promise<void> {
    return this.session.close();
  }

  async start(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
    this.#pipeline = pipeline;
    await this.session.connect(signal);
    // The broker's session outlives this process. The next process reads these filters, and unsubscribes those that it
    // does not use.
    this.#remember(this.session.subscriptions);
  }

  /**
   * Changes the subscriptions to those of other routes, within the session. Resolves when the broker has confirmed;
   * while it is unavailable, that is after the reconnection.
   *
   * @throws {MqttSessionError} when the broker refuses a filter; the others are in force
   */
  async subscribe(routes: readonly Route[]): Promise<void> {
    const wanted = subscriptions(routes, this.#shareGroup);
    // A process that ends before the broker has confirmed may have some of both.
    this.#remember([...this.session.subscriptions, ...wanted]);
    try {
      await this.session.setSubscriptions(wanted);
    } finally {
      this.#remember(this.session.subscriptions);
    }
  }

  /** A broker keeps no messages of QoS 0 for a session without a connection. */
  #beginConnection(epoch: number): void {
    this.#epoch = epoch;
    this.#pipeline!.beginConnection();
  }

  #remember(current: readonly Subscription[]): void {
    writeFileSync(`${this.#file}.new`, JSON.stringify(current));
    renameSync(`${this.#file}.new`, this.#file);
  }

  settled(delivery: Delivery): void {
    this.demand.settled();
    this.session.acknowledge(delivery.token as Acknowledgeable);
  }

  compact(token: unknown): Acknowledgeable {
    const { ticket, epoch } = token as Acknowledgeable;
    return { ticket, epoch };
  }
}

/**
 * One subscription per filter, with the highest QoS of its routes. Topics that are ignored are not subscribed to. A
 * filter that another one covers with the same or a higher QoS is left out, because a broker may send a message once
 * for each filter that matches it (MQTT 5, section 3.3.4).
 */
export function subscriptions(routes: readonly Route[], shareGroup: string | null): readonly Subscription[] {
  const qosByFilter = new Map<string, 0 | 1 | 2>();
  for (const { template, qos, isIgnored } of routes) {
    if (isIgnored) continue;
    const known = qosByFilter.get(template.filter) ?? 0;
    qosByFilter.set(template.filter, qos > known ? qos : known);
  }
  const all = [...qosByFilter];
  const needed = all.filter(
    ([filter, qos]) => !all.some(([other, its]) => other !== filter && its >= qos && covers(other, filter)),
  );
  return needed.map(([filter, qos]) => ({
    filter,
    qos,
    ...(shareGroup === null ? {} : { shareGroup }),
  }));
}

/** Whether a filter matches every topic that another one matches. */
function covers(wide: string, narrow: string): boolean {
  const levels = wide.split('/');
  const others = narrow.split('/');
  // Wildcards at the beginning match no topics that begin with `$` (MQTT 5, section 4.7.2).
  if (/^[+#]/.test(wide) && narrow.startsWith('$')) return false;
  for (const [i, level] of levels.entries()) {
    if (level === '#') return true;
    const other = others[i];
    if (other === undefined || other === '#' || (level !== '+' && level !== other)) return false;
  }
  return levels.length === others.length;
}

/** The subscriptions of the previous process; empty when there was none. */
function remembered(file: string): readonly Subscription[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as readonly Subscription[];
  } catch {
    return [];
  }
}

/** The settings that lead to a broker. */
export type BrokerOptions = Pick<
  Config<typeof settings>,
  'brokerUser' | 'brokerPassword' | 'brokerCa' | 'brokerCert' | 'brokerKey'
> & { readonly broker: string };

/** The broker to use: none when sensors connect to ingest itself, unless one is set. */
export function brokerOf({ broker, listen }: Config<typeof settings>): string | null {
  return broker ?? (listen === null ? BROKER_SETTINGS.broker.default : null);
}

/**
 * The options of a session for the address, the login and the certificates of a broker.
 *
 * @throws {ConfigError} when a file of a certificate or key cannot be read
 */
export function connection(config: BrokerOptions) {
  const { broker, brokerUser, brokerPassword } = config;
  return {
    url: broker,
    ...(brokerUser === null ? {} : { username: brokerUser }),
    ...(brokerPassword === null ? {} : { password: brokerPassword }),
    tls: {
      ...pem('ca', 'BROKER_CA', config.brokerCa),
      ...pem('cert', 'BROKER_CERT', config.brokerCert),
      ...pem('key', 'BROKER_KEY', config.brokerKey),
    },
  };
}

function pem(option: 'ca' | 'cert' | 'key', variable: string, file: string | null) {
  if (file === null) return {};
  return { [option]: readSettingFile(variable, file) };
}
