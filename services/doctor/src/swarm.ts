import { allows, expectedLoads, hostname, isUsable, missingLabels } from './boards.ts';
import { DockerError } from './docker-api.ts';
import type { Engine, Swarm, SwarmNode } from './engine.ts';
import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { fits, type Profile, profileFor } from './memory.ts';
import { isDemanding, type MongodbImage } from './processor.ts';
import type { Stack } from './stack.ts';
import { plural, size } from './units.ts';

/** The planned deployment; null for values that were not given or found. */
export interface Plan {
  readonly store: string | null;
  readonly profile: Profile | null;
  readonly stack: Stack | null;
  readonly mongodb: MongodbImage | null;
}

/** Checks the swarm of the engine against the requirements of the stack. */
export function checkSwarm({ info, swarm }: Engine, plan: Plan): Finding[] {
  const { LocalNodeState: state, NodeAddr, Error: why } = info.Swarm;
  if (swarm instanceof DockerError) return [error('swarm.state', swarm.message, swarm.fix)];
  if (state !== 'active') {
    const message = `this board is not part of a swarm (${state}${why === '' ? '' : `: ${why}`})`;
    return [
      error('swarm.state', message, 'run docker swarm init --advertise-addr ADDRESS, or docker swarm join'),
    ];
  }
  if (swarm === null) {
    const fix = 'run the doctor on a manager, or run docker node promote THIS-BOARD';
    return [
      unknown(
        'swarm.state',
        `this board (${NodeAddr}) is a worker, which has no access to the state of the swarm`,
        fix,
      ),
    ];
  }
  return [
    checkManagers(swarm.nodes),
    ...checkNodes(swarm.nodes),
    ...checkEngines(swarm.nodes, info.Swarm.NodeID, plan.mongodb),
    ...(plan.stack === null ? [] : checkStack(swarm, plan.stack, plan)),
  ];
}

function checkManagers(nodes: readonly SwarmNode[]): Finding {
  const check = 'swarm.state';
  const managers = nodes.filter(({ Spec }) => Spec.Role === 'manager').length;
  const message = `${plural(nodes.length, 'board')}, ${plural(managers, 'manager')}`;
  if (managers % 2 === 1) return ok(check, message);
  return warning(
    check,
    `${message}: the swarm loses its quorum when ${managers === 2 ? 'either is' : `${managers / 2} of them are`} down, as with one manager less`,
    nodes.length > managers
      ? 'promote one more: docker node promote BOARD'
      : 'demote one: docker node demote BOARD',
  );
}

function checkNodes(nodes: readonly SwarmNode[]): Finding[] {
  const away = nodes
    .filter((node) => !isUsable(node))
    .map((node) => {
      const { Status, Spec } = node;
      const name = hostname(node);
      if (Status.State !== 'ready') {
        return error(
          'swarm.nodes',
          `${name} (${Status.Addr}) is ${Status.State}`,
          `power it on, or remove it: docker node rm --force ${name}`,
        );
      }
      const fix = `docker node update --availability active ${name}`;
      return warning(
        'swarm.nodes',
        `${name} receives no tasks: its availability is ${Spec.Availability}`,
        fix,
      );
    });
  const usable = nodes.filter(isUsable).map(hostname);
  return usable.length === 0 ? away : [...away, ok('swarm.nodes', `ready: ${usable.join(', ')}`)];
}

