import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { familyOf } from '@tidegauge/lab/processes';
import { isEmbedded } from '@tidegauge/loadtests/targets/store-places';
import type { Random } from '@tidegauge/workload';
import type { DiskKind, FullDisk } from './disks.ts';
import type { Replica } from './replica.ts';
import { canBeProxied, type LinkName, type Scene, type Way } from './scene.ts';
import type { Traffic } from './traffic.ts';

/** What a fault acts on. */
export interface Subject {
  readonly scene: Scene;
  readonly traffic: Traffic;
  readonly random: Random;
}

/** Ends a fault: the part works again, or is started again. */
export type End = () => Promise<void>;

export interface Fault {
  readonly summary: string;
  readonly way?: Way;
  readonly disks?: DiskKind;
  readonly links?: readonly LinkName[];
  /** Whether it makes system calls of ingest fail. */
  readonly systemCalls?: true;
  /** Whether the broker loses messages that it has acknowledged. */
  readonly brokerLoses?: true;
  /** Why it is not possible with several replicas. */
  readonly oneReplica?: string;
  /** Why it is not possible with a store, or null. */
  readonly refusal?: (store: string) => string | null;
  begin(subject: Subject): Promise<End>;
}

/** A slow link: a round trip of the store takes half a second. */
const SLOW = { delayMs: 500, jitterMs: 200, kilobitsPerSecond: 2000 } as const;
/** Of a slow SQLite file: how long another writer holds it, and leaves it. */
const LOCKED_MS = 400;
const FREE_MS = 100;
const HOUR_S = 3600;
const BROKER_FORGETS = 'mosquitto before 2.0.12 loses shared subscriptions at a restart';
const NOTHING: End = async () => {};

const needsServer = (store: string): string | null =>
  isEmbedded(store) ? 'it runs in the process of ingest' : null;
const needsProxy = (store: string): string | null =>
  canBeProxied(store) ? null : 'no proxy can be between it and its client';
const needsFile = (store: string): string | null =>
  isEmbedded(store) ? null : 'its data is on the disk of its server';
const canFreeze = (store: string): string | null =>
  store === 'json' ? 'it has no server and no lock' : null;
const canBeSlow = (store: string): string | null => (store === 'sqlite' ? null : needsProxy(store));

function anyReplica({ scene, random }: Subject): Replica {
  return scene.replicas[random.below(scene.replicas.length)]!;
}

async function endAndStart(end: (replica: Replica) => Promise<unknown>, subject: Subject): Promise<End> {
  const replica = anyReplica(subject);
  await end(replica);
  return () => replica.start();
}

async function onLink(
  { scene }: Subject,
  link: LinkName,
  change: Parameters<Scene['change']>[1],
): Promise<End> {
  await scene.change(link, change);
  return () => scene.change(link, null);
}

/** Another process writes to the SQLite file for the whole time. */
function lockFile({ scene }: Subject): DatabaseSync {
  const lock = new DatabaseSync(scene.storeUrl.replace(/^sqlite:|\?.*/g, ''), { timeout: 10_000 });
  lock.exec('begin immediate');
  return lock;
}

async function freezeStore(subject: Subject): Promise<End> {
  const { scene } = subject;
  if (scene.nodes.length === 0) {
    const lock = lockFile(subject);
    return async () => lock.close();
  }
  const pids = scene.nodes.flatMap((node) => node.pids().flatMap(familyOf));
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  return async () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  };
}

async function slowStore(subject: Subject): Promise<End> {
  if (subject.scene.nodes.length > 0) return onLink(subject, 'store', SLOW);
  let slow = true;
  const locking = (async () => {
    while (slow) {
      const lock = lockFile(subject);
      await sleep(LOCKED_MS);
      lock.close();
      await sleep(FREE_MS);
    }
  })();
  return async () => {
    slow = false;
    await locking;
  };
}

async function fill(disk: FullDisk): Promise<End> {
  await disk.fill();
  return () => disk.free();
}

async function stopNode({ scene, random }: Subject): Promise<End> {
  const able = scene.nodes.filter(({ fault }) => fault !== null);
  const { fault } = able[random.below(able.length)]!;
  await fault!.kill();
  return () => fault!.restart();
}

async function withClock({ scene }: Subject, clockSeconds: number): Promise<End> {
  scene.systemCalls!.set({ clockSeconds });
  return async () => scene.systemCalls!.set({});
}

