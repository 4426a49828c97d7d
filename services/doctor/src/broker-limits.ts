import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { count, duration, size } from './units.ts';

/** Mosquitto's bounds (mosquitto.conf(5)); 0 stands for none. */
export interface BrokerLimits {
  readonly inflight: number;
  readonly queuedMessages: number;
  readonly queuedBytes: number;
  readonly persistence: boolean;
}

const DEFAULTS = { inflight: 20, queuedMessages: 1000, queuedBytes: 0 };

/**
 * Reads a mosquitto.conf.
 *
 * @param extra what the service's environment adds to it at start: MAX_QUEUED_MESSAGES, MAX_QUEUED_BYTES
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
    persistence: lines.get('persistence') === 'true',
  };
}

/** What ingest and the store make of it. */
export interface Flow {
  /** Wanted, messages per second; null when it was not said. */
  readonly rate: number | null;
  /** Payload of a message, bytes. */
  readonly messageBytes: number;
  readonly replicas: number;
  /** Least time between two writes under load, seconds (PACE). */
  readonly pace: number;
  /** Messages that a replica holds at most (MAX_IN_FLIGHT). */
  readonly maxInFlight: number;
  /** One commit, seconds, and where it was measured; null when it could not be. */
  readonly commit: { readonly seconds: number; readonly source: string } | null;
  /** Memory that the broker may take, bytes; null for no limit. */
  readonly memory: number | null;
}

/** MQTT's packet identifiers end there. */
const MOST_INFLIGHT = 65_535;
/** What mosquitto 2.0 keeps for a queued message besides its payload, bytes; measured with a topic of 28. */
const PER_MESSAGE = 450;
/** A store that restarts, a rolling update of ingest on a slow board. */
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
          'queues live in memory only: a restart of the broker loses them',
          'set "persistence true" in mosquitto.conf',
        ),
  ];
}

/** A window of messages goes out, waits for one write and its commit, and is acknowledged; then the next. */
export function checkCeiling(inflight: number, { rate, replicas, pace, maxInFlight, commit }: Flow): Finding {
  const check = 'broker.ceiling';
  const window = Math.min(inflight === 0 ? MOST_INFLIGHT : inflight, maxInFlight);
  const bound =
    inflight === 0 || inflight >= maxInFlight ? 'MAX_IN_FLIGHT of ingest' : 'max_inflight_messages';
  const many = replicas === 1 ? '' : `${replicas} x `;
  if (commit === null) {
    const says = `${count(window)} messages in flight (${bound}); the ceiling is ${many}${count(window)} / (${duration(pace)} + commit), and no commit was measured`;
    return unknown(check, says, "say --ingest URL of a running ingest, or --data DIR of the store's disk");
  }
  const ceiling = (replicas * window) / (pace + commit.seconds);
  const says =
    `the window allows ${count(ceiling)} messages/s: ${many}${count(window)} in flight (${bound}) / ` +
    `(${duration(pace)} batch + ${duration(commit.seconds)} commit, ${commit.source})`;
  if (rate === null || ceiling >= 2 * rate) return ok(check, says);
  const needed = Math.ceil((2 * rate * (pace + commit.seconds)) / replicas);
  const mend =
    inflight !== 0 && inflight < maxInFlight
      ? needed > MOST_INFLIGHT
        ? 'set max_inflight_messages 0 in mosquitto.conf, and scale ingest or use a faster disk'
        : `set max_inflight_messages 0 (or ${needed}) in mosquitto.conf`
      : `scale ingest, use a faster disk, or raise MAX_IN_FLIGHT to ${needed}`;
  return ceiling < rate
    ? error(
        check,
        `${says}: less than the wanted ${count(rate)}/s, so the queue grows until it overflows`,
        mend,
      )
    : warning(check, `${says}: no room above the wanted ${count(rate)}/s to catch up with a queue`, mend);
}

function checkQueue({ queuedMessages, queuedBytes }: BrokerLimits, { rate, messageBytes }: Flow): Finding {
  const check = 'broker.queue';
  const messages = Math.min(
    queuedMessages || Number.POSITIVE_INFINITY,
    (queuedBytes || Number.POSITIVE_INFINITY) / messageBytes,
  );
  const drops = 'then mosquitto drops while still telling the publisher yes';
  if (!Number.isFinite(messages)) {
    const says =
      'the queue of a client that is away has no bound: it grows until memory ends, and the broker with it';
    return error(check, says, 'set max_queued_messages and max_queued_bytes in mosquitto.conf');
  }
  const held = `${count(messages)} messages of ${messageBytes} bytes wait for an ingest that is away`;
  if (rate === null) return ok(check, `${held}; ${drops}`);
  const seconds = messages / rate;
  const says = `${held}: ${duration(seconds)} at ${count(rate)}/s, ${drops}`;
  const wanted = Math.ceil(COMFORTABLE_SECONDS * rate);
  const byBytes = queuedBytes !== 0 && queuedBytes / messageBytes <= messages;
  const [setting, value] = byBytes
    ? ['max_queued_bytes', wanted * messageBytes]
    : ['max_queued_messages', wanted];
  const mend =
    `for ten minutes raise ${setting} to ${value} (MOSQUITTO_${setting.slice(4).toUpperCase()} in the profile), ` +
    `which takes about ${size(wanted * (messageBytes + PER_MESSAGE))} of the broker's memory`;
  if (seconds < SHORT_SECONDS) return error(check, `${says}; a restart of a store takes longer`, mend);
  return seconds < COMFORTABLE_SECONDS ? warning(check, says, mend) : ok(check, says);
}

function checkQueueMemory({ queuedMessages, queuedBytes }: BrokerLimits, flow: Flow): Finding {
  const check = 'broker.memory';
  const { messageBytes, memory, replicas } = flow;
  const most = queuedMessages || queuedBytes / messageBytes || Number.POSITIVE_INFINITY;
  const bytes = replicas * (most * PER_MESSAGE + (queuedBytes || most * messageBytes));
  const says = Number.isFinite(bytes)
    ? `${replicas === 1 ? 'a full queue takes' : `${replicas} full queues take`} about ${size(bytes)}`
    : 'a queue without bound takes any memory';
  if (memory === null) return ok(check, says);
  const limit = `${says} of the broker's ${size(memory)}`;
  const mend = 'raise MOSQUITTO_MEMORY, or lower MOSQUITTO_QUEUED_MESSAGES, in the profile';
  return bytes > memory * 0.8
    ? error(check, `${limit}: the kernel ends it before it drops, with every queue`, mend)
    : ok(check, limit);
}
