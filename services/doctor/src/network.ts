import { connect } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { hostname, isUsable } from './boards.ts';
import type { Engine, SwarmNode } from './engine.ts';
import { error, type Finding, ok, unknown, warning } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import type { Stack } from './stack.ts';

/** Bytes that VXLAN adds to a frame. */
const VXLAN = 50;
/**
 * The MTU of the boards' network that Docker assumes when a network does not set one (libnetwork, overlay driver).
 */
const DEFAULT_MTU = 1500;
const MTU_OPTION = 'com.docker.network.driver.mtu';
/** The port of Swarm's gossip protocol, TCP and UDP. */
const GOSSIP = 7946;
const REACH_MS = 2000;

export interface Underlay {
  readonly name: string;
  readonly mtu: number;
}

/** Finds the interface with the address that the swarm uses for this board; null when it is not visible from here. */
export function findUnderlay(
  files: HostFiles,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
  address: string,
): Underlay | null {
  const name = Object.entries(interfaces).find(([, has]) => has?.some((one) => one.address === address))?.[0];
  const mtu = Number(files.text(`/sys/class/net/${name}/mtu`)?.trim() ?? Number.NaN);
  return name === undefined || !Number.isFinite(mtu) ? null : { name, mtu };
}

/** Checks that a full packet of each overlay network, with its VXLAN header, fits the boards' network. */
export function checkMtu(underlay: Underlay | null, engine: Engine, stack: Stack | null): Finding[] {
  const check = 'network.mtu';
  if (underlay === null) {
    const message = `the interface with ${engine.info.Swarm.NodeAddr || 'the address of this board'} is not visible from here`;
    return [
      unknown(
        check,
        `${message}: the MTU of overlay networks was not checked`,
        'in a container, run it with --network host',
      ),
    ];
  }
  const existing = engine.networks
    .filter(({ Driver, Name }) => Driver === 'overlay' && Name !== 'ingress')
    .map(({ Name, Options }) => ({ name: Name, mtu: Number(Options?.[MTU_OPTION] ?? DEFAULT_MTU) }));
  const planned = (stack?.networks ?? []).map(({ name, mtu }) => ({ name, mtu: mtu ?? DEFAULT_MTU }));
  const large = [...existing, ...planned].filter(({ mtu }) => mtu > underlay.mtu);
  const inside = underlay.mtu - VXLAN;
  if (large.length === 0) {
    return [
      ok(
        check,
        `${underlay.name} has MTU ${underlay.mtu}: overlay networks have MTU ${Math.min(inside, DEFAULT_MTU - VXLAN)}`,
      ),
    ];
  }
  return [
    error(
      check,
      `${underlay.name} has MTU ${underlay.mtu}, but ${large.map(({ name, mtu }) => `${name} assumes ${mtu}`).join(', ')}: large packets between boards are lost, and connections hang`,
      `give these networks driver_opts: { ${MTU_OPTION}: '${underlay.mtu}' } (VXLAN uses ${VXLAN} bytes of it), and deploy again`,
    ),
  ];
}

export interface Reach {
  readonly node: SwarmNode;
  /** Null when the board answers; otherwise the reason. */
  readonly why: string | null;
}

/** Connects to the gossip port of every other usable board. */
export function reachBoards(nodes: readonly SwarmNode[], self: string): Promise<Reach[]> {
  const others = nodes.filter((node) => node.ID !== self && isUsable(node));
  return Promise.all(others.map(async (node) => ({ node, why: await knock(node.Status.Addr, GOSSIP) })));
}

function knock(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: REACH_MS });
    const finish = (why: string | null): void => {
      socket.destroy();
      resolve(why);
    };
    socket.on('connect', () => finish(null));
    socket.on('timeout', () => finish(`no answer within ${REACH_MS / 1000} s`));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
  });
}

export function checkReach(reaches: readonly Reach[]): Finding[] {
  const check = 'network.boards';
  const lost = reaches.filter(({ why }) => why !== null);
  if (reaches.length === 0) return [];
  if (lost.length === 0)
    return [
      ok(
        check,
        `${reaches.map(({ node }) => hostname(node)).join(', ')} ${reaches.length === 1 ? 'answers' : 'answer'} on port ${GOSSIP}`,
      ),
    ];
  return lost.map(({ node, why }) =>
    warning(
      check,
      `${hostname(node)} (${node.Status.Addr}) does not answer on port ${GOSSIP}: ${why}`,
      'allow between the boards: TCP 2377, TCP and UDP 7946, UDP 4789',
    ),
  );
}