function checkEngines(nodes: readonly SwarmNode[], self: string, mongodb: MongodbImage | null): Finding[] {
  const versions = Map.groupBy(nodes, ({ Description }) => Description.Engine.EngineVersion);
  const each = [...versions]
    .map(([version, on]) => `${version} on ${on.map(hostname).join(', ')}`)
    .join('; ');
  const small = nodes.filter(({ Description }) =>
    /^(armv|arm$|i\d86)/.test(Description.Platform.Architecture),
  );
  const needy = mongodb !== null && isDemanding(mongodb, 'aarch64');
  const unreported = nodes.filter(
    ({ ID, Description, Spec }) =>
      ID !== self &&
      Description.Platform.Architecture === 'aarch64' &&
      Spec.Labels?.['tidegauge.mongodb'] !== undefined,
  );
  return [
    versions.size > 1
      ? warning(
          'swarm.engines',
          `engines differ: ${each}`,
          'drain and upgrade the older ones, one board at a time',
        )
      : ok('swarm.engines', `Docker ${each}`),
    ...small.map((node) =>
      error(
        'swarm.architecture',
        `${hostname(node)} runs a 32-bit kernel (${node.Description.Platform.Architecture}): Tidegauge's images do not run there`,
        'flash Raspberry Pi OS Lite (64-bit) and join it again',
      ),
    ),
    ...(needy && unreported.length > 0
      ? [
          unknown(
            'swarm.mongodb',
            `${mongodb.image} needs ARMv8.2, and a swarm does not report the ARM version of ${unreported.map(hostname).join(', ')}`,
            'run the doctor on each of them',
          ),
        ]
      : []),
  ];
}

function checkStack(swarm: Swarm, stack: Stack, { store, profile }: Plan): Finding[] {
  return [
    ...checkLabels(swarm.nodes, stack),
    ...checkSecrets(swarm.secrets, stack, store),
    ...checkMemory(swarm.nodes, stack, profile),
  ];
}

function checkLabels(nodes: readonly SwarmNode[], { services }: Stack): Finding[] {
  const check = 'swarm.labels';
  const missing = missingLabels(nodes, services);
  if (missing.length > 0) {
    return missing.map(({ label, value, services: names, node }) =>
      error(
        check,
        `no ready board has ${label}=${value}, so ${names.join(', ')} would not start`,
        node === null
          ? 'add a board, or make one ready, and label it'
          : `docker node update --label-add ${label}=${value} ${hostname(node)}`,
      ),
    );
  }
  const placed = services
    .filter(({ labels, replicas }) => labels.size > 0 && replicas !== 0)
    .map((service) => ({
      name: service.name,
      boards: nodes.filter((node) => isUsable(node) && allows(node, service)).map(hostname),
    }))
    .filter(({ boards }) => boards.length > 0)
    .map(({ name, boards }) => `${name} on ${boards.join(', ')}`);
  return placed.length === 0 ? [] : [ok(check, placed.join('; '))];
}

function checkSecrets(
  present: readonly string[],
  { secrets, files }: Stack,
  store: string | null,
): Finding[] {
  const check = 'swarm.secrets';
  const missing = secrets.filter((name) => !present.includes(name));
  if (secrets.length === 0) return [];
  if (missing.length === 0) return [ok(check, `all ${secrets.length} exist`)];
  const message = `${missing.length} of ${secrets.length} are missing: ${missing.join(', ')}`;
  const monitoring = files.includes('stacks/monitoring.yml') ? ', stacks/bin/secrets monitoring' : '';
  const fix = `stacks/bin/secrets ${store ?? 'STORE'}${monitoring} (existing ones are kept)`;
  return [error(check, message, fix)];
}

function checkMemory(nodes: readonly SwarmNode[], { services }: Stack, profile: Profile | null): Finding[] {
  const check = 'swarm.memory';
  const findings = expectedLoads(nodes, services).flatMap(({ node, services: names, limit, reserved }) => {
    const { MemoryBytes: memory } = node.Description.Resources;
    const name = hostname(node);
    const board = `${name} (${size(memory)})`;
    const move = `move a label to another board, or deploy with a smaller profile`;
    if (profile !== null && !fits(memory, profile)) {
      const largest = profileFor(memory);
      const fix =
        largest === null ? 'remove it from the swarm' : `deploy with stacks/profiles/${largest}.env`;
      return [error(check, `${board} is too small for the profile ${profile}`, fix)];
    }
    if (reserved > memory) {
      return [error(check, `${board} cannot hold ${names.join(', ')}: they reserve ${size(reserved)}`, move)];
    }
    if (limit > memory) {
      const message = `${board}: ${names.join(', ')} may take ${size(limit)} together; if they do, the kernel kills one of them`;
      return [warning(check, message, move)];
    }
    return names.length === 0 ? [] : [ok(check, `${board}: ${names.join(', ')} take ${size(limit)} at most`)];
  });
  return findings;
}
