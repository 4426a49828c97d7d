import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { runProgramSync } from '@tidegauge/process';
import { identify, isRunning, type ProcessId } from '../processes.ts';
import { endCgroup } from './cgroup.ts';

// A bridge registers a set of boards. Its name claims a number, and with it a subnet. Its alias contains the owner
// process and the folder of the boards, so that another process can clean up after the owner was killed. All calls are
// synchronous, because the last ones run while the process exits.

const LOCK = '/run/lock/tidegauge-boards';
const LOCK_S = 120;
const FORWARD = '/proc/sys/net/ipv4/ip_forward';
// Swarm assigns 10.0.x.0/24 in ascending order. 10.255 is left to the machine.
const FIRST_SUBNET = 128;
const SUBNETS = 96;

/** A bridge that this process created. It owns all network state of the boards outside their processes. */
export interface BoardNetwork {
  readonly bridge: string;
  /** The machine's own address on it. */
  readonly gateway: string;
  /** Address of the nth board, from 1. */
  address(board: number): string;
}

interface Owner {
  readonly process: ProcessId;
  /** Where its boards keep their files. */
  readonly folder: string;
  /** The content of /proc/sys/net/ipv4/ip_forward before the first boards started. */
  readonly forwarded: string;
}

/** Claims a bridge with a free subnet. Its hosts reach each other, this machine and all networks that it reaches. */
export function makeNetwork(folder: string): BoardNetwork {
  return locked(() => {
    removeAbandoned();
    return claimNetwork(folder);
  });
}

function claimNetwork(folder: string): BoardNetwork {
  const others = bridges().flatMap((bridge) => ownerOf(bridge) ?? []);
  const forwarded = others[0]?.forwarded ?? readFileSync(FORWARD, 'utf8').trim();
  const owner: Owner = { process: identify(process.pid)!, folder, forwarded };
  for (let number = 0; number < SUBNETS; number += 1) {
    const bridge = `tgb${number}`;
    if (!claim(bridge)) continue;
    ip('link', 'set', bridge, 'alias', JSON.stringify(owner));
    const network = networkOf(number);
    ip('address', 'add', `${network.gateway}/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    for (const rule of rulesOf(network)) iptables('-I', rule);
    writeFileSync(FORWARD, '1');
    return network;
  }
  throw new Error(
    `all ${SUBNETS} networks for boards are taken: "ip link show type bridge" lists tgb0, tgb1, …`,
  );
}

/** Ends all processes on the boards of a bridge, then removes the network and the files of the boards. */
export function removeNetwork(bridge: string): void {
  const owner = ownerOf(bridge);
  endCgroup(`/${bridge}`);
  const network = networkOf(Number(bridge.slice('tgb'.length)));
  for (const rule of rulesOf(network)) attempt(() => iptables('-D', rule));
  if (owner !== null) rmSync(owner.folder, { recursive: true, force: true });
  // The kernel removes an empty network namespace, and its end of a veth pair, with a delay.
  for (const port of names(`${bridge}.`)) attempt(() => ip('link', 'delete', port));
  // Last, because the bridge is the claim.
  attempt(() => ip('link', 'delete', bridge));
  if (owner?.forwarded === '0' && bridges().length === 0) writeFileSync(FORWARD, '0');
}

/** Disconnects a board from the bridge. */
export function unplug(bridge: string, board: number): void {
  attempt(() => ip('link', 'delete', `${bridge}.${board}`));
}

/**
 * Runs `act` while no other process does so. Otherwise, if two processes remove the same network, one of them could
 * remove a network that a third process has made meanwhile.
 */
function locked<T>(act: () => T): T {
  const file = openSync(LOCK, 'a');
  try {
    // The open file holds the lock, so the lock ends with this process.
    const timeoutMs = (LOCK_S + 10) * 1000;
    runProgramSync('flock', ['--timeout', String(LOCK_S), '3'], { descriptor: file, timeoutMs });
    return act();
  } finally {
    closeSync(file);
  }
}

/** Removes the networks of killed processes. Their boards ended with them. */
function removeAbandoned(): void {
  for (const bridge of bridges()) {
    const owner = ownerOf(bridge);
    if (owner !== null && !isRunning(owner.process)) removeNetwork(bridge);
  }
}

function networkOf(number: number): BoardNetwork {
  const subnet = `10.${FIRST_SUBNET + number}.77`;
  return {
    bridge: `tgb${number}`,
    gateway: `${subnet}.1`,
    address: (board) => `${subnet}.${10 + board}`,
  };
}

/** Firewall rules: the table, then the rule. With br_netfilter, bridged frames also pass the FORWARD chain. */
function rulesOf({ bridge, gateway }: BoardNetwork): string[][] {
  const subnet = `${gateway}/24`;
  return [
    ['filter', 'FORWARD', '-i', bridge, '-j', 'ACCEPT'],
    ['filter', 'FORWARD', '-o', bridge, '-j', 'ACCEPT'],
    ['nat', 'POSTROUTING', '-s', subnet, '!', '-o', bridge, '-j', 'MASQUERADE'],
  ];
}

function bridges(): string[] {
  return names('tgb').filter((name) => /^tgb\d+$/.test(name));
}

/** Names of the network interfaces that start with `prefix`. */
function names(prefix: string): string[] {
  return readdirSync('/sys/class/net').filter((name) => name.startsWith(prefix));
}

/** The owner of a bridge. null: the bridge has just been made, and its alias is not set yet. */
function ownerOf(bridge: string): Owner | null {
  const alias = attempt(() => readFileSync(`/sys/class/net/${bridge}/ifalias`, 'utf8').trim());
  return alias ? (JSON.parse(alias) as Owner) : null;
}

/** Makes a bridge. Returns false if another process has one with this name. */
function claim(bridge: string): boolean {
  try {
    ip('link', 'add', bridge, 'type', 'bridge');
    return true;
  } catch (error) {
    if (bridges().includes(bridge)) return false;
    throw error;
  }
}

const COMMAND_MS = 20_000;

function ip(...args: string[]): void {
  runProgramSync('ip', args, { timeoutMs: COMMAND_MS });
}

function iptables(command: '-I' | '-D', [table, ...rule]: readonly string[]): void {
  runProgramSync('iptables', ['--wait', '10', '--table', table!, command, ...rule], {
    timeoutMs: COMMAND_MS,
  });
}

function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    // The interface, rule or file no longer exists.
    return null;
  }
}
