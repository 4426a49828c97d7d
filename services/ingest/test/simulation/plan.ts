import type { Random } from '@tidegauge/workload';
import type { AckPolicy } from '../../src/routes.ts';
import type { StoreOptions } from './model-store.ts';
import type { SensorsOptions } from './sensors.ts';

/** How a process ends. */
export type End = 'kill' | 'power cut' | 'stop';

/** Faults that begin and end. */
export const FAULTS = [
  'store unavailable',
  'store slow',
  'store without answers',
  'disk full',
  'syncs fail',
  'centre unavailable',
  'centre without answers',
] as const;
export type Fault = (typeof FAULTS)[number];

/** How long readings are kept, milliseconds. There is a rule for one sensor. */
export interface Keep {
  readonly ms: number;
  readonly ofFirstMs: number;
}

/** The sensor with a rule. Each schedule has it. */
export const FIRST_SENSOR = 's0';

/** How long the readings of a device are kept, microseconds. */
export function keptUs(keep: Keep | null, device: string): number {
  if (keep === null) return Number.POSITIVE_INFINITY;
  return (device === FIRST_SENSOR ? keep.ofFirstMs : keep.ms) * 1000;
}

/** Whether processes share the messages of a broker, so that each has a part of those of a sensor. */
export function isShared({
  hasPeer,
  isDirect,
  relayBytes,
}: Pick<Plan, 'hasPeer' | 'isDirect' | 'relayBytes'>): boolean {
  return hasPeer && !isDirect && relayBytes === 0;
}

/** The plan of the centre: it has another store, and receives readings from boards alone. */
export function planOfCentre(plan: Plan): Plan {
  return { ...plan, hasPeer: false, hasReplica: false, relayBytes: 0, isFiltered: false, alerts: null };
}

/** What happens in a schedule. A part of the features is in use in each one (swarm testing, Groce et al. 2012). */
export interface Plan {
  readonly isDirect: boolean;
  /** Sensors that send for themselves, devices of a gateway, and clients of HTTP. */
  readonly sensors: number;
  readonly gatewayDevices: number;
  readonly httpClients: number;
  readonly messages: number;
  /** The longest time between two messages, milliseconds. */
  readonly pauseMs: number;
  readonly sent: Omit<SensorsOptions, 'kept'>;
  readonly store: StoreOptions;
  readonly ack: AckPolicy;
  readonly spoolBytes: number;
  /** Messages of a broker in flight. */
  readonly window: number;
  readonly bounds: {
    readonly maxBatch: number;
    readonly paceMs: number;
    readonly maxInFlight: number;
    readonly maxInFlightBytes: number;
  };
  readonly faults: readonly Fault[];
  readonly ends: readonly End[];
  readonly hasCuts: boolean;
  readonly hasClockSteps: boolean;
  /** A process ends within so many operations. */
  readonly operations: number;
  /** Readings that a device could not send, and keeps for a request of ingest; 0: it keeps none. */
  readonly kept: number;
  /** The bound of the log for a centre, another process of ingest, to which all is relayed; 0: nothing is relayed. */
  readonly relayBytes: number;
  /** Whether readings are left out that are like the last stored one. */
  readonly isFiltered: boolean;
  /** Whether a second board receives a part of the messages. It has the same store, or its own when it relays. */
  readonly hasPeer: boolean;
  /** Whether another process uses the store too, without messages. */
  readonly hasReplica: boolean;
  /** How far the clocks of sensors are behind, milliseconds. */
  readonly behindMs: number;
  /** How long readings are kept; null: forever. */
  readonly keep: Keep | null;
  /** The size of the store, in readings, from which the oldest ones are deleted; null: it has no limit. */
  readonly mostRows: number | null;
  /** Whether that limit is a free space of the disk. */
  readonly limitsDisk: boolean;
  /** The limit of two rules, for smaller and for larger values, and how long they must hold. Null: there are no rules. */
  readonly alerts: { readonly limit: number; readonly holds: number } | null;
}

/** The faults of a schedule without a centre. */
const FAULTS_HERE = FAULTS.filter((fault) => !fault.startsWith('centre'));
const FAULTS_OF_CENTRE = FAULTS.filter((fault) => fault.startsWith('centre'));

