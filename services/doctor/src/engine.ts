import { type DockerApi, DockerError } from './docker-api.ts';

/** The fields that are read from the engine (Docker Engine API 1.41, 20.10, and later). */
export interface Info {
  readonly Name: string;
  readonly ServerVersion: string;
  readonly Architecture: string;
  readonly KernelVersion: string;
  readonly MemTotal: number;
  readonly MemoryLimit: boolean;
  readonly Driver: string;
  readonly SystemTime: string;
  readonly Swarm: {
    readonly LocalNodeState: string;
    readonly ControlAvailable: boolean;
    readonly NodeID: string;
    readonly NodeAddr: string;
    readonly Error: string;
  };
}

export interface SwarmNode {
  readonly ID: string;
  readonly Spec: {
    readonly Role: 'manager' | 'worker';
    readonly Availability: 'active' | 'pause' | 'drain';
    readonly Labels?: Readonly<Record<string, string>>;
  };
  readonly Description: {
    readonly Hostname: string;
    readonly Platform: { readonly Architecture: string };
    readonly Resources: { readonly MemoryBytes: number };
    readonly Engine: { readonly EngineVersion: string };
  };
  readonly Status: { readonly State: string; readonly Addr: string };
}

export interface SwarmService {
  readonly Spec: {
    readonly Name: string;
    readonly Labels?: Readonly<Record<string, string>>;
    readonly TaskTemplate: { readonly ContainerSpec?: { readonly Image: string } };
    readonly EndpointSpec?: {
      readonly Ports?: readonly {
        readonly PublishedPort?: number;
        readonly PublishMode: 'host' | 'ingress';
      }[];
    };
  };
}

export interface Container {
  readonly Names: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly Ports: readonly { readonly PublicPort?: number }[];
}

export interface Network {
  readonly Name: string;
  readonly Driver: string;
  readonly Options: Readonly<Record<string, string>> | null;
}

/** The state of an engine and, if it manages one, its swarm. */
export interface Engine {
  readonly info: Info;
  /**
   * The time of `info`: the middle of its request, milliseconds of this machine's clock; and the duration of the
   * request.
   */
  readonly readAt: number;
  readonly tookSeconds: number;
  /** GOARCH of the engine's program: `arm` on a 32-bit system, also with a 64-bit kernel. */
  readonly arch: string;
  readonly networks: readonly Network[];
  readonly containers: readonly Container[];
  /** Null unless this engine manages a swarm; an error when the swarm has no quorum. */
  readonly swarm: Swarm | DockerError | null;
}

export interface Swarm {
  readonly nodes: readonly SwarmNode[];
  readonly services: readonly SwarmService[];
  readonly secrets: readonly string[];
}

/** @throws {DockerError} when the engine does not answer */
export async function readEngine(docker: DockerApi): Promise<Engine> {
  const from = Date.now();
  const info = await docker.get<Info>('/info');
  const took = Date.now() - from;
  const [{ Arch }, networks, containers] = await Promise.all([
    docker.get<{ Arch: string }>('/version'),
    docker.get<Network[]>('/networks'),
    docker.get<Container[]>('/containers/json'),
  ]);
  const swarm = info.Swarm.ControlAvailable ? await readSwarm(docker) : null;
  const time = { readAt: from + took / 2, tookSeconds: took / 1000 };
  return { info, ...time, arch: Arch, networks, containers, swarm };
}

async function readSwarm(docker: DockerApi): Promise<Swarm | DockerError> {
  try {
    const [nodes, services, secrets] = await Promise.all([
      docker.get<SwarmNode[]>('/nodes'),
      docker.get<SwarmService[]>('/services'),
      docker.get<{ Spec: { Name: string } }[]>('/secrets'),
    ]);
    return { nodes, services, secrets: secrets.map(({ Spec }) => Spec.Name) };
  } catch (error) {
    if (!(error instanceof DockerError)) throw error;
    return new DockerError(
      error.message,
      'restart the other managers, or run on this one: docker swarm init --force-new-cluster',
    );
  }
}
