import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Board } from '@tidegauge/lab/docker/boards';
import { StackDeployment } from '@tidegauge/stacks/stack-deployment';
import { containerPid, readInContainer } from './container-network.ts';
import type { StoreLevels } from './factors.ts';
import { profileFor, type StackEntry, UPDATE_SOON, versionIn } from './stacks.ts';

const API = 'tidegauge_api';
const UPDATE_MS = 240_000;
/** The API restarts until its store serves, which takes minutes on a busy machine. */
const WAIT_MS = 900_000;

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

/** The stack of a store on boards: the API and the client on the first one, the store on the others. */
export class BoardStack {
  readonly stack: StackDeployment;
  readonly front: Board;
  readonly stores: readonly Board[];
  readonly #entry: StackEntry;

  private constructor(
    stack: StackDeployment,
    entry: StackEntry,
    [front, ...stores]: readonly [Board, ...Board[]],
  ) {
    this.stack = stack;
    this.front = front;
    this.stores = stores;
    this.#entry = entry;
  }

  /**
   * Deploys the stack on the boards of a swarm, and waits until all its tasks are healthy.
   *
   * @param memory of a board, in bytes
   * @param folder for the override of the stack
   */
  static async deploy(
    entry: StackEntry,
    { nodes, rf }: StoreLevels,
    boards: readonly [Board, ...Board[]],
    memory: number,
    folder: string,
    signal: AbortSignal,
  ): Promise<BoardStack> {
    const override = join(folder, 'override.yml');
    writeFileSync(override, OVERRIDE);
    const [front, ...stores] = boards;
    const { control, joinsInTurn = false } = entry;
    const copies = String(rf ?? nodes);
    const rolesOf = (index: number): string[] => (joinsInTurn && index > 0 ? [] : [entry.role(index)]);
    const stack = await StackDeployment.launch(
      entry.stack,
      [
        {
          board: front,
          roles: control === undefined ? ['broker'] : ['broker', control.role],
          images: control === undefined ? ['tidegauge'] : ['tidegauge', entry.image],
        },
        ...stores.map((board, index) => ({ board, roles: rolesOf(index), images: [entry.image] })),
      ],
      {
        env: {
          ...entry.env,
          ...(entry.copiesVariable === undefined ? {} : { [entry.copiesVariable]: copies }),
        },
        secrets: entry.isReplicated && entry.copiesVariable === undefined ? ['--copies', copies] : [],
        deploy: ['--profile', profileFor(memory)!],
        options: ['-c', override],
        signal,
        waitMs: WAIT_MS,
      },
    );
    const deployed = new BoardStack(stack, entry, boards);
    for (const service of control?.services ?? []) await stack.healthy(service, front);
    for (const [index, board] of stores.entries()) {
      if (joinsInTurn && index > 0) await stack.addRoles(board, [entry.role(index)]);
      await deployed.container(board);
    }
    await stack.settled();
    return deployed;
  }

  /** Waits for the healthy container of the store on a board. Resolves to its id. */
  container(board: Board): Promise<string> {
    return this.stack.healthy(this.#entry.service(this.stores.indexOf(board)), board);
  }

  /** The container of the store on a board, with its address in the network of the store. */
  async storeContainer(
    board: Board,
  ): Promise<{ readonly board: Board; readonly pid: number; readonly address: string }> {
    const container = await this.container(board);
    const format = '{{(index .NetworkSettings.Networks "tidegauge_store").IPAddress}}';
    const address = await board.docker(['inspect', '--format', format, container]);
    return { board, pid: containerPid(board.cgroup, container), address };
  }

  /** The process id on this machine of a container of the first board. */
  async frontPid(service: 'api' | 'study-client'): Promise<number> {
    return containerPid(this.front.cgroup, await this.stack.healthy(service, this.front));
  }

  async storeVersion(): Promise<string> {
    const [board] = this.stores as [Board];
    return versionIn(await board.docker(['exec', await this.container(board), ...this.#entry.version]));
  }

  /** The STORE URL of the API. */
  async storeUrl(): Promise<string> {
    const api = await this.frontPid('api');
    const environment = readFileSync(`/proc/${api}/environ`, 'utf8').split('\0');
    const variable = (name: string): string | undefined =>
      environment.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
    const file = variable('STORE_FILE');
    const url = file === undefined ? variable('STORE') : readInContainer(api, file);
    if (url === undefined) throw new Error('the API of the stack has neither STORE nor STORE_FILE');
    return url;
  }

  /**
   * Gives the API another STORE URL, and waits until it has started again with it.
   *
   * @param name of the secret for the URL, which must not exist
   */
  async setStoreUrl(url: string, name: string): Promise<void> {
    const format =
      '{{range .Spec.TaskTemplate.ContainerSpec.Secrets}}{{.SecretName}} {{.File.Name}}{{"\\n"}}{{end}}';
    const secrets = await this.front.docker(['service', 'inspect', '--format', format, API]);
    const present = /^(\S+) store_url$/m.exec(secrets)?.[1];
    let change = ['--env-add', `STORE=${url}`];
    if (present !== undefined) {
      await this.front.docker(['secret', 'create', name, '-'], { input: url });
      const file = `source=${name},target=store_url,uid=1000,gid=1000,mode=0400`;
      change = ['--secret-rm', present, '--secret-add', file];
    }
    await this.#updateApi(change);
  }

  /** Starts the API again, which then has new connections to the store. */
  restartApi(): Promise<void> {
    return this.#updateApi(['--force']);
  }

  async #updateApi(change: readonly string[]): Promise<void> {
    const update = ['service', 'update', ...UPDATE_SOON, ...change, API];
    await this.front.docker(update, { timeoutMs: UPDATE_MS });
    await this.frontPid('api');
  }
}
