import { STORES } from '@tidegauge/loadtests/targets/store-places';
import type { SeededRandom } from '@tidegauge/workload';
import type { DiskKind } from './disks.ts';
import { FAULT_NAMES, FAULTS, type FaultName, faultOf } from './faults.ts';
import type { LinkName, Way } from './scene.ts';
import type { StreamPlan } from './streams.ts';

/** A fault, and when it begins and ends. */
export interface Step {
  readonly fault: FaultName;
  /** Seconds after the end of the step before. */
  readonly pause: number;
  /** Seconds from its begin to its end. */
  readonly hold: number;
  /** Whether the step after it waits until everything is stored. */
  readonly settles: boolean;
}

export interface Profile {
  readonly summary: string;
  /** The faults that it has, without repetitions. */
  readonly faults: readonly FaultName[];
  readonly streams: readonly StreamPlan[];
  /** Messages per second. */
  readonly rate: number;
  readonly replicas: number;
  readonly way: Way;
  /** The steps of one pass. A run with more messages does further passes. */
  steps(random: SeededRandom, isQuick: boolean): readonly Step[];
}

const READINGS: StreamPlan = { kind: 'readings', share: 1, devices: 100, connections: 4 };
const RATE = 1000;

/** A fault that is repeated, at random times. */
function repeatOf(fault: FaultName, times: number, hold: number, settles = true): Profile['steps'] {
  return (random, isQuick) =>
    Array.from({ length: isQuick ? Math.min(2, times) : times }, () => ({
      fault,
      pause: 0.5 + 2 * random.double(),
      hold: isQuick ? Math.min(hold, 3) : hold,
      settles,
    }));
}

function profile(
  summary: string,
  faults: readonly FaultName[],
  steps: Profile['steps'],
  given: Partial<Profile> = {},
): Profile {
  return { summary, faults, steps, streams: [READINGS], rate: RATE, replicas: 1, way: 'broker', ...given };
}

/** One fault, a number of times. */
function only(
  fault: FaultName,
  times: number,
  hold: number,
  { settles = true, ...given }: Partial<Profile> & { readonly settles?: boolean } = {},
): Profile {
  const steps = repeatOf(fault, times, hold, settles);
  const way = faultOf(fault).way ?? 'broker';
  const summary = `${FAULTS[fault].summary}, ${times === 1 ? 'once' : `${times} times`}`;
  return profile(summary, [fault], steps, { way, ...given });
}

export const PROFILES: Readonly<Record<string, Profile>> = {
  'ingest-kill': only('ingest-kill', 20, 0.2, { settles: false }),
  'ingest-restart': only('ingest-restart', 5, 0.5),
  'broker-restart': only('broker-restart', 5, 2),
  'broker-kill': only('broker-kill', 5, 2),
  'queue-kill': only('queue-kill', 5, 5),
  'store-stop': only('store-stop', 3, 15),
  'store-freeze': only('store-freeze', 1, 60),
  outage: profile(
    'the store does not answer for ten minutes, at 5,000 messages/s',
    ['store-freeze'],
    repeatOf('store-freeze', 1, 600),
    { rate: 5000, streams: [{ ...READINGS, devices: 500 }] },
  ),
  'store-slow': only('store-slow', 2, 20),
  'store-refuse': only('store-refuse', 3, 15),
  'store-half-open': only('store-half-open', 2, 30),
  'broker-half-open': only('broker-half-open', 3, 15),
  'sensors-half-open': only('sensors-half-open', 3, 15),
  'spool-full': only('spool-full', 2, 15),
  'quarantine-full': profile(
    `${FAULTS['data-full'].summary}, while 5 % of the messages cannot be decoded`,
    ['data-full'],
    repeatOf('data-full', 2, 15),
    { streams: withUndecodable() },
  ),
  'store-full': only('store-full', 2, 15),
  'fsync-error': only('fsync-error', 3, 10),
  clock: profile(
    'the clock of ingest is an hour ahead and an hour behind, in turns, and ingest is killed',
    ['clock-ahead', 'clock-behind', 'ingest-kill'],
    (random, isQuick) =>
      (['clock-ahead', 'clock-behind', 'ingest-kill'] as const).flatMap((fault) =>
        repeatOf(fault, 2, 5)(random, isQuick),
      ),
  ),
  'kill-in-outage': only('kill-in-outage', 5, 3),
  'power-cut': only('power-cut', 20, 0.2, { settles: false, way: 'direct' }),
  'reconnect-storm': only('reconnect', 5, 1, {
    way: 'direct',
    streams: [{ ...READINGS, devices: 1000, connections: 1000 }],
  }),
  undecodable: profile(
    '5 % of the messages cannot be decoded, and ingest is killed 5 times',
    ['ingest-kill'],
    repeatOf('ingest-kill', 5, 0.5),
    { streams: withUndecodable() },
  ),
  backfill: profile(
    'old readings at four times the rate beside live traffic, and ingest is killed 5 times',
    ['ingest-kill'],
    repeatOf('ingest-kill', 5, 0.5),
    { streams: [READINGS, { kind: 'old', share: 4, devices: 100, connections: 1 }] },
  ),
  replicas: profile(
    'two replicas share the messages, and one of them is killed, 10 times',
    ['ingest-kill'],
    repeatOf('ingest-kill', 10, 2),
    { replicas: 2 },
  ),
  gateways: profile(
    'gateways with 20 devices each, which correct every second reading, while ingest is killed and the store does not answer',
    ['ingest-kill', 'store-freeze'],
    (random, isQuick) => [
      ...repeatOf('ingest-kill', 3, 0.5, false)(random, isQuick),
      ...repeatOf('store-freeze', 2, 5)(random, isQuick),
      ...repeatOf('ingest-kill', 3, 0.5)(random, isQuick),
    ],
    { rate: 100, streams: [{ kind: 'gateway', share: 1, devices: 10, connections: 2 }] },
  ),
};

