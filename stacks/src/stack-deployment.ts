import type { Board } from '@tidegauge/lab/docker/boards';
import { buildImages } from '../images/debian/build.ts';
import type { ImageName } from '../images/debian/images.ts';
import { until } from './until.ts';

const STACK = 'tidegauge';
// The board's disk for data, in the lab.
const DATA = { TIDEGAUGE_DATA: '/mnt' };
/** The authority's directory, on the same disk. */
export const AUTHORITY = { TIDEGAUGE_AUTHORITY: '/mnt/authority' };

/** A board, its roles and its images. */
export interface Place {
  readonly board: Board;
  /** The arguments of stacks/bin/board. */
  readonly roles: readonly string[];
  readonly images: readonly ImageName[];
}

export interface StackOptions {
  /** What is deployed besides the store: `monitoring`, `backup`. */
  readonly parts?: readonly string[];
  /** Variables for stacks/bin/deploy, besides those of the images. TIDEGAUGE_REGISTRY is the one of `buildImages`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further arguments of stacks/bin/secrets, such as `--copies 3`. */
  readonly secrets?: readonly string[];
  /** Further arguments of stacks/bin/deploy, such as `--profile 2gb`. */
  readonly deploy?: readonly string[];
  /** Further options of `docker stack deploy`, such as `-c override.yml`. */
  readonly options?: readonly string[];
  readonly signal?: AbortSignal;
  /** How long tasks may take to start. Default: four minutes. */
  readonly waitMs?: number;
}

export type { ImageName };

/** Parts of what the API of a Docker engine answers. */
interface Service {
  readonly ServiceStatus?: { readonly RunningTasks: number; readonly DesiredTasks: number };
}

interface Task {
  /** Undefined until the swarm has chosen a board. */
  readonly NodeID?: string;
  readonly Status: { readonly State: string };
}

interface SwarmNode {
  readonly ID: string;
  readonly Description: { readonly Hostname: string };
}

interface Container {
  readonly Id: string;
  /** As `docker ps` prints it: `Up 5 seconds (healthy)`. */
  readonly Status: string;
}

/** The stack with one store, on boards of a swarm, deployed as in docs/deploy.md. */
export class StackDeployment {
  /** A manager that runs. Set it before this one is killed. */
  manager: Board;
  readonly boards: readonly Board[];
  protected readonly env: Readonly<Record<string, string>>;
  readonly #store: string;
  #authority: string | null = null;
  readonly #options: StackOptions;

  protected constructor(
    places: readonly Place[],
    store: string,
    options: StackOptions,
    env: Readonly<Record<string, string>>,
  ) {
    this.boards = places.map(({ board }) => board);
    this.manager = this.boards[0]!;
    this.#store = store;
    this.#options = options;
    this.env = env;
  }

  /**
   * Loads images, creates directories, labels and secrets, and deploys, without waiting for the services. The first
   * board is a manager.
   */
  static async launch(
    store: string,
    places: readonly Place[],
    options: StackOptions = {},
  ): Promise<StackDeployment> {
    const env = await prepare(store, places, options);
    const deployment = new StackDeployment(places, store, options, env);
    await deployment.apply();
    return deployment;
  }

  /** Deploys, also again after a change, and waits until every service has all its tasks and they are healthy. */
  async deploy(): Promise<void> {
    await this.apply();
    await this.settled();
  }

  /** Deploys, without waiting for the services. */
  async apply(): Promise<void> {
    const { parts = [], deploy = [], options = [] } = this.#options;
    const command = [
      'stacks/bin/deploy',
      this.#store,
      ...parts,
      ...deploy,
      '--',
      '--resolve-image',
      'never',
      ...options,
    ];
    await this.manager.run(command, { env: this.env });
  }

