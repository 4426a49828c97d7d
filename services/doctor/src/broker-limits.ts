import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { count, duration, size } from './units.ts';

/** Mosquitto's limits (mosquitto.conf(5)); 0 means no limit. */
export interface BrokerLimits {
  readonly inflight: number;
  readonly queuedMessages: number;
  readonly queuedBytes: number;
  readonly persistence: boolean;
}

/** The plugins of mosquitto 2.1 that keep queues. With them, `persistence true` stops the broker's start. */
const PERSIST_PLUGIN = /^\s*(?:global_)?plugin(?:_load)?\s.*mosquitto_persist/m;
const DEFAULTS = { inflight: 20, queuedMessages: 1000, queuedBytes: 0 };

/**
 * Parses a mosquitto.conf.
 *
 * @param extra settings that the service's environment adds at start: MAX_QUEUED_MESSAGES, MAX_QUEUED_BYTES
 */
export function parseMosquittoConf(text: string, extra: Readonly<Record<string, string>>): BrokerLimits {
  const lines = new Map(
    [...text.matchAll(/^\s*([a-z_]+)\s+(\S+)/gm)].map(([, name, value]) => [name!, value!]),
  );
  const number = (name: string, preset: number): number => {
    const value = Number(extra[name.toUpperCase()] ?? lines.get(name) ?? preset);
    return Number.isFinite(value) ? value : preset;
  };
  return {
    inflight: number('max_inflight_messages', DEFAULTS.inflight),
    queuedMessages: number('max_queued_messages', DEFAULTS.queuedMessages),
    queuedBytes: number('max_queued_bytes', DEFAULTS.queuedBytes),
    persistence: lines.get('persistence') === 'true' || PERSIST_PLUGIN.test(text),
  };
}

/** The load, and the limits of ingest and the store. */
export interface Flow {
  /** Required messages per second; null when not given. */
  readonly rate: number | null;
  /** Payload of a message, bytes. */
  readonly messageBytes: number;
  readonly replicas: number;
  /** Least time between two writes under load, seconds (PACE). */
  readonly pace: number;
  /** Messages that a replica holds at most (MAX_IN_FLIGHT). */
  readonly maxInFlight: number;
  /** The time of one commit, seconds, and its source; null when it was not measured. */
  readonly commit: { readonly seconds: number; readonly source: string } | null;
  /** Memory limit of the broker, bytes; null for no limit. */
  readonly memory: number | null;
}

/** The largest MQTT packet identifier. */
const MOST_INFLIGHT = 65_535;
/** Bytes that mosquitto 2.0 uses for a queued message besides its payload, measured with a topic of 28 bytes. */
const PER_MESSAGE = 450;
/** The time of a store's restart, or of a rolling update of ingest on a slow board. */
const SHORT_SECONDS = 60;
const COMFORTABLE_SECONDS = 600;

export function checkLimits(limits: BrokerLimits, flow: Flow): Finding[] {
  return [
    checkCeiling(limits.inflight, flow),
    checkQueue(limits, flow),
    checkQueueMemory(limits, flow),
    limits.persistence
      ? ok('broker.persistence', 'queues are saved to disk')
      : warning(
          'broker.persistence',
          'queues are in memory only: a restart of the broker loses them',
          'set "persistence true" in mosquitto.conf',
        ),
  ];
}

/**
 * The ceiling of the message rate: a window of messages is sent, waits for one write and its commit, and is
 * acknowledged before the next.
 */
