import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, waitUntil } from '@tidegauge/process';
import { HttpClient } from '../../drivers/http-client.ts';
import { dropTable } from '../../loading/load-records.ts';
import type { Closers } from '../../targets/closers.ts';
import type { Combination, Deployment, Place, Study } from '../model.ts';
import { checkOptions, type StoreLevels, storeLevels, urlOptions, withOptions } from './factors.ts';
import { definePlace, restoreRefusal, throwRefusal } from './place.ts';
import { PROFILES, STACKS, type StackEntry, versionIn } from './stacks.ts';
import { openStudyClient, type StudyClient } from './swarm-client.ts';
import { SwarmExporters } from './swarm-exporters.ts';
import { ApiStore, CLIENT, environmentOf, imageTag, STACK, startStudyStack } from './swarm-stack.ts';
import { readSwarm, type SwarmBoard, type SwarmState } from './swarm-state.ts';

const API_PORT = 8080;
/** In the network of the store: a published port of the same board would add a proxy of Docker. */
const API_NEAR = `https://tasks.api:${API_PORT}`;
const API_READY_MS = 120_000;
/** Tables of the drivers. */
const TABLES: readonly string[] = ['study_raw', 'study_app', 'study_k6'];

/**
 * The swarm of the docker client of this machine (DOCKER_HOST). The user has prepared its boards, images and secrets.
 * Each deployment is a stack, which is removed at its end. The drivers `raw` and `app` run in a container of it, on the
 * board of the API, so both have the same way to the store. k6 runs on this machine.
 */
export function swarmPlace(): Place {
  let first: SwarmState | null = null;
  return definePlace({
    name: 'swarm',
    refusalOf(hard, study) {
      const refusal = refusalOf(hard, study);
      if (refusal !== null) return refusal;
      first ??= readSwarm();
      return refusalOfSwarm(storeLevels(hard, study), first);
    },
    facts: () => ({ boards: describeBoards(readSwarm().boards) }),
    async start(hard, study, closers, signal) {
      // The swarm can have changed since `refuses` read it.
      const swarm = readSwarm();
      const levels = storeLevels(hard, study);
      throwRefusal(refusalOf(hard, study) ?? refusalOfSwarm(levels, swarm));
      return startDeployment(levels, hard, study, swarm, closers, signal);
    },
  });
}

/** What no swarm can have. */
function refusalOf(hard: Combination, study: Study): string | null {
  const { store, rf, memory, network } = storeLevels(hard, study);
  if (!Object.hasOwn(STACKS, store)) {
    return `no stack deploys ${store}: there are ${Object.keys(STACKS).join(', ')}`;
  }
  const { isReplicated } = STACKS[store]!;
  if (rf !== null && rf > 1 && !isReplicated) return `${store} keeps one copy of the data, so rf must be 1`;
  if (memory !== null && profileOf(memory) === null) {
    const sizes = PROFILES.map(([gibibytes]) => `${gibibytes}GiB`).toReversed();
    return `memory selects a profile of stacks/profiles: use none, ${sizes.join(', ')}`;
  }
  if (network !== null) return 'the network of a swarm is not changed: use the level none';
  return restoreRefusal(study, 'a stack on a swarm');
}

/** Why a swarm cannot deploy these levels now, or null. Nothing is changed. */
export function refusalOfSwarm(
  levels: StoreLevels,
  { here, boards, stacks, secrets }: SwarmState,
): string | null {
  const left = Object.keys(secrets).filter((name) => name.startsWith(`${STACK}-`));
  if (stacks.includes(STACK) || left.length > 0) {
    const remove = left.length === 0 ? '' : `; docker secret rm ${left.join(' ')}`;
    return `a study uses this swarm, or one was killed there. If none runs, remove what is left: docker stack rm ${STACK}${remove}`;
  }
  if (stacks.length > 0) {
    return `the stack ${stacks.join(', ')} runs in this swarm and uses the same data and ports: choose another swarm, or remove it with docker stack rm`;
  }
  const { store, nodes, rf } = levels;
  const entry = STACKS[store]!;
  const label = labelOf(entry);
  const count = boardsOf(entry, boards).length;
  if (count === 0) {
    return `no ready board has the label ${label}: prepare one with stacks/bin/board (docs/deploy.md, section 4)`;
  }
  if (count !== nodes) {
    const are = count === 1 ? 'ready board has' : 'ready boards have';
    return `${count} ${are} the label ${label}, and nodes is ${nodes}: set nodes to ${count}, or change the labels`;
  }
  const front = boards.find(({ id }) => id === here);
  if (front === undefined) {
    return 'the drivers run on the board of DOCKER_HOST, which takes no tasks: docker node update --availability active BOARD, or set DOCKER_HOST to another manager';
  }
  const free = boards.find((board) => !Object.hasOwn(board.labels, label));
  if (free !== undefined && Object.hasOwn(front.labels, label)) {
    return `the drivers run on the board of DOCKER_HOST, ${front.name}, which has the store, and ${free.name} has not: set DOCKER_HOST to ${free.name}, after docker node promote ${free.name} if it is not a manager`;
  }
  if (!entry.isReplicated) return null;
  const secret = secretOf(entry);
  const copies = secrets[secret]?.['tidegauge.copies'];
  if (copies === undefined) {
    return `the copies of ${store} are not known: create the secret ${secret} again, with stacks/bin/secrets ${entry.stack} --copies`;
  }
  if (Number(copies) === (rf ?? 1)) return null;
  return `the secret ${secret} sets ${copies} copies, and rf is ${rf ?? 1}: set rf to ${copies}`;
}

