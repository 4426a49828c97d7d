import { ProgramError, runProgramSync } from '@tidegauge/process';

const TIMEOUT_MS = 30_000;

/** A board that is ready and takes tasks. */
export interface SwarmBoard {
  readonly id: string;
  /** Its host name. */
  readonly name: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly arch: string;
  readonly cores: number;
  readonly memoryBytes: number;
}

/** What a manager reports about its swarm. */
export interface SwarmState {
  /** The id of the board whose engine answers. */
  readonly here: string;
  /** Boards that are ready, by name. */
  readonly boards: readonly SwarmBoard[];
  /** Names of the stacks of Tidegauge that run, also those with another name. */
  readonly stacks: readonly string[];
  /** Names of all secrets with their labels. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface NodeDocument {
  readonly ID: string;
  readonly Spec: { readonly Labels?: Record<string, string>; readonly Availability: string };
  readonly Status: { readonly State: string; readonly Addr?: string };
  readonly ManagerStatus?: { readonly Addr?: string };
  readonly Description: {
    readonly Hostname: string;
    readonly Platform: { readonly Architecture: string };
    readonly Resources: { readonly NanoCPUs: number; readonly MemoryBytes: number };
  };
}

interface ServiceDocument {
  readonly Spec: {
    readonly Name: string;
    readonly Labels?: Record<string, string>;
    readonly TaskTemplate: {
      readonly ContainerSpec?: { readonly Secrets?: readonly { readonly SecretName: string }[] };
    };
  };
}

interface SecretDocument {
  readonly Spec: { readonly Name: string; readonly Labels?: Record<string, string> };
}

/**
 * Reads the swarm of this machine's docker client (DOCKER_HOST).
 *
 * @throws {Error} when Docker does not answer, or is not a manager of a swarm; the message explains what to do
 */
export function readSwarm(): SwarmState {
  const format = '{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}} {{.Swarm.NodeID}}';
  const [state, isManager, here] = docker(['info', '--format', format]).split(' ') as [
    string,
    string,
    string,
  ];
  if (state !== 'active' || isManager !== 'true') {
    const is = state === 'active' ? 'is not a manager of its swarm' : 'is not in a swarm';
    throw new Error(
      `the Docker engine of DOCKER_HOST ${is}: set DOCKER_HOST to a manager, such as ssh://pi@BOARD`,
    );
  }
  const services = inspected<ServiceDocument>('service');
  const ours = services.filter(({ Spec }) =>
    Spec.TaskTemplate.ContainerSpec?.Secrets?.some(({ SecretName }) => SecretName.startsWith('tidegauge_')),
  );
  return {
    here,
    boards: inspected<NodeDocument>('node')
      .filter(({ Spec, Status }) => Spec.Availability === 'active' && Status.State === 'ready')
      .map(boardOf)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    stacks: [
      ...new Set(ours.map(({ Spec }) => Spec.Labels?.['com.docker.stack.namespace'] ?? Spec.Name)),
    ].toSorted(),
    secrets: Object.fromEntries(
      inspected<SecretDocument>('secret').map(({ Spec }) => [Spec.Name, Spec.Labels ?? {}]),
    ),
  };
}

function boardOf({ ID, Spec, Status, ManagerStatus, Description }: NodeDocument): SwarmBoard {
  const { Hostname, Platform, Resources } = Description;
  // A manager can report 0.0.0.0 as its own address.
  const isKnown = Status.Addr !== undefined && !['', '0.0.0.0'].includes(Status.Addr);
  const address = isKnown ? Status.Addr! : (ManagerStatus?.Addr ?? '').replace(/:\d+$/, '');
  return {
    id: ID,
    name: Hostname,
    address,
    labels: Spec.Labels ?? {},
    arch: Platform.Architecture,
    cores: Resources.NanoCPUs / 1e9,
    memoryBytes: Resources.MemoryBytes,
  };
}

function inspected<T>(kind: 'node' | 'service' | 'secret'): T[] {
  const ids = docker([kind, 'ls', '--quiet']).split('\n').filter(Boolean);
  if (ids.length === 0) return [];
  const lines = docker([kind, 'inspect', '--format', '{{json .}}', ...ids]);
  return lines.split('\n').map((line) => JSON.parse(line) as T);
}

/** The check of a study runs before its first wait, so it is synchronous. */
function docker(args: readonly string[]): string {
  try {
    return runProgramSync('docker', args, { timeoutMs: TIMEOUT_MS }).stdout.trimEnd();
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    if (error.isMissing) throw new Error('there is no docker client on this machine: install docker.io');
    const last = error.stderr.trim().split('\n').at(-1) || error.message;
    throw new Error(`docker ${args[0]} ${args[1]} failed: ${last}: check DOCKER_HOST`);
  }
}
