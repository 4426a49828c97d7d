import { join } from 'node:path';
import { PROXIED } from '@tidegauge/experiments/places/proxies';
import { type Mosquitto, startMosquitto } from '@tidegauge/lab';
import { makeProcessFaults, type ProcessFaults } from '@tidegauge/lab/process-faults';
import type { StoreNode } from '@tidegauge/lab/stores';
import { proxyHost, startToxiproxy, type Toxiproxy } from '@tidegauge/lab/toxiproxy';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { isEmbedded, startStorePlaces } from '@tidegauge/loadtests/targets/store-places';
import { freePort, temporaryDirectory } from '@tidegauge/process';
import { type DiskKind, type Disks, mountDisks } from './disks.ts';
import { Replica } from './replica.ts';
import { Witness } from './witness.ts';

/** How messages reach ingest: through mosquitto, or from sensors to ingest itself. */
export const WAYS = ['broker', 'direct'] as const;
export type Way = (typeof WAYS)[number];

/** The connections that a proxy can be between. */
export type LinkName = 'sensors' | 'broker' | 'store';

export interface ScenePlan {
  readonly store: string;
  readonly way: Way;
  readonly replicas: number;
  readonly disks: DiskKind;
  readonly links: ReadonlySet<LinkName>;
  /** Whether the broker can lose messages, so that they must be distinguished from those that ingest loses. */
  readonly brokerLoses: boolean;
  /** Whether system calls of ingest can fail. */
  readonly systemCalls: boolean;
  /** Settings of ingest, beside those of the scene. */
  readonly environment: Readonly<Record<string, string>>;
}

/** As version 2.0 saves its queues in the stacks. */
const BROKER_CONF = ['autosave_interval 60'];
const SETTINGS = {
  SPOOL_MAX_BYTES: '2GiB',
  QUARANTINE_MAX_BYTES: '1GiB',
  KEEP_ALIVE: '5s',
  LISTEN_MAX_CONNECTIONS: '5000',
  LISTEN_MAX_PER_LOGIN: '5000',
};

/** Everything that runs during a profile, and what a fault needs to reach it. */
export interface Scene {
  readonly plan: ScenePlan;
  /** Where sensors connect. */
  readonly port: number;
  readonly broker: Mosquitto | null;
  /** Lets the broker save its sessions, as it has after its first minute. Later messages are not saved by it. */
  saveBroker(): void;
  /** null: the broker is expected to lose nothing. */
  readonly witness: Witness | null;
  readonly replicas: readonly Replica[];
  readonly nodes: readonly StoreNode[];
  /** Needs a link in the plan. */
  change(link: LinkName, change: Parameters<Toxiproxy['changeLink']>[1]): Promise<void>;
  /** null: not in the plan. */
  readonly systemCalls: ProcessFaults | null;
  readonly disks: Disks;
  /** The URL of the store, without a proxy. */
  readonly storeUrl: string;
  /** The folder of the spool, the quarantine and the ledger of a replica. */
  dataFolder(replica: Replica): string;
  /** Cuts the power of the disk: replicas are killed and continue on what the disk had at that moment. */
  cutPower(): Promise<void>;
}