export function checkCeiling(inflight: number, { rate, replicas, pace, maxInFlight, commit }: Flow): Finding {
  const check = 'broker.ceiling';
  const window = Math.min(inflight === 0 ? MOST_INFLIGHT : inflight, maxInFlight);
  const isOfBroker = inflight !== 0 && inflight < maxInFlight;
  const bound = isOfBroker ? 'max_inflight_messages' : 'MAX_IN_FLIGHT of ingest';
  const many = replicas === 1 ? '' : `${replicas} x `;
  if (commit === null) {
    const message = `${count(window)} messages in flight (${bound}); the ceiling is ${many}${count(window)} / (${duration(pace)} + commit); no commit was measured`;
    return unknown(check, message, "set --ingest URL of a running ingest, or --data DIR on the store's disk");
  }
  const ceiling = (replicas * window) / (pace + commit.seconds);
  const message =
    `the window allows ${count(ceiling)} messages/s: ${many}${count(window)} in flight (${bound}) / ` +
    `(${duration(pace)} batch + ${duration(commit.seconds)} commit, ${commit.source})`;
  if (rate === null || ceiling >= 2 * rate) return ok(check, message);
  const needed = Math.ceil((2 * rate * (pace + commit.seconds)) / replicas);
  const fix = isOfBroker
    ? brokerFix(needed)
    : `scale ingest, use a faster disk, or raise MAX_IN_FLIGHT to ${needed}`;
  const required = `the required ${count(rate)}/s`;
  return ceiling < rate
    ? error(check, `${message}: less than ${required}, so the queue grows until it overflows`, fix)
    : warning(check, `${message}: too little above ${required} to drain a queue`, fix);
}

function brokerFix(needed: number): string {
  return needed > MOST_INFLIGHT
    ? 'set max_inflight_messages 0 in mosquitto.conf, and scale ingest or use a faster disk'
    : `set max_inflight_messages 0 (or ${needed}) in mosquitto.conf`;
}

function checkQueue({ queuedMessages, queuedBytes }: BrokerLimits, { rate, messageBytes }: Flow): Finding {
  const check = 'broker.queue';
  const messages = Math.min(
    queuedMessages || Number.POSITIVE_INFINITY,
    (queuedBytes || Number.POSITIVE_INFINITY) / messageBytes,
  );
  const drops = 'then mosquitto drops messages although it acknowledges them to the publisher';
  if (!Number.isFinite(messages)) {
    const message =
      'the queue of a disconnected client has no limit: it grows until the broker runs out of memory';
    return error(check, message, 'set max_queued_messages and max_queued_bytes in mosquitto.conf');
  }
  const held = `${count(messages)} messages of ${messageBytes} bytes fit into the queue while ingest is not connected`;
  if (rate === null) return ok(check, `${held}; ${drops}`);
  const seconds = messages / rate;
  const message = `${held}: ${duration(seconds)} at ${count(rate)}/s, ${drops}`;
  const wanted = Math.ceil(COMFORTABLE_SECONDS * rate);
  const byBytes = queuedBytes !== 0 && queuedBytes / messageBytes <= messages;
  const [setting, value] = byBytes
    ? ['max_queued_bytes', wanted * messageBytes]
    : ['max_queued_messages', wanted];
  const fix =
    `for a queue of ten minutes set ${setting} to ${value} (MOSQUITTO_${setting.slice(4).toUpperCase()} in the profile), ` +
    `which takes about ${size(wanted * (messageBytes + PER_MESSAGE))} of the broker's memory`;
  if (seconds < SHORT_SECONDS) return error(check, `${message}; a restart of a store takes longer`, fix);
  return seconds < COMFORTABLE_SECONDS ? warning(check, message, fix) : ok(check, message);
}

function checkQueueMemory({ queuedMessages, queuedBytes }: BrokerLimits, flow: Flow): Finding {
  const check = 'broker.memory';
  const { messageBytes, memory, replicas } = flow;
  const most = queuedMessages || queuedBytes / messageBytes || Number.POSITIVE_INFINITY;
  const bytes = replicas * (most * PER_MESSAGE + (queuedBytes || most * messageBytes));
  const message = Number.isFinite(bytes)
    ? `${replicas === 1 ? 'a full queue takes' : `${replicas} full queues take`} about ${size(bytes)}`
    : 'a queue without a limit can take all memory';
  if (memory === null) return ok(check, message);
  const limit = `${message} of the broker's ${size(memory)}`;
  const fix = 'raise MOSQUITTO_MEMORY, or lower MOSQUITTO_QUEUED_MESSAGES, in the profile';
  return bytes > memory * 0.8
    ? error(check, `${limit}: the kernel kills the broker, with every queue, before it drops messages`, fix)
    : ok(check, limit);
}
