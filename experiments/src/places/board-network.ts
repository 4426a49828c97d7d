import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Board } from '@tidegauge/lab/docker/boards';
import { pingsFor, startToxiproxy } from '@tidegauge/lab/toxiproxy';
import { Closers } from '@tidegauge/loadtests/targets/closers';
import { launchServer, runProgram } from '@tidegauge/process';
import { NODE_FLAGS } from '../../../scripts/setup.js';
import type { NetworkProfile } from '../model.ts';
import type { NodeCommand } from './container-network.ts';

const ECHO = fileURLToPath(new URL('echo-program.ts', import.meta.url));
const ECHO_PORT = 19_999;
/** The proxies listen on this port and the next ones: that of the echo server first. */
const PROXY_PORT = 20_000;
const READY_MS = 20_000;
/** Docker's overlay networks are VXLAN. */
const VXLAN_PORT = 4789;
/** A link queues data for so long before it drops it. */
const QUEUE_MS = 400;
/** Data that a link passes at once: the time at its rate, and the size of the largest packet at least. */
const BURST_MS = 10;
const BURST_BYTES = 16_384;

/** The container of the store on a board. */
export interface ShapedContainer {
  readonly board: Board;
  /** Process id on this machine. */
  readonly pid: number;
  /** Its address in the network of the store. */
  readonly address: string;
  /** TCP ports on which it serves clients. */
  readonly ports: readonly number[];
}

/**
 * The network of boards with a profile. The kernel delays, loses and limits packets of a board (netem), where it can.
 * Otherwise it limits the rate (tbf) and loses packets of the overlay networks (iptables), and Toxiproxy delays what
 * the store sends to its clients, as a proxy that they do not see. A proxy does not delay what boards of the store
 * send to each other.
 */
export class BoardNetwork {
  readonly #profile: NetworkProfile;
  readonly #find: (board: Board) => Promise<ShapedContainer>;
  readonly #shaped = new Map<Board, { readonly container: ShapedContainer; readonly closers: Closers }>();
  #isProxied = false;

  /** @param find the container of the store on a board */
  constructor(profile: NetworkProfile, find: (board: Board) => Promise<ShapedContainer>) {
    this.#profile = profile;
    this.#find = find;
  }