/** All faults by name. One happens at a time, unless a fault combines two. */
export const FAULTS = {
  'ingest-kill': {
    summary: 'kill -9 of an ingest process',
    begin: (subject) => endAndStart((replica) => replica.kill(), subject),
  },
  'ingest-restart': {
    summary: 'an orderly stop of an ingest process',
    begin: (subject) => endAndStart((replica) => replica.stop(), subject),
  },
  'broker-restart': {
    summary: 'an orderly stop of the broker, which saves its queues',
    way: 'broker',
    oneReplica: BROKER_FORGETS,
    async begin({ scene }) {
      await scene.broker!.stop();
      return () => scene.broker!.restart();
    },
  },
  'broker-kill': {
    summary: 'kill -9 of the broker, which loses what it had not saved',
    way: 'broker',
    oneReplica: BROKER_FORGETS,
    brokerLoses: true,
    async begin({ scene }) {
      await scene.broker!.kill();
      return () => scene.broker!.restart();
    },
  },
  'queue-kill': {
    summary: 'kill -9 of ingest, and then of the broker, which loses the queue of that time',
    way: 'broker',
    oneReplica: BROKER_FORGETS,
    brokerLoses: true,
    async begin({ scene }) {
      const [replica] = scene.replicas;
      await replica!.kill();
      return async () => {
        await scene.broker!.kill();
        await scene.broker!.restart();
        await replica!.start();
      };
    },
  },
  'store-stop': {
    summary: 'kill -9 of the server of the store',
    refusal: needsServer,
    begin: stopNode,
  },
  'store-freeze': {
    summary: 'the store does not answer: its server is suspended (SIGSTOP), or its file is locked',
    refusal: canFreeze,
    begin: freezeStore,
  },
  'store-slow': {
    summary: 'a round trip of the store takes half a second, or its file is locked most of the time',
    links: ['store'],
    refusal: canBeSlow,
    begin: slowStore,
  },
  'store-refuse': {
    summary: 'connections to the store are closed, and new ones are refused',
    links: ['store'],
    refusal: needsProxy,
    begin: (subject) => onLink(subject, 'store', 'refuse'),
  },
  'store-half-open': {
    summary: 'data between ingest and the store is dropped without notice',
    links: ['store'],
    refusal: needsProxy,
    begin: (subject) => onLink(subject, 'store', 'drop'),
  },
  'broker-half-open': {
    summary: 'data between ingest and the broker is dropped without notice',
    way: 'broker',
    links: ['broker'],
    begin: (subject) => onLink(subject, 'broker', 'drop'),
  },
  'sensors-half-open': {
    summary: 'data between sensors and the broker, or ingest, is dropped without notice',
    links: ['sensors'],
    begin: (subject) => onLink(subject, 'sensors', 'drop'),
  },
  reconnect: {
    summary: 'all sensors lose their connections at once',
    async begin({ traffic }) {
      traffic.dropAll();
      return NOTHING;
    },
  },
  'spool-full': {
    summary: 'the disk of spool and ledger is full while the store does not answer',
    disks: 'small',
    refusal: canFreeze,
    async begin(subject) {
      const thaw = await freezeStore(subject);
      const free = await fill(subject.scene.disks.full!.data);
      return async () => {
        await thaw();
        await free();
      };
    },
  },
  'data-full': {
    summary: 'the disk of quarantine and ledger is full',
    disks: 'small',
    begin: ({ scene }) => fill(scene.disks.full!.data),
  },
  'store-full': {
    summary: 'the disk of SQLite or of the JSON files is full',
    disks: 'small',
    refusal: needsFile,
    begin: ({ scene }) => fill(scene.disks.full!.store),
  },
  'fsync-error': {
    summary:
      'fsync of ingest fails with EIO; a store with a server does not answer, so that ingest needs its spool',
    systemCalls: true,
    async begin(subject) {
      const { nodes, systemCalls } = subject.scene;
      const thaw = nodes.length === 0 ? NOTHING : await freezeStore(subject);
      systemCalls!.set({ syncFails: true });
      return async () => {
        systemCalls!.set({});
        await thaw();
      };
    },
  },
  'clock-ahead': {
    summary: 'the clock of ingest is an hour ahead',
    systemCalls: true,
    begin: (subject) => withClock(subject, HOUR_S),
  },
  'clock-behind': {
    summary: 'the clock of ingest is an hour behind',
    systemCalls: true,
    begin: (subject) => withClock(subject, -HOUR_S),
  },
  'kill-in-outage': {
    summary: 'kill -9 of an ingest process while the store does not answer',
    refusal: canFreeze,
    async begin(subject) {
      const thaw = await freezeStore(subject);
      // Long enough for messages in the spool.
      await sleep(2500);
      const replica = anyReplica(subject);
      await replica.kill();
      return async () => {
        await thaw();
        await replica.start();
      };
    },
  },
  'power-cut': {
    summary: 'the power of the disk of spool, quarantine, ledger and embedded store is cut',
    disks: 'power-cut',
    async begin({ scene }) {
      await scene.cutPower();
      return async () => {
        await Promise.all(scene.replicas.map((replica) => replica.start()));
      };
    },
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

export function faultOf(name: FaultName): Fault {
  return FAULTS[name];
}
