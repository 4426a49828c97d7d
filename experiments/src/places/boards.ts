import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskUsage } from '@tidegauge/lab/disk-usage';
import { type Board, startBoards } from '@tidegauge/lab/docker/boards';
import type { NodeFault } from '@tidegauge/lab/stores';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { temporaryDirectory } from '@tidegauge/process';
import { NODE_FLAGS } from '../../../scripts/setup.js';
import type { Combination, Deployment, MonitoredNode, Place, Study } from '../model.ts';
import { cgroupPids } from '../trial/proc.ts';
import { BoardNetwork } from './board-network.ts';
import { BoardStack } from './board-stack.ts';
import { inNetworkOf, readInContainer } from './container-network.ts';
import { checkOptions, storeLevels, urlOptions, withOptions } from './factors.ts';
import { faultsOf } from './faults.ts';
import { definePlace, restoreRefusal, throwRefusal } from './place.ts';
import { profileFor, STACKS, stackFor } from './stacks.ts';

/** Memory of a board when the study does not set it. */
const BOARD_MEMORY = 2 ** 30;
const API_PORT = 8080;

/**
 * Docker engines of the lab as boards, with a new swarm for each deployment. The store runs on as many boards as it has
 * nodes, and the API on one more. The client runs on this machine, in the network of the API's board.
 */
export function boardsPlace(): Place {
  return definePlace({ name: 'boards', refusalOf, start: startStack });
}

function refusalOf(hard: Combination, study: Study): string | null {
  const { store, nodes, rf, memory } = storeLevels(hard, study);
  const entry = stackFor(store, nodes);
  if (entry === null) {
    return `boards of the lab cannot run ${store}: they have images of ${Object.keys(STACKS).join(', ')}`;
  }
  const { maxNodes, isReplicated } = entry;
  if (nodes > maxNodes)
    return `${store} has at most ${maxNodes} ${maxNodes === 1 ? 'node' : 'nodes'} on boards, not ${nodes}`;
  if (rf !== null && rf > 1 && !isReplicated)
    return `${store} keeps one copy of the data on ${nodes === 1 ? 'one board' : 'boards'}, so rf must be 1`;
  if (rf !== null && rf > nodes) return `rf ${rf} needs ${rf} nodes, and there are ${nodes}`;
  if (memory !== null && profileFor(memory) === null)
    return `a board needs 1GiB or more, not ${memory} bytes`;
  return restoreRefusal(study, 'a stack on boards');
}

async function startStack(
  hard: Combination,
  study: Study,
  closers: Closers,
  signal: AbortSignal,
): Promise<Deployment> {
  throwRefusal(refusalOf(hard, study));
  const levels = storeLevels(hard, study);
  const { store, nodes } = levels;
  const memory = levels.memory ?? BOARD_MEMORY;
  const entry = stackFor(store, nodes)!;
  const optionsOf = async (easy: Combination): Promise<Map<string, string>> => {
    const options = urlOptions(store, hard, easy, study);
    // The keyspace of the stack has as many copies.
    options.delete('rf');
    await checkOptions(store, options);
    return options;
  };
  await optionsOf({});
  const folder = temporaryDirectory('study');
  closers.add(async () => folder.remove());
  const boards = await startBoards(nodes + 1, { memory });
  closers.add(() => boards.stop());
  signal.throwIfAborted();
  await boards.swarm();
  const places = boards.boards as [Board, ...Board[]];
  const stack = await BoardStack.deploy(entry, levels, places, memory, folder.path, signal);
  const { front, stores } = stack;
  const token = readInContainer(await stack.frontPid('api'), '/run/secrets/api_token');
  const authority = join(folder.path, 'authority.pem');
  writeFileSync(authority, `${await stack.stack.authority()}\n`);
  const trust = { NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: authority };
  const client = await stack.frontPid('study-client');
  const command = inNetworkOf(client, folder.path, trust, [process.execPath, ...NODE_FLAGS]);
  const network =
    levels.network === null
      ? null
      : new BoardNetwork(levels.network, async (board) => ({
          ...(await stack.storeContainer(board)),
          ports: entry.ports,
        }));
  closers.add(async () => network?.stop());
  for (const board of stores) await network?.shape(board);
  // A proxy has reset its connections, so its first requests would fail.
  if (network !== null) await stack.restartApi();
  const url = await stack.storeUrl();
  let ofApi = Promise.resolve(url);
  let updates = 0;
  const giveApi = async (storeUrl: string, former: string): Promise<string> => {
    if (storeUrl === former) return former;
    updates += 1;
    await stack.setStoreUrl(storeUrl, `study_store_url_${updates}`);
    return storeUrl;
  };
  let closing: Promise<void> | null = null;
  return {
    versions: { [store]: await stack.storeVersion() },
    // The stack gives Tidegauge's user one database, which the tables of all drivers share.
    storeUrl: async (_database, easy) => withOptions(url, await optionsOf(easy)),
    async api(storeUrl) {
      if (storeUrl === null) throw new TypeError('the stack has a STORE URL');
      ofApi = ofApi.then((former) => giveApi(storeUrl, former));
      await ofApi;
      return { url: `https://${front.address}:${API_PORT}`, token, authority };
    },
    command,
    nodes: () => [...stores.map((board) => nodeOf(board, 'store')), nodeOf(front, 'api')],
    async storedBytes() {
      const sizes = await Promise.all(stores.map(({ disk }) => diskUsage(disk)));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    roundTripMs: async () => network?.roundTripMs(command) ?? null,
    snapshots: null,
    ...faultsOf(new Map(stores.map((board) => [board.name, powerOf(board, stack, network)]))),
    async stop() {
      closing ??= closers.close();
      await closing;
    },
  };
}

/** A board that loses its power, with its Docker engine, and gets it back. */
function powerOf(board: Board, stack: BoardStack, network: BoardNetwork | null): NodeFault {
  return {
    async kill() {
      await board.kill();
      await network?.release(board);
    },
    async restart() {
      await board.start();
      await stack.container(board);
      await network?.shape(board);
    },
  };
}

function nodeOf(board: Board, role: 'store' | 'api'): MonitoredNode {
  return {
    name: board.name,
    role,
    pids: () => cgroupPids(board.cgroup),
    cgroup: board.cgroup,
    exporter: null,
  };
}