  /** Gives what a board sends and receives the properties of the profile. */
  async shape(board: Board): Promise<void> {
    const container = await this.#find(board);
    const closers = new Closers();
    this.#shaped.set(board, { container, closers });
    const { delayMs, jitterMs } = this.#profile;
    const isKernel = await shapeLinks(board, this.#profile);
    this.#isProxied = !isKernel && delayMs + jitterMs > 0;
    await startEcho(container, closers);
    if (this.#isProxied) await startProxy(container, this.#profile, closers);
  }

  /** Ends the programs for a board. What its kernel does ends with the board. */
  async release(board: Board): Promise<void> {
    await this.#shaped.get(board)?.closers.close();
    this.#shaped.delete(board);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#shaped.keys()].map((board) => this.release(board)));
  }

  /**
   * The mean round trip of a byte between the client and a board, in milliseconds: of the board where it differs most
   * from the delay of the profile.
   */
  async roundTripMs(client: NodeCommand): Promise<number> {
    const { delayMs } = this.#profile;
    const port = this.#isProxied ? PROXY_PORT : ECHO_PORT;
    const pings = String(pingsFor(this.#profile));
    const times: number[] = [];
    for (const { container } of this.#shaped.values()) {
      const { command, args } = client(ECHO, ['ping', `${container.address}:${port}`, pings]);
      times.push(Number((await runProgram(command, args)).stdout));
    }
    return times.toSorted((a, b) => Math.abs(b - delayMs) - Math.abs(a - delayMs))[0]!;
  }
}

async function startEcho({ board, pid }: ShapedContainer, closers: Closers): Promise<void> {
  const echo = await launchServer({
    name: `echo server on ${board.name}`,
    command: 'nsenter',
    args: [...networkOf(pid), process.execPath, ...NODE_FLAGS, ECHO, 'serve', String(ECHO_PORT)],
    ready: async (log) => log.includes('ready'),
    readyMs: READY_MS,
  });
  closers.add(() => echo.stop());
}

/** Returns whether the kernel has made the whole profile, with the delay. */
async function shapeLinks(board: Board, profile: NetworkProfile): Promise<boolean> {
  const outside = await outsideLink(board);
  try {
    await board.run(['tc', ...qdisc('eth0'), ...netem(profile)]);
  } catch (error) {
    if (!/qdisc kind is unknown/.test((error as Error).message)) throw error;
    await shapeWithoutNetem(board, outside, profile);
    return false;
  }
  // The delay is added once to each round trip: to what the board sends.
  const received = netem({ ...profile, delayMs: 0, jitterMs: 0 });
  await runProgram('tc', [...qdisc(outside), ...received]);
  return true;
}

async function shapeWithoutNetem(
  board: Board,
  outside: string,
  { loss, kilobitsPerSecond }: NetworkProfile,
): Promise<void> {
  if (kilobitsPerSecond !== null) {
    const limit = tokenBucket(kilobitsPerSecond);
    await board.run(['tc', ...qdisc('eth0'), ...limit]);
    await runProgram('tc', [...qdisc(outside), ...limit]);
  }
  if (loss === 0) return;
  for (const chain of [
    ['INPUT', '-i'],
    ['OUTPUT', '-o'],
  ]) {
    const packets = [...chain, 'eth0', '-p', 'udp', '--dport', String(VXLAN_PORT)];
    const drop = ['-m', 'statistic', '--mode', 'random', '--probability', String(loss), '-j', 'DROP'];
    await board.run(['iptables', '--wait', '10', '-I', ...packets, ...drop]);
  }
}

/** Puts a proxy between the ports of a container and its clients. Connections within the container are direct. */
async function startProxy(
  { pid, address, ports }: ShapedContainer,
  { delayMs, jitterMs }: NetworkProfile,
  closers: Closers,
): Promise<void> {
  const toxiproxy = await startToxiproxy(pid);
  closers.add(() => toxiproxy.stop());
  for (const [index, port] of [ECHO_PORT, ...ports].entries()) {
    const listen = PROXY_PORT + index;
    const link = { delayMs, jitterMs, kilobitsPerSecond: null };
    await toxiproxy.addLink(`0.0.0.0:${listen}`, `${address}:${port}`, link);
    if (port === ECHO_PORT) continue;
    const outside = ['!', '-i', 'lo', '-p', 'tcp', '--dport', String(port)];
    await iptables(pid, 'nat', 'PREROUTING', outside, ['REDIRECT', '--to-ports', String(listen)]);
    // Connections that are older than the proxy are direct: their clients must connect again.
    await iptables(pid, 'filter', 'INPUT', outside, ['REJECT', '--reject-with', 'tcp-reset']);
  }
}

/** Adds a rule for packets in the network of a process. */
async function iptables(
  pid: number,
  table: string,
  chain: string,
  packets: readonly string[],
  target: readonly string[],
): Promise<void> {
  const rule = ['--wait', '10', '--table', table, '-A', chain, ...packets, '-j', ...target];
  await runProgram('nsenter', [...networkOf(pid), 'iptables', ...rule]);
}

/** Arguments of nsenter, before a program. */
function networkOf(pid: number): string[] {
  return ['--target', String(pid), '--net'];
}

/** The name on this machine of the other end of a board's link. */
async function outsideLink(board: Board): Promise<string> {
  const index = await board.run(['cat', '/sys/class/net/eth0/iflink']);
  const names = readdirSync('/sys/class/net');
  const name = names.find((each) => readFileSync(`/sys/class/net/${each}/ifindex`, 'utf8').trim() === index);
  if (name === undefined) throw new Error(`${board.name} has no link to this machine`);
  return name;
}

function qdisc(link: string): string[] {
  return ['qdisc', 'replace', 'dev', link, 'root'];
}

/** The arguments of tc that make a profile with netem. */
export function netem({ delayMs, jitterMs, loss, kilobitsPerSecond }: NetworkProfile): string[] {
  return [
    'netem',
    ...(delayMs + jitterMs === 0 ? [] : ['delay', `${delayMs}ms`, `${jitterMs}ms`]),
    ...(loss === 0 ? [] : ['loss', 'random', `${loss * 100}%`]),
    ...(kilobitsPerSecond === null ? [] : ['rate', `${kilobitsPerSecond}kbit`]),
  ];
}

/** The arguments of tc that limit a rate with a token bucket. */
export function tokenBucket(kilobitsPerSecond: number): string[] {
  const burst = Math.max(BURST_BYTES, Math.ceil((kilobitsPerSecond / 8) * BURST_MS));
  return ['tbf', 'rate', `${kilobitsPerSecond}kbit`, 'burst', `${burst}b`, 'latency', `${QUEUE_MS}ms`];
}
