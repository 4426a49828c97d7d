import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, waitUntil } from '@tidegauge/process';
import { NODE_FLAGS } from '../../../../scripts/setup.js';
import { HttpClient } from '../../drivers/http-client.ts';
import { dropTable } from '../../loading/load-records.ts';
import type { Closers } from '../../targets/closers.ts';
import { seriesOf } from '../combinations.ts';
import type { Combination, Deployment, Place, Study } from '../model.ts';
import { type StoreLevels, storeLevels, urlOptions } from './factors.ts';
import { definePlace, throwRefusal } from './place.ts';
import { PROFILES, STACKS, type StackEntry, versionIn } from './stacks.ts';
import { imageTag, STACK, startStudyStack, TOKEN_SECRET } from './swarm-stack.ts';
import { readSwarm, type SwarmBoard, type SwarmState } from './swarm-state.ts';

const API_PORT = 8080;
const API_READY_MS = 120_000;
/** Tables of the drivers that a swarm can have. */
const TABLES: readonly string[] = ['study_app', 'study_k6'];

/**
 * The swarm of the docker client of this machine (DOCKER_HOST). The user has prepared its boards, images and secrets.
 * Each deployment is a stack, which is removed at its end. The drivers run on this machine and use the API only.
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
      return startDeployment(levels, swarm, closers, signal);
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
  for (const { easy, drivers } of seriesOf(study, hard)) {
    if (drivers.includes('raw')) {
      return 'the store is reachable inside of the swarm only, so there is no driver raw: use driver: app or k6';
    }
    const options = urlOptions(store, hard, easy, study);
    // It is compared with the copies of the stack.
    options.delete('rf');
    if (options.size === 0) continue;
    const names = [...options.keys()].join(', ');
    return `a stack has its STORE URL in a secret, so ${names} cannot be set on a swarm`;
  }
  return null;
}

/** Why a swarm cannot deploy these levels now, or null. Nothing is changed. */
export function refusalOfSwarm(levels: StoreLevels, { boards, stacks, secrets }: SwarmState): string | null {
  if (stacks.includes(STACK) || Object.hasOwn(secrets, TOKEN_SECRET)) {
    return (
      'a study uses this swarm, or one was killed there. If none runs, remove what is left: ' +
      `docker stack rm ${STACK}; docker secret rm ${TOKEN_SECRET}`
    );
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
  if (!entry.isReplicated) return null;
  const secret = `tidegauge_${entry.stack}_store_url`;
  const copies = secrets[secret]?.['tidegauge.copies'];
  if (copies === undefined) {
    return `the copies of ${store} are not known: create the secret ${secret} again, with stacks/bin/secrets ${entry.stack} --copies`;
  }
  if (Number(copies) === (rf ?? 1)) return null;
  return `the secret ${secret} sets ${copies} copies, and rf is ${rf ?? 1}: set rf to ${copies}`;
}

async function startDeployment(
  { store, memory }: StoreLevels,
  swarm: SwarmState,
  closers: Closers,
  signal: AbortSignal,
): Promise<Deployment> {
  const entry = STACKS[store]!;
  const stores = boardsOf(entry, swarm.boards);
  // The API is on another board than the store where there is one, and on the same one in each deployment.
  const front = swarm.boards.find((board) => !stores.includes(board)) ?? stores[0]!;
  const folder = temporaryDirectory('study');
  closers.add(async () => folder.remove());
  const profile = memory === null ? '1gb' : profileOf(memory)!;
  const stack = { stack: entry.stack, profile, board: front };
  const { token, authority } = await startStudyStack(stack, closers, folder.path, signal);
  const url = `https://${front.address}:${API_PORT}`;
  const client = new HttpClient(1, token, authority);
  closers.add(async () => client.close());
  await apiReady(url, client, signal);
  closers.add(async () => {
    for (const table of TABLES) await dropTable(url, client, table);
  });
  const certificate = join(folder.path, 'authority.pem');
  writeFileSync(certificate, authority);
  let closing: Promise<void> | null = null;
  const remote = (role: 'store' | 'api') => (board: SwarmBoard) => ({
    name: role === 'api' ? 'api' : board.name,
    role,
    pids: () => [],
    cgroup: null,
    exporter: null,
    isRemote: true,
  });
  return {
    versions: { [store]: await versionOf(entry) },
    // It is a secret of the swarm.
    storeUrl: async () => null,
    api: async () => ({ url, token, authority: certificate }),
    command: (program, args) => ({
      command: 'env',
      args: [`NODE_EXTRA_CA_CERTS=${certificate}`, process.execPath, ...NODE_FLAGS, program, ...args],
    }),
    nodes: () => [...stores.map(remote('store')), remote('api')(front)],
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

async function versionOf(entry: StackEntry): Promise<string> {
  const tag = await imageTag(entry.service(0));
  const version = versionIn(tag);
  return version === 'unknown' ? tag : version;
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
