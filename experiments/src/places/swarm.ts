import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpClient, refusalIn } from '@tidegauge/loadtests/drivers/http-client';
import { dropTable } from '@tidegauge/loadtests/loading/load-records';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { runProgram, temporaryDirectory, waitUntil } from '@tidegauge/process';
import type { Combination, Deployment, Place, Study } from '../model.ts';
import {
  checkOptions,
  type StoreLevels,
  storeLevels,
  urlOptions,
  withDatabase,
  withOptions,
} from './factors.ts';
import { definePlace, restoreRefusal, throwRefusal } from './place.ts';
import { PROFILES, STACKS, type StackEntry, stackFor, versionIn } from './stacks.ts';
import { openStudyClient, type StudyClient } from './swarm-client.ts';
import { SwarmExporters } from './swarm-exporters.ts';
import { ApiStore, CLIENT, environmentOf, imageTag, STACK, startStudyStack } from './swarm-stack.ts';
import { readSwarm, type SwarmBoard, type SwarmState } from './swarm-state.ts';

const API_PORT = 8080;
/** In the network of the store: a published port of the same board would add a proxy of Docker. */
const API_NEAR = `https://tasks.api:${API_PORT}`;
const API_READY_MS = 120_000;
/** The keyspace of a study, where its number of copies is a property of a keyspace. */
const KEYSPACE = 'tidegauge_study';
const KEYSPACE_PROGRAM = fileURLToPath(new URL('./keyspace-program.ts', import.meta.url));
/** Each statement waits until all nodes have the schema. */
const KEYSPACE_MS = 300_000;

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
  const { store, nodes, rf, memory, network } = storeLevels(hard, study);
  const entry = stackFor(store, nodes);
  if (entry === null) return `no stack deploys ${store}: there are ${Object.keys(STACKS).join(', ')}`;
  if (rf !== null && rf > 1 && !entry.isReplicated) {
    return `${store} keeps one copy of the data${nodes > 1 ? '' : ' on one board'}, so rf must be 1`;
  }
  if (rf !== null && rf > nodes) return `rf ${rf} needs ${rf} nodes, and there are ${nodes}`;
  if (memory !== null && profileOf(memory) === null) {
    const sizes = PROFILES.map(([gibibytes]) => `${gibibytes}GiB`).toReversed();
    return `memory selects a profile of stacks/profiles: use none, ${sizes.join(', ')}`;
  }
  if (network !== null) return 'the network of a swarm is not changed: use the level none';
  return restoreRefusal(study, 'a stack on a swarm');
}

/** Why a swarm cannot deploy these levels now, or null. Nothing is changed. */
export function refusalOfSwarm(levels: StoreLevels, swarm: SwarmState): string | null {
  return refusalOfStacks(swarm) ?? refusalOfBoards(levels, swarm);
}

/** Another stack or study would use the same swarm. */
function refusalOfStacks({ stacks, secrets }: SwarmState): string | null {
  const left = Object.keys(secrets).filter((name) => name.startsWith(`${STACK}-`));
  if (stacks.includes(STACK) || left.length > 0) {
    const remove = left.length === 0 ? '' : `; docker secret rm ${left.join(' ')}`;
    return `a study uses this swarm, or one was killed there. If none runs, remove what is left: docker stack rm ${STACK}${remove}`;
  }
  if (stacks.length === 0) return null;
  return `the stack ${stacks.join(', ')} runs in this swarm and uses the same data and ports: choose another swarm, or remove it with docker stack rm`;
}