/** Starts a store, a broker and proxies as planned. The replicas are not started. */
export async function makeScene(plan: ScenePlan, closers: Closers): Promise<Scene> {
  const { store, way } = plan;
  const disks = await mountDisks(plan.disks, closers);
  const links = await makeLinks(plan.links, closers);
  const hasProxy = plan.links.has('store');
  const places = isEmbedded(store) ? null : await startStorePlaces(store, { isProxied: hasProxy });
  if (places !== null) closers.add(() => places.stop());
  const server = await places?.create('faults');
  const proxied = hasProxy ? places!.endpoints : [];
  for (const each of proxied) await links.add('store', proxyHost(each), each);
  const throughProxy = (url: string): string =>
    proxied.reduce((text, each) => text.replace(each, proxyHost(each)), url);
  const embedded = (): string => embeddedUrl(store, disks.store);

  const broker = way === 'direct' ? null : await startBroker(closers);
  const brokerPort = broker === null ? null : await links.to('broker', broker.port);
  const witness = brokerPort === null || !plan.brokerLoses ? null : await Witness.start(brokerPort);
  if (witness !== null) closers.add(() => witness.stop());
  const ingestPort = await freePort();
  const source: Readonly<Record<string, string>> =
    broker === null
      ? { LISTEN: `mqtt://127.0.0.1:${ingestPort}` }
      : { BROKER: `mqtt://127.0.0.1:${witness?.port ?? brokerPort}` };
  const port = await links.to('sensors', broker?.port ?? ingestPort);
  const systemCalls = await makeSystemCalls(plan, closers);

  const dataFolder = (index: number): string => join(disks.data, `ingest-${index + 1}`);
  const replicas = Array.from({ length: plan.replicas }, (_, index) => {
    const environment = () => ({
      ...SETTINGS,
      STORE: server === undefined ? embedded() : throughProxy(server),
      ...source,
      CLIENT_ID: `faults-ingest-${index + 1}`,
      DATA_DIR: dataFolder(index),
      ...(plan.replicas > 1 ? { SHARE_GROUP: 'faults' } : {}),
      ...systemCalls?.environment,
      ...plan.environment,
    });
    const replica = new Replica(environment);
    closers.add(() => replica.kill());
    return replica;
  });
  return {
    plan,
    port,
    broker,
    saveBroker() {
      if (broker !== null) process.kill(broker.pid, 'SIGUSR1');
    },
    witness,
    replicas,
    nodes: places?.nodes ?? [],
    change: links.change,
    systemCalls,
    disks,
    get storeUrl() {
      return server ?? embedded();
    },
    dataFolder: (replica) => dataFolder(replicas.indexOf(replica)),
    cutPower: () => cutPower(replicas, disks, systemCalls!),
  };
}

/** The proxies between the parts of a scene. */
interface Links extends Pick<Scene, 'change'> {
  /** Adds a proxy at the address `listen`, before the server at `upstream`. */
  add(name: LinkName, listen: string, upstream: string): Promise<void>;
  /** The port of a server on loopback, or of a proxy before it when the link is in the plan. */
  to(name: LinkName, port: number): Promise<number>;
}

async function makeLinks(planned: ReadonlySet<LinkName>, closers: Closers): Promise<Links> {
  const toxiproxy = planned.size === 0 ? null : await startToxiproxy();
  if (toxiproxy !== null) closers.add(() => toxiproxy.stop());
  const addresses = new Map<LinkName, readonly string[]>();
  const add: Links['add'] = async (name, listen, upstream) => {
    await toxiproxy!.addLink(listen, upstream);
    addresses.set(name, [...(addresses.get(name) ?? []), listen]);
  };
  return {
    add,
    async to(name, port) {
      if (!planned.has(name)) return port;
      const listen = await freePort();
      await add(name, `127.0.0.1:${listen}`, `127.0.0.1:${port}`);
      return listen;
    },
    async change(link, change) {
      for (const address of addresses.get(link)!) await toxiproxy!.changeLink(address, change);
    },
  };
}

/** After a power cut, ingest must find another boot of the kernel. */
async function makeSystemCalls(
  { systemCalls, disks }: ScenePlan,
  closers: Closers,
): Promise<ProcessFaults | null> {
  if (!systemCalls && disks !== 'power-cut') return null;
  const faults = await makeProcessFaults();
  closers.add(async () => faults.remove());
  return faults;
}

/** Kills replicas, which continue on what their disk had at that moment, with another boot of the kernel. */
export async function cutPower(
  replicas: readonly Replica[],
  disks: Disks,
  systemCalls: ProcessFaults,
): Promise<void> {
  // Processes that went on after the copy would acknowledge messages that the copy cannot have.
  for (const replica of replicas) replica.suspend();
  await disks.cut(() => Promise.all(replicas.map((replica) => replica.kill())));
  systemCalls.newBoot();
}

async function startBroker(closers: Closers): Promise<Mosquitto> {
  // With this directory, a stop keeps what it saved.
  const folder = temporaryDirectory('faults-broker');
  closers.add(async () => folder.remove());
  const broker = await startMosquitto({ persistence: true, directory: folder.path, conf: BROKER_CONF });
  closers.add(() => broker.stop());
  return broker;
}

/** Whether clients of a store can connect to a proxy. */
export function canBeProxied(store: string): boolean {
  return PROXIED.includes(store);
}

export function embeddedUrl(store: string, folder: string): string {
  return store === 'json'
    ? `json:${join(folder, 'readings')}`
    : `sqlite:${join(folder, 'readings.db')}?busy=200`;
}
