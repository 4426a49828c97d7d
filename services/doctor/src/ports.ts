import type { Engine } from './engine.ts';
import { error, type Finding, ok, unknown } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import type { Stack } from './stack.ts';

const LISTEN = '0A';

/**
 * The listening TCP ports with the inodes of their sockets (proc(5), /proc/net/tcp); null when they cannot be read.
 */
export function listeningPorts(files: HostFiles): ReadonlyMap<number, string> | null {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => files.text(path));
  if (tables.every((table) => table === null)) return null;
  const ports = new Map<number, string>();
  for (const row of tables.join('\n').split('\n')) {
    const [, local, , state, , , , , , inode] = row.trim().split(/\s+/);
    if (state === LISTEN) ports.set(Number.parseInt(local!.slice(local!.lastIndexOf(':') + 1), 16), inode!);
  }
  return ports;
}

/** The program that owns a socket; null when this user may not see it. */
export function holderOf(files: HostFiles, inode: string): string | null {
  for (const pid of (files.list('/proc') ?? []).filter((name) => /^\d+$/.test(name))) {
    for (const fd of files.list(`/proc/${pid}/fd`) ?? []) {
      if (files.link(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`) {
        return `${files.text(`/proc/${pid}/comm`)?.trim() ?? 'a process'} (pid ${pid})`;
      }
    }
  }
  return null;
}

export interface PortUse {
  readonly port: number;
  /** The service that will publish it. */
  readonly service: string;
  readonly taken: boolean;
  /** What listens on it now: a container or service with its stack or project, or a program. */
  readonly holder: { readonly name: string; readonly stack: string | null } | null;
}

/** The current use of each port that the stack publishes; null when listening ports cannot be read. */
export function readPorts(files: HostFiles, stack: Stack, engine: Engine | null): readonly PortUse[] | null {
  const listening = listeningPorts(files);
  if (listening === null) return null;
  return stack.services.flatMap(({ name, ports }) =>
    ports.map((port) => {
      const inode = listening.get(port);
      const publisher = engine === null ? null : publisherOf(engine, port, inode !== undefined);
      const program = inode === undefined || publisher !== null ? null : holderOf(files, inode);
      return {
        port,
        service: name,
        taken: inode !== undefined || publisher !== null,
        holder: publisher ?? (program === null ? null : { name: program, stack: null }),
      };
    }),
  );
}

/**
 * The container or service that publishes a port. In ingress mode a service has its port on every board, in host mode
 * on the boards where it runs.
 */
function publisherOf({ containers, swarm }: Engine, port: number, listening: boolean): PortUse['holder'] {
  const services = swarm !== null && 'services' in swarm ? swarm.services : [];
  const service = services.find(({ Spec }) =>
    Spec.EndpointSpec?.Ports?.some(
      ({ PublishedPort, PublishMode }) => PublishedPort === port && (listening || PublishMode === 'ingress'),
    ),
  );
  if (service !== undefined) {
    const { Name, Labels } = service.Spec;
    return { name: `service ${Name}`, stack: Labels?.['com.docker.stack.namespace'] ?? null };
  }
  const container = containers.find(({ Ports }) => Ports.some(({ PublicPort }) => PublicPort === port));
  if (container === undefined) return null;
  const { Names, Labels } = container;
  const stack = Labels['com.docker.stack.namespace'] ?? Labels['com.docker.compose.project'] ?? null;
  return { name: `container ${Names[0]?.replace(/^\//, '') ?? ''}`, stack };
}

/** @param stackName the name of the deployment, whose own services may use its ports */
export function checkPorts(uses: readonly PortUse[] | null, stackName: string): Finding[] {
  if (uses === null) {
    return [
      unknown(
        'ports.free',
        "this container has its own network, so the board's ports are not visible",
        'run it with --network host',
      ),
    ];
  }
  const problems = uses.filter(({ taken, holder }) => taken && holder?.stack !== stackName);
  const free = uses.filter(({ taken }) => !taken).map(({ port }) => port);
  const ours = uses.filter(({ taken, holder }) => taken && holder?.stack === stackName);
  return [
    ...problems.map(({ port, service, holder }) =>
      error(
        'ports.taken',
        `port ${port}, which ${service} publishes, is in use by ${holder?.name ?? 'a program that this user may not see'}`,
        'stop that program, or move it to another port',
      ),
    ),
    ...(free.length === 0 ? [] : [ok('ports.free', `free: ${free.join(', ')}`)]),
    ...(ours.length === 0
      ? []
      : [ok('ports.ours', `in use by ${stackName} itself: ${ours.map(({ port }) => port).join(', ')}`)]),
  ];
}