/** The bound of a log of the relay that readings are dropped from, bytes. */
export const SMALL_LOG = 2000;
/** Not `received`: it acknowledges on arrival, so it promises nothing. */
const ACKS: readonly AckPolicy[] = ['stored', 'durable', 'durable'];
const MOST_MESSAGES = 120;
const MOST_KEPT = 6;
/** The pause of schedules that should last some minutes. */
const LONG_PAUSE_MS = 5000;
/**
 * How far sensors are behind when readings are relayed, or have rollups, or the store has a limit: days are compared up to ten
 * minutes ago, the system clock can step back by two hours, rollups are those of hours that are over, and a limit deletes
 * readings that are older than an hour.
 */
const BEHIND_MS = 3 * 3_600_000;
/** The next hour of sensors begins soon. */
const NEXT_HOUR_MS = 60_000;
/** How long readings are kept that have no rollups, and after the last message the others at most, milliseconds. */
const KEPT_MS = [10_000, 60_000];
const KEPT_LONGER_MS = 360_000;
/** How much longer those of the first sensor are kept at most. */
const OF_FIRST_MS = 30_000;

export function makePlan(random: Random): Plan {
  const oneOf = <T>(values: readonly T[]): T => values[random.below(values.length)]!;
  const some = (share: number, most: number): number =>
    random.double() < share ? random.double() * most : 0;
  const isOn = (share: number): boolean => random.double() < share;
  const hasDisk = isOn(0.3);
  const plan = {
    isDirect: isOn(0.5),
    sensors: 1 + random.below(4),
    gatewayDevices: isOn(0.4) ? 2 + random.below(3) : 0,
    httpClients: isOn(0.3) ? 1 + random.below(2) : 0,
    messages: 10 + random.below(MOST_MESSAGES),
    pauseMs: oneOf([5, 50, 500]),
    sent: {
      corrections: some(0.7, 0.6),
      refused: some(0.4, 0.2),
      undecodable: some(0.4, 0.2),
      lost: some(0.5, 0.2),
      restarts: some(0.3, 0.1),
    },
    store: {
      writers: 1 + random.below(3),
      maxBatch: oneOf([5, 100]),
      isAtomic: isOn(0.5),
      namesRows: isOn(0.5),
    },
    ack: oneOf(ACKS),
    spoolBytes: oneOf([0, 2000, 20_000, 1_000_000, 1_000_000]),
    window: oneOf([1, 10, 1000]),
    bounds: {
      maxBatch: oneOf([1, 10, 1000]),
      paceMs: oneOf([0, 3, 20]),
      maxInFlight: oneOf([10, 1000]),
      maxInFlightBytes: oneOf([20_000, 10_000_000]),
    },
    faults: FAULTS_HERE.filter((fault) => isOn(0.5) && (hasDisk || !isOfDisk(fault))),
    ends: (['kill', 'power cut', 'stop'] as const).filter(() => isOn(0.6)),
    hasCuts: isOn(0.5),
    hasClockSteps: isOn(0.3),
    operations: oneOf([100, 500, 3000]),
    kept: isOn(0.5) ? 1 + random.below(MOST_KEPT) : 0,
  };
  // Drawn last, so that the schedules without them are those of before.
  const hasCentre = isOn(0.3);
  const faults = hasCentre ? FAULTS_OF_CENTRE.filter(() => isOn(0.5)) : [];
  const relayBytes = hasCentre ? oneOf([SMALL_LOG, 1_000_000]) : 0;
  // A filter learns from the clock how late a reading is.
  const isFiltered = isOn(0.2) && !plan.hasClockSteps;
  // Rollups need clocks that differ by less than a minute, and some minutes until an hour is computed.
  const hasRollups = isOn(0.2) && !plan.hasClockSteps;
  // A relay repairs days that are over, and rollups hours. Ingest gives present times.
  const isUnset = isOn(0.2) && !hasCentre && !hasRollups;
  const rules = { limit: 1 + random.below(MOST_MESSAGES), holds: oneOf([0, 2_000_000]) };
  // After the clock went back, newer readings seem to be older for as long. Rules also see what a filter leaves out.
  const alerts = isOn(0.2) && !plan.hasClockSteps && !isFiltered ? rules : null;
  // What is deleted cannot be compared with a centre, or be the newest reading of a rule.
  const isDeleted = isOn(0.2) && !hasCentre && !plan.hasClockSteps && alerts === null;
  // It does what has a lease, which lasts some minutes by the clock.
  const hasLeases = hasRollups || isDeleted || alerts !== null;
  const mayHaveReplica = isOn(0.3);
  const hasReplica = mayHaveReplica && hasLeases;
  const pauseMs = hasRollups || isDeleted || hasReplica ? LONG_PAUSE_MS : plan.pauseMs;
  // Readings of an hour that is deleted in part come too late for its rollups, so all messages come before.
  const keptLonger = BEHIND_MS + (plan.messages * pauseMs) / 2 + random.below(KEPT_LONGER_MS);
  const ms = hasRollups ? keptLonger : oneOf(KEPT_MS);
  const ofFirstMs = ms + oneOf([0, random.below(OF_FIRST_MS)]);
  const nextHourMs = isDeleted ? 0 : NEXT_HOUR_MS;
  const hasPeer = isOn(0.25);
  const shared = isShared({ ...plan, hasPeer, relayBytes });
  // The newest reading of such a sensor is not known when processes share its messages.
  const hasUnset = isUnset && !isDeleted && !(shared && alerts !== null);
  // As of `isDeleted`.
  const isLimited = isOn(0.4) && !hasCentre && !hasLeases && !plan.hasClockSteps;
  const limit = isLimited ? 1 + random.below(MOST_MESSAGES) : null;
  const mayLimitRollups = isOn(0.4) && hasRollups && !hasCentre && !isDeleted && alerts === null;
  const mostRows = mayLimitRollups ? 1 + random.below(MOST_MESSAGES) : limit;
  return {
    ...plan,
    ...{ relayBytes, isFiltered, hasPeer },
    // They are those of one store.
    alerts: hasPeer && hasCentre ? null : alerts,
    hasReplica: mayHaveReplica && (hasLeases || isLimited),
    pauseMs: isLimited ? LONG_PAUSE_MS : pauseMs,
    faults: [...plan.faults, ...faults],
    // Without all numbers of a sensor, nothing is requested.
    kept: shared ? 0 : plan.kept,
    store: { ...plan.store, hasRollups },
    behindMs: hasCentre || hasRollups || isLimited ? BEHIND_MS + nextHourMs : 0,
    keep: isDeleted ? { ms, ofFirstMs } : null,
    mostRows,
    limitsDisk: mostRows !== null && isOn(0.3),
    sent: {
      ...plan.sent,
      unset: hasUnset && !isLimited ? 0.5 : 0,
      // A reading that the store refuses can be left out, because it is like one that it has yet to refuse.
      refused: isFiltered ? 0 : plan.sent.refused,
    },
  };
}