async function startDeployment(
  { store, memory }: StoreLevels,
  hard: Combination,
  study: Study,
  swarm: SwarmState,
  closers: Closers,
  signal: AbortSignal,
): Promise<Deployment> {
  const entry = STACKS[store]!;
  const optionsOf = async (easy: Combination): Promise<ReadonlyMap<string, string>> => {
    const options = urlOptions(store, hard, easy, study);
    // The URL of the stack has it.
    options.delete('rf');
    await checkOptions(store, options);
    return options;
  };
  await optionsOf({});
  const stores = boardsOf(entry, swarm.boards);
  const front = swarm.boards.find(({ id }) => id === swarm.here)!;
  const folder = temporaryDirectory('study');
  closers.add(async () => folder.remove());
  const profile = memory === null ? '1gb' : profileOf(memory)!;
  const secret = secretOf(entry);
  const storeSecret = Object.hasOwn(swarm.secrets, secret) ? secret : null;
  const stack = { stack: entry.stack, profile, board: front, storeSecret };
  const { token, authority } = await startStudyStack(stack, closers, folder.path, signal);
  const url = `https://${front.address}:${API_PORT}`;
  const client = new HttpClient(1, token, { authority });
  closers.add(async () => client.close());
  await apiReady(url, client, signal);
  const drivers = await openStudyClient(`${STACK}_${CLIENT}`);
  const stackUrl = await storeUrlOf(storeSecret, drivers);
  const apiStore = new ApiStore(stackUrl);
  const exporters = new SwarmExporters(drivers);
  const others = stores.includes(front) ? [] : [front];
  const measured = await exporters.ready(
    [...stores, ...others].map(({ name }) => name),
    signal,
  );
  closers.add(async () => {
    for (const table of TABLES) await dropTable(url, client, table);
  });
  const certificate = join(folder.path, 'authority.pem');
  writeFileSync(certificate, authority);
  let closing: Promise<void> | null = null;
  const remote =
    (role: 'store' | 'api') =>
    ({ name }: SwarmBoard) => ({
      name,
      role,
      pids: () => [],
      cgroup: null,
      exporter: measured.has(name) ? () => exporters.read(name) : null,
      isRemote: true,
    });
  return {
    versions: { [store]: await versionOf(entry) },
    // The stack gives Tidegauge's user one database, which the tables of all drivers share.
    storeUrl: async (_database, easy) => withOptions(stackUrl, await optionsOf(easy)),
    async api(storeUrl) {
      await apiStore.use(storeUrl!);
      await apiReady(url, client, signal);
      return { url, near: API_NEAR, token, authority: certificate };
    },
    command: drivers.command,
    scratch: drivers.scratch,
    nodes: () => [...stores.map(remote('store')), ...others.map(remote('api'))],
    storedBytes: async () => null,
    roundTripMs: async () => null,
    snapshots: null,
    async stop() {
      closing ??= closers.close();
      await closing;
    },
  };
}

/** Waits until the API reads from its store. */
async function apiReady(url: string, client: HttpClient, signal: AbortSignal): Promise<void> {
  let last = '';
  const look = async (): Promise<boolean> => {
    signal.throwIfAborted();
    try {
      const { status, body } = await client.send('GET', `${url}/v1/devices?limit=1`);
      last = `${status} ${body}`;
      return status === 200;
    } catch (error) {
      last = (error as Error).message;
      return false;
    }
  };
  await waitUntil(() => `the API at ${url}, last: ${last}`, look, { timeoutMs: API_READY_MS, pollMs: 500 });
}

/** The STORE URL of the stack. A stack without a secret has it in a variable of the API. */
async function storeUrlOf(secret: string | null, drivers: StudyClient): Promise<string> {
  if (secret !== null) return (await drivers.read('/run/secrets/store_url')).trim();
  const variable = (await environmentOf('api')).find((line) => line.startsWith('STORE='));
  if (variable === undefined) throw new Error('the API of the stack has no STORE URL');
  return variable.slice('STORE='.length);
}

async function versionOf(entry: StackEntry): Promise<string> {
  const tag = await imageTag(entry.service(0));
  const version = versionIn(tag);
  return version === 'unknown' ? tag : version;
}

/** The secret of a stack with its STORE URL. */
function secretOf({ stack }: StackEntry): string {
  return `tidegauge_${stack}_store_url`;
}

/** The name of the label of the store's boards. */
function labelOf(entry: StackEntry): string {
  return `tidegauge.${entry.role(0).split('=')[0]}`;
}

function boardsOf(entry: StackEntry, boards: readonly SwarmBoard[]): readonly SwarmBoard[] {
  return boards.filter(({ labels }) => Object.hasOwn(labels, labelOf(entry)));
}

/** The profile for exactly this memory, in bytes. */
function profileOf(memory: number): string | null {
  return PROFILES.find(([gibibytes]) => memory === gibibytes * 2 ** 30)?.[1] ?? null;
}

/** The kinds of boards with their number. It contains no host names, because it is published. */
function describeBoards(boards: readonly SwarmBoard[]): string {
  const kinds = new Map<string, number>();
  for (const { arch, cores, memoryBytes } of boards) {
    const kind = `${arch}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 20)} MiB`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return [...kinds].map(([kind, count]) => `${count} x (${kind})`).join(', ');
}