function withUndecodable(): readonly StreamPlan[] {
  return [READINGS, { kind: 'undecodable', share: 0.05, devices: 10, connections: 1 }];
}

const RANDOM_STEPS = 12;

/** A random sequence of all faults that fit a store and a number of replicas, except some. */
export function randomProfile(
  store: string,
  way: Way,
  replicas = 1,
  without: readonly FaultName[] = [],
): Profile {
  const faults = FAULT_NAMES.filter(
    (name) => !without.includes(name) && refusal(name, store, way, replicas) === null,
  );
  return profile(
    'a random sequence of all faults that fit the store',
    faults,
    (random, isQuick) => {
      const order = shuffled(faults, random);
      const more = isQuick
        ? []
        : Array.from({ length: RANDOM_STEPS }, () => faults[random.below(faults.length)]!);
      return [...order, ...more].map((fault) => ({
        fault,
        pause: (isQuick ? 0.2 : 2) * random.double(),
        hold: isQuick ? 1 + random.double() : 0.2 + 12 * random.double() ** 2,
        // Half of the faults begin while the one before is being recovered from.
        settles: random.below(2) === 0,
      }));
    },
    {
      way,
      replicas,
      rate: 4000,
      streams: [
        { ...READINGS, devices: 500 },
        ...withUndecodable()
          .slice(1)
          .map((each) => ({ ...each, share: 0.01 })),
      ],
    },
  );
}

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  const all = [...items];
  for (let last = all.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [all[last], all[other]] = [all[other]!, all[last]!];
  }
  return all;
}

/** Why a fault is not possible with a store, a way and a number of replicas, or null. */
export function refusal(name: FaultName, store: string, way: Way, replicas: number): string | null {
  const fault = faultOf(name);
  const reason = fault.refusal?.(store) ?? null;
  if (reason !== null) return `${name} is not possible with ${store}: ${reason}`;
  if (fault.way !== undefined && fault.way !== way) return `${name} needs --way ${fault.way}`;
  if (fault.oneReplica && replicas > 1) return `${name} needs one replica: ${fault.oneReplica}`;
  return null;
}

/** The links that the faults of a profile change, and that are possible with the store. */
export function linksOf({ faults }: Profile, store: string): ReadonlySet<LinkName> {
  // A slow SQLite file needs no proxy.
  return new Set(
    faults
      .flatMap((name) => faultOf(name).links ?? [])
      .filter((link) => link !== 'store' || store !== 'sqlite'),
  );
}

/** The disk of which the power can be cut can be full, too. */
export function disksOf({ faults }: Profile): DiskKind {
  const kinds = faults.map((name) => faultOf(name).disks);
  return (['power-cut', 'small'] as const).find((kind) => kinds.includes(kind)) ?? 'plain';
}

export function brokerLoses({ faults }: Profile): boolean {
  return faults.some((name) => faultOf(name).brokerLoses ?? false);
}

export function changesSystemCalls({ faults }: Profile): boolean {
  return faults.some((name) => faultOf(name).systemCalls ?? false);
}

/** The stores with which a profile is possible. */
export function storesOf({ faults, way, replicas }: Profile): readonly string[] {
  return STORES.filter((store) => faults.every((name) => refusal(name, store, way, replicas) === null));
}
