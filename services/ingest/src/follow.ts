import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import {
  type InboundMessage,
  MqttSession,
  MqttSessionError,
  type UndecodableMessage,
} from '@tidegauge/mqtt-session';
import { DecodeError, type ExplainDocument, now } from '@tidegauge/readings';
import { ConfigError } from '@tidegauge/service/program';
import { maskUrl } from '@tidegauge/text';
import { type BrokerOptions, connection } from './broker-source.ts';
import { explain } from './explain.ts';
import { printExplanation, visible } from './explain-text.ts';
import { fixOf } from './fixes.ts';
import type { Router } from './routes.ts';

/** A larger message is reported without its content, bytes. */
const MAX_PACKET = 8 * 1024 * 1024;
/** Readings and ignored fields of one message that are printed. */
const MOST_PRINTED = 20;

export interface FollowOptions extends BrokerOptions {
  /** The MQTT filter, such as `tele/#`. */
  readonly filter: string;
  /** Messages to explain; null without an end. */
  readonly count: number | null;
  readonly router: Router;
  readonly output: Writable;
  /** Progress, which is no part of the output. */
  readonly say: (text: string) => void;
}

/**
 * Subscribes to topics and explains each message as it arrives, until `count` messages or an abort. It uses its own
 * session, which the broker does not keep, at QoS 0, so that it takes no message from ingest and keeps none waiting. While
 * the output is not read, it does not read from the broker either.
 *
 * @throws {ConfigError} when the broker refuses the login or the filter
 */
export async function follow(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { filter, count, router, output, say } = options;
  const done = Promise.withResolvers<void>();
  let explained = 0;
  let refused = 0;
  const onDrain = () => session.resume();
  const print = (found: ExplainDocument, isRetained: boolean): void => {
    if (count !== null && explained >= count) return;
    explained++;
    if (found.error !== undefined) refused++;
    const note = isRetained ? 'retained before: only routes with retained: store take it\n' : '';
    const text = `${note}${printExplanation(found, MOST_PRINTED)}\n`;
    if (explained === count) done.resolve();
    if (output.write(text)) return;
    session.pause();
    output.once('drain', onDrain);
  };
  const session = new MqttSession({
    ...connection(options),
    clientId: `tidegauge-explain-${randomBytes(6).toString('hex')}`,
    cleanStart: true,
    sessionExpirySeconds: 0,
    maximumPacketSize: MAX_PACKET,
    subscriptions: [{ filter, qos: 0 }],
    onMessage: (message) => print(explainLive(router, message), message.retain),
    onUndecodable: (message) => print(explainUndecodable(message), message.retain),
    onConnectionChange: (isConnected, error) => {
      if (isConnected) say(`following ${visible(filter)} on ${maskUrl(options.broker)}`);
      else if (error !== null) say(`${error.message}; reconnecting`);
    },
  });
  const onEnd = () => done.resolve();
  signal.addEventListener('abort', onEnd);
  // A closed pipe, as of `head`, ends the command.
  output.once('close', onEnd);
  output.once('error', onEnd);
  try {
    await session.connect(signal);
    await done.promise;
  } catch (error) {
    if (error instanceof MqttSessionError) {
      throw new ConfigError([error.hint === null ? error.message : `${error.message}: ${error.hint}`]);
    }
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', onEnd);
    for (const event of ['close', 'error']) output.off(event, onEnd);
    output.off('drain', onDrain);
    await session.close();
  }
  say(`${explained} messages explained; ${refused} of them would go to quarantine`);
}

/** A decoder with state follows its senders, so that messages are understood that need an earlier one. */
function explainLive(router: Router, { topic, payload }: InboundMessage): ExplainDocument {
  return explain(router, topic, payload, now(), { isLive: true });
}

function explainUndecodable({
  topic,
  reason: problem,
  problem: message,
}: UndecodableMessage): ExplainDocument {
  // As ingest records them.
  const reason = problem === 'topic_too_long' ? 'invalid_name' : problem;
  const failed = new DecodeError(reason, message);
  return {
    topic,
    route: null,
    device: null,
    metric: null,
    total: 0,
    readings: [],
    ignored: [],
    error: { reason, message, position: null },
    fix: fixOf(failed),
  };
}