/** Plans with a feature, a fault or messages less. */
export function* smallerPlans(plan: Plan): Generator<Plan> {
  const { messages, faults, ends, sent } = plan;
  if (messages > 1) yield { ...plan, messages: messages >> 1 };
  for (const fault of faults) yield { ...plan, faults: faults.filter((other) => other !== fault) };
  for (const end of ends) yield { ...plan, ends: ends.filter((other) => other !== end) };
  if (plan.hasCuts) yield { ...plan, hasCuts: false };
  if (plan.hasClockSteps) yield { ...plan, hasClockSteps: false };
  if (plan.gatewayDevices > 0) yield { ...plan, gatewayDevices: 0 };
  if (plan.httpClients > 0) yield { ...plan, httpClients: 0 };
  if (plan.kept > 0) yield { ...plan, kept: 0 };
  if (plan.isFiltered) yield { ...plan, isFiltered: false };
  if (plan.relayBytes > 0) yield { ...plan, relayBytes: 0, hasPeer: false };
  if (plan.alerts !== null) yield { ...plan, alerts: null };
  if (plan.hasPeer) yield { ...plan, hasPeer: false };
  if (plan.hasReplica) yield { ...plan, hasReplica: false };
  if (plan.keep !== null) yield { ...plan, keep: null };
  if (plan.mostRows !== null) yield { ...plan, mostRows: null, limitsDisk: false };
  if (plan.limitsDisk) yield { ...plan, limitsDisk: false };
  if (plan.store.hasRollups) yield { ...plan, store: { ...plan.store, hasRollups: false } };
  if (plan.sensors > 1) yield { ...plan, sensors: 1 };
  for (const [name, share] of Object.entries(sent))
    if (share > 0) yield { ...plan, sent: { ...sent, [name]: 0 } };
  if (messages > 1) yield { ...plan, messages: messages - 1 };
}

export function isOfDisk(fault: Fault): boolean {
  return fault === 'disk full' || fault === 'syncs fail';
}
