import type { SwarmNode } from './engine.ts';
import type { StackService } from './stack.ts';

/** Whether the scheduler assigns new tasks to a node. */
export function isUsable({ Status, Spec }: SwarmNode): boolean {
  return Status.State === 'ready' && Spec.Availability === 'active';
}

export function hostname(node: SwarmNode): string {
  return node.Description.Hostname;
}

/** Whether a node has the labels that a service requires. */
export function allows(node: SwarmNode, { labels }: StackService): boolean {
  return [...labels].every(([label, value]) => node.Spec.Labels?.[label] === value);
}

export interface Load {
  readonly node: SwarmNode;
  readonly services: readonly string[];
  readonly limit: number;
  readonly reserved: number;
}

/**
 * The expected load of each usable node: the services that its labels select, and on a swarm of one board all others
 * too. Tasks of one service are spread evenly, as the scheduler does.
 */
export function expectedLoads(nodes: readonly SwarmNode[], services: readonly StackService[]): Load[] {
  const usable = nodes.filter(isUsable);
  const alone = usable.length === 1;
  return usable.map((node) => {
    const shares = services
      .filter((service) => (alone || service.labels.size > 0) && allows(node, service))
      .map((service) => {
        const able = usable.filter((other) => allows(other, service)).length;
        return { service, tasks: service.replicas === null ? 1 : Math.ceil(service.replicas / able) };
      })
      .filter(({ tasks }) => tasks > 0);
    const sum = (amount: (service: StackService) => number | null): number =>
      shares.reduce((total, { service, tasks }) => total + tasks * (amount(service) ?? 0), 0);
    return {
      node,
      services: shares.map(({ service }) => service.name),
      limit: sum(({ limit }) => limit),
      reserved: sum(({ reserved }) => reserved),
    };
  });
}

/** A label that a service requires and no usable node has, and the node that suits it best. */
export interface MissingLabel {
  readonly label: string;
  readonly value: string;
  readonly services: readonly string[];
  readonly node: SwarmNode | null;
}

/**
 * Assigns each missing label to a different node while there are any. Nodes with the most memory and the fewest
 * services come first.
 */
export function missingLabels(
  nodes: readonly SwarmNode[],
  services: readonly StackService[],
): MissingLabel[] {
  const usable = nodes.filter(isUsable);
  const wanted = new Map<string, { label: string; value: string; services: string[] }>();
  for (const { name, labels, replicas, optional } of services) {
    if (replicas === 0 || optional) continue;
    for (const [label, value] of labels) {
      if (usable.some((node) => node.Spec.Labels?.[label] === value)) continue;
      const key = `${label}=${value}`;
      const entry = wanted.get(key) ?? { label, value, services: [] };
      entry.services.push(name);
      wanted.set(key, entry);
    }
  }
  const work = new Map(
    usable.map((node) => [
      node,
      expectedLoads(nodes, services).find((load) => load.node === node)!.services.length,
    ]),
  );
  return [...wanted.values()].map((missing) => {
    // A node has one value per label, so a new value would replace an existing one.
    const candidates = usable.filter(
      (node) => node.Spec.Labels?.[missing.label] === undefined || usable.length === 1,
    );
    const [node = null] = candidates.toSorted(
      (a, b) =>
        work.get(a)! - work.get(b)! ||
        b.Description.Resources.MemoryBytes - a.Description.Resources.MemoryBytes ||
        hostname(a).localeCompare(hostname(b)),
    );
    if (node !== null) work.set(node, work.get(node)! + 1);
    return { ...missing, node };
  });
}
