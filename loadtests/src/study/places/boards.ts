import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Board, startBoards } from '@tidegauge/lab/docker/boards';
import { temporaryDirectory } from '@tidegauge/process';
import { StackDeployment } from '@tidegauge/stacks/stack-deployment';
import { NODE_FLAGS } from '../../../../scripts/setup.js';
import type { Closers } from '../../targets/closers.ts';
import type { Combination, Deployment, MonitoredNode, Place, Study } from '../model.ts';
import { containerPid, inNetworkOf, readInContainer } from './container-network.ts';
import { type StoreLevels, storeLevels, urlOptions } from './factors.ts';
import { definePlace, throwRefusal } from './place.ts';
import { profileFor, STACKS, type StackEntry, versionIn } from './stacks.ts';
import { diskUsage } from './stored-bytes.ts';

/** Memory of a board when the study does not set it. */
const BOARD_MEMORY = 2 ** 30;
const API_PORT = 8080;

/** The services that a study of records does not use do not run, and its client has a container for its network. */
const OVERRIDE = `version: '3.8'
services:
  mosquitto: { deploy: { replicas: 0 } }
  ingest: { deploy: { replicas: 0 } }
  broker-metrics: { deploy: { replicas: 0 } }
  api: { deploy: { placement: { constraints: [node.hostname == board-1] } } }
  study-client:
    image: \${TIDEGAUGE_REGISTRY}tidegauge-api:\${TIDEGAUGE_VERSION}
    entrypoint: [node, -e, 'setInterval(() => {}, 1e9)']
    command: []
    init: true
    healthcheck: { disable: true }
    networks: [store]
    deploy:
      endpoint_mode: dnsrr
      placement: { constraints: [node.hostname == board-1] }
      resources: { limits: { memory: 64M }, reservations: { memory: 32M } }
`;

/**
 * Docker engines of the lab as boards, with a new swarm for each deployment. The store runs on as many boards as it has
 * nodes, and the API on one more. The client runs on this machine, in the network of the API's board.
 */
export function boardsPlace(): Place {
  return definePlace({ name: 'boards', refusalOf, start: startStack });
}

function refusalOf(hard: Combination, study: Study): string | null {
  const { store, nodes, rf, memory, network } = storeLevels(hard, study);
  if (!Object.hasOwn(STACKS, store)) {
    return `no stack for boards deploys ${store}: there are ${Object.keys(STACKS).join(', ')}`;
  }
  const { maxNodes, isReplicated } = STACKS[store]!;
  if (nodes > maxNodes)
    return `${store} has at most ${maxNodes} ${maxNodes === 1 ? 'node' : 'nodes'} on boards, not ${nodes}`;
  if (rf !== null && rf > 1 && !isReplicated)
    return `${store} keeps one copy of the data on boards, so rf must be 1`;
  if (rf !== null && rf > nodes) return `rf ${rf} needs ${rf} nodes, and there are ${nodes}`;
  if (memory !== null && profileFor(memory) === null)
    return `a board needs 1GiB or more, not ${memory} bytes`;
  if (network !== null) return 'the network of boards cannot be changed: this needs netem in the kernel';
  return refusalOfOptions(store, hard, {}, study);
}

function refusalOfOptions(store: string, hard: Combination, easy: Combination, study: Study): string | null {
  const options = urlOptions(store, hard, easy, study);
  // The keyspace of the stack has as many copies.
  options.delete('rf');
  if (options.size === 0) return null;
  return `a stack has its STORE URL in a secret, so ${[...options.keys()].join(', ')} cannot be set on boards`;
}