/** The boards do not have the store, or the drivers would run beside it. */
function refusalOfBoards({ store, nodes }: StoreLevels, { here, boards }: SwarmState): string | null {
  const entry = stackFor(store, nodes)!;
  const label = labelOf(entry.role(0));
  const stores = boardsOf(entry, boards);
  const count = stores.length;
  const control = entry.control?.role;
  const hasControl = control === undefined || boards.some(hasRole(control));
  if (count === 0 || !hasControl) {
    const missing = count === 0 ? label : `tidegauge.${control}`;
    return `no ready board has the label ${missing}: prepare one with stacks/bin/board (docs/deploy.md, section 4)`;
  }
  if (count !== nodes) {
    const are = count === 1 ? 'ready board has' : 'ready boards have';
    return `${count} ${are} the label ${label}, and nodes is ${nodes}: set nodes to ${count}, or change the labels`;
  }
  const front = boards.find(({ id }) => id === here);
  if (front === undefined) {
    return 'the drivers run on the board of DOCKER_HOST, which takes no tasks: docker node update --availability active BOARD, or set DOCKER_HOST to another manager';
  }
  const free = boards.find((board) => !stores.includes(board));
  if (free !== undefined && stores.includes(front)) {
    return `the drivers run on the board of DOCKER_HOST, ${front.name}, which has the store, and ${free.name} has not: set DOCKER_HOST to ${free.name}, after docker node promote ${free.name} if it is not a manager`;
  }
  return null;
}

async function startDeployment(
  { store, nodes, rf, memory }: StoreLevels,
  hard: Combination,
  study: Study,
  swarm: SwarmState,
  closers: Closers,
  signal: AbortSignal,
): Promise<Deployment> {
  const entry = stackFor(store, nodes)!;
  const { adminSecret = null, copiesVariable } = entry;
  const copies = String(rf ?? 1);
  const optionsOf = async (easy: Combination): Promise<ReadonlyMap<string, string>> => {
    const options = urlOptions(store, hard, easy, study);
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
  const env: Record<string, string> = copiesVariable === undefined ? {} : { [copiesVariable]: copies };
  const stack = { stack: entry.stack, profile, board: front, storeSecret, adminSecret, env };
  const { token, authority } = await startStudyStack(stack, closers, folder.path, signal);
  const url = `https://${front.address}:${API_PORT}`;
  const client = new HttpClient(1, token, { authority });
  closers.add(async () => client.close());
  await apiReady(url, client, signal);
  const drivers = await openStudyClient(`${STACK}_${CLIENT}`);
  const stackUrl = await storeUrlOf(storeSecret, drivers);
  const apiStore = new ApiStore(stackUrl);
  const studyUrl = adminSecret === null ? stackUrl : withDatabase(stackUrl, KEYSPACE);
  const exporters = new SwarmExporters(drivers);
  const others = stores.includes(front) ? [] : [front];
  const measured = await exporters.ready(
    [...stores, ...others].map(({ name }) => name),
    signal,
  );
  const tables = new Set<string>();
  if (adminSecret === null) {
    closers.add(async () => {
      for (const table of tables) await dropTable(url, client, table);
    });
  } else {
    const keyspace = async (...args: readonly string[]): Promise<void> => {
      const { command, args: all } = drivers.command(KEYSPACE_PROGRAM, args);
      await runProgram(command, all, { what: `${args[0]} the keyspace ${KEYSPACE}`, timeoutMs: KEYSPACE_MS });
    };
    closers.add(() => keyspace('drop', KEYSPACE));
    await keyspace('create', KEYSPACE, copies);
  }
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
    // All drivers share one database or keyspace, as Tidegauge's user has rights in that only.
    storeUrl: async (_database, easy) => withOptions(studyUrl, await optionsOf(easy)),
    tableMade: (table) => void tables.add(table),
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
      const answer = await client.send('GET', `${url}/v1/devices?limit=1`);
      last = refusalIn(answer);
      return answer.status === 200;
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

/** The name of the label that `stacks/bin/board` gives for a role. */
function labelOf(role: string): string {
  return `tidegauge.${role.split('=')[0]}`;
}

/** Selects the boards with the label of a role. */
function hasRole(role: string): (board: SwarmBoard) => boolean {
  const value = role.split('=')[1] ?? 'true';
  return ({ labels }) => labels[labelOf(role)] === value;
}

/** The boards of a store's nodes. The first one can have another role than the others. */
function boardsOf({ role }: StackEntry, boards: readonly SwarmBoard[]): readonly SwarmBoard[] {
  const [isFirst, isOther] = [hasRole(role(0)), hasRole(role(1))];
  return boards.filter((board) => isFirst(board) || isOther(board));
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