  async settled(): Promise<void> {
    await this.#until('all tasks of all services', async () => {
      const services = (await this.manager.get('/services?status=true')) as readonly Service[];
      const isComplete = ({ ServiceStatus: status }: Service): boolean =>
        status !== undefined && status.RunningTasks === status.DesiredTasks;
      return services.length > 0 && services.every(isComplete);
    });
  }

  /** Waits, and names the tasks when it takes too long. */
  async #until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
    const { signal, waitMs } = this.#options;
    try {
      return await until(what, look, signal, waitMs);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Error(`${(error as Error).message}\n${await this.tasks()}`, { cause: error });
    }
  }

  /** The tasks, and why some do not run, for error messages. */
  tasks(): Promise<string> {
    const format = '{{.Name}} on {{.Node}}: {{.CurrentState}} {{.Error}}';
    return this.manager.docker(['stack', 'ps', '--no-trunc', '--format', format, STACK]);
  }

  /** Boards that run a service's tasks now. */
  async placesOf(service: string): Promise<Board[]> {
    const filters = filtersOf({ service: [`${STACK}_${service}`], 'desired-state': ['running'] });
    const [tasks, nodes] = (await Promise.all([
      this.manager.get(`/tasks?${filters}`),
      this.manager.get('/nodes'),
    ])) as [readonly Task[], readonly SwarmNode[]];
    const names = new Map(nodes.map(({ ID, Description }) => [ID, Description.Hostname]));
    const running = tasks.filter(({ Status }) => Status.State === 'running');
    return running.map(({ NodeID }) => this.boards.find(({ name }) => name === names.get(NodeID!))!);
  }

  /** Waits for the healthy container of a service on a board. Resolves to its id. */
  healthy(service: string, board: Board): Promise<string> {
    const filters = filtersOf({ name: [`${STACK}_${service}.`], status: ['running'] });
    return this.#until(`a healthy container of ${service} on ${board.name}`, async () => {
      const containers = (await board.get(`/containers/json?${filters}`)) as readonly Container[];
      return containers.find(({ Status }) => !/\((unhealthy|health: starting)\)/.test(Status))?.Id;
    });
  }

  /** Adds the roles of a board, as `stacks/bin/board` does on a board that joins. */
  async addRoles(board: Board, roles: readonly string[]): Promise<void> {
    await addRoles(this.manager, board, roles);
  }

  /** The authority's certificate, PEM. A renewal does not change it. */
  async authority(): Promise<string> {
    this.#authority ??= await this.manager.run(['stacks/bin/secrets', '--ca']);
    return this.#authority;
  }

  async remove(): Promise<void> {
    await this.manager.docker(['stack', 'rm', STACK]);
  }
}

/** Prepares boards and the swarm for a stack. Resolves to the variables for stacks/bin/deploy. */
export async function prepare(
  store: string,
  places: readonly Place[],
  { env = {}, secrets = [], signal }: StackOptions,
): Promise<Record<string, string>> {
  const manager = places[0]!.board;
  const images = await Promise.all(
    places.map(({ board, images: names }) => buildImages(board, names, env.TIDEGAUGE_REGISTRY)),
  );
  signal?.throwIfAborted();
  for (const { board, roles } of places) if (roles.length > 0) await addRoles(manager, board, roles);
  const hosts = places.flatMap(({ board }) => ['--host', board.address]);
  await manager.run(['stacks/bin/secrets', store, ...hosts, ...secrets], { env: AUTHORITY });
  return Object.assign({ ...DATA, ...env }, ...images);
}

async function addRoles(manager: Board, board: Board, roles: readonly string[]): Promise<void> {
  const said = await board.run(['stacks/bin/board', ...roles], { env: DATA });
  const update = /^(?:On a manager|Done): docker (.*)$/m.exec(said)![1]!;
  await manager.docker(update.split(' '));
}

/** The parameter for the lists of an engine. */
function filtersOf(filters: Readonly<Record<string, readonly string[]>>): string {
  return `filters=${encodeURIComponent(JSON.stringify(filters))}`;
}