async function startStack(
  hard: Combination,
  study: Study,
  closers: Closers,
  signal: AbortSignal,
): Promise<Deployment> {
  throwRefusal(refusalOf(hard, study));
  const levels = storeLevels(hard, study);
  const { store, nodes, memory } = levels;
  const entry = STACKS[store]!;
  const folder = temporaryDirectory('study');
  closers.add(async () => folder.remove());
  const boards = await startBoards(nodes + 1, { memory: memory ?? BOARD_MEMORY });
  closers.add(() => boards.stop());
  signal.throwIfAborted();
  await boards.swarm();
  const [front, ...stores] = boards.boards as [Board, ...Board[]];
  const stack = await deployStack(entry, levels, front, stores, folder.path, signal);
  const client = containerPid(front.cgroup, await stack.healthy('study-client', front));
  const api = containerPid(front.cgroup, await stack.healthy('api', front));
  const token = readInContainer(api, '/run/secrets/api_token');
  const authority = join(folder.path, 'authority.pem');
  writeFileSync(authority, `${await stack.authority()}\n`);
  const trust = { NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: authority };
  const command = inNetworkOf(client, folder.path, trust, [process.execPath, ...NODE_FLAGS]);
  const url = storeUrlOf(api);
  let closing: Promise<void> | null = null;
  return {
    versions: { [store]: await versionOf(entry, stack, stores[0]!) },
    async storeUrl(_database, easy) {
      // The stack gives Tidegauge's user one database, which the tables of all drivers share.
      const refusal = refusalOfOptions(store, hard, easy, study);
      if (refusal !== null) throw new Error(refusal);
      return url;
    },
    api: async () => ({ url: `https://${front.address}:${API_PORT}`, token, authority }),
    command,
    nodes: () => [...stores.map((board) => nodeOf(board, 'store')), nodeOf(front, 'api')],
    async storedBytes() {
      const sizes = await Promise.all(stores.map(({ disk }) => diskUsage(disk)));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    roundTripMs: async () => null,
    snapshots: null,
    async stop() {
      closing ??= closers.close();
      await closing;
    },
  };
}

async function deployStack(
  entry: StackEntry,
  { nodes, rf, memory }: StoreLevels,
  front: Board,
  stores: readonly Board[],
  folder: string,
  signal: AbortSignal,
): Promise<StackDeployment> {
  const override = join(folder, 'override.yml');
  writeFileSync(override, OVERRIDE);
  const [first, ...others] = stores as [Board, ...Board[]];
  const images = entry.image;
  const stack = await StackDeployment.launch(
    entry.stack,
    [
      { board: front, roles: ['broker'], images: ['tidegauge'] },
      { board: first, roles: [entry.role(0)], images: [images] },
      ...others.map((board) => ({ board, roles: [], images: [images] })),
    ],
    {
      env: entry.env ?? {},
      secrets: entry.isReplicated ? ['--copies', String(rf ?? nodes)] : [],
      deploy: ['--profile', profileFor(memory ?? BOARD_MEMORY)!],
      options: ['-c', override],
      signal,
    },
  );
  await stack.healthy(entry.service(0), first);
  // One after the other: a node must have its part of the data before the next one joins.
  for (const [index, board] of others.entries()) {
    await stack.addRoles(board, [entry.role(index + 1)]);
    await stack.healthy(entry.service(index + 1), board);
  }
  await stack.settled();
  return stack;
}

/** The STORE URL of the API's container. */
function storeUrlOf(api: number): string {
  const environment = readFileSync(`/proc/${api}/environ`, 'utf8').split('\0');
  const variable = (name: string): string | undefined =>
    environment.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
  const file = variable('STORE_FILE');
  const url = file === undefined ? variable('STORE') : readInContainer(api, file);
  if (url === undefined) throw new Error('the API of the stack has neither STORE nor STORE_FILE');
  return url;
}

async function versionOf(
  { service, version }: StackEntry,
  stack: StackDeployment,
  board: Board,
): Promise<string> {
  const container = await stack.healthy(service(0), board);
  return versionIn(await board.docker(['exec', container, ...version]));
}

function nodeOf(board: Board, role: 'store' | 'api'): MonitoredNode {
  const pids = (): number[] =>
    globSync(`${board.cgroup}/{,**/}cgroup.procs`).flatMap((file) => readPids(file));
  return { name: board.name, role, pids, cgroup: board.cgroup, exporter: null };
}

function readPids(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // The container has ended.
    return [];
  }
}
