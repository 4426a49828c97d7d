import { availableParallelism } from 'node:os';
import type { Deployment, MonitoredNode, NodeUsage } from '../model.ts';
import { type ExporterReading, readExporter } from './exporter.ts';
import {
  type CgroupEvents,
  type Counters,
  cgroupCounters,
  cgroupMemory,
  machineCounters,
  machineMemory,
  machineTime,
  NO_COUNTERS,
  type ProcessTable,
  parseVmstat,
  processCounters,
  processMemory,
  processTable,
  readText,
  reapedSeconds,
  type Vmstat,
} from './proc.ts';
import { type Throttling, throttling } from './throttling.ts';

const SAMPLE_MS = 250;
/** Samples of memory find the processes of a node in a table that is at most as old: a table costs 10 ms of processor time. */
const TABLE_MS = 1000;

/** What the monitor measured of a run. */
export interface Measured {
  readonly seconds: number;
  /** One row for each node of the deployment, and one for the machine: what they used in the turns of the run. */
  readonly nodes: readonly NodeUsage[];
  /** Share of the time in which a node was throttled, of the worst node. null: not known here. */
  readonly throttled: number | null;
  readonly throttledNote: string | null;
  /** Largest step of the wall clock against the monotonic clock, in milliseconds. */
  readonly clockStepMs: number;
  readonly oomKills: number | null;
  readonly swapBytes: number | null;
  /** Processor time that other processes and other guests used, as a share of all processors. null: not known here. */
  readonly foreignCpu: number | null;
  readonly storedBytes: { readonly before: number; readonly after: number } | null;
  readonly roundTripMs: { readonly before: number | null; readonly after: number | null };
  /** Nodes of which nothing can be measured, because they are other machines. */
  readonly unseen: readonly string[];
  /** Joules of meters of all nodes. null: no meter, or not on each node. */
  readonly joules: number | null;
  /** Processors of each node that has an exporter; others have those of this machine. */
  readonly cores: ReadonlyMap<string, number>;
}

interface NodeReading {
  readonly node: MonitoredNode;
  readonly source: NodeUsage['source'];
  readonly counters: Counters;
  readonly events: CgroupEvents | null;
  readonly exporter: ExporterReading | null;
}

interface Reading {
  readonly time: number;
  readonly nodes: readonly NodeReading[];
  readonly machine: Counters;
  readonly vmstat: Vmstat;
  readonly throttling: Throttling;
  readonly busy: { readonly busy: number; readonly stolen: number } | null;
  readonly own: number;
}

/** What was used in the turns of one run. */
interface Usage {
  readonly seconds: number;
  /** In the order of the nodes. */
  readonly nodes: readonly Counters[];
  readonly machine: Counters;
}

/** What is read from a deployment before a round and after it. null: not known here. */
interface DeploymentState {
  readonly storedBytes: number | null;
  readonly roundTripMs: number | null;
}

/**
 * Measures what the nodes of deployments, this machine and its clock do while runs take turns: counters before and after
 * each turn, and samples of memory and clock every 250 ms.
 */
export class Monitor {
  /** Of each run. */
  readonly #deployments: readonly Deployment[];
  readonly #nodesOf: ReadonlyMap<Deployment, ReadonlySet<MonitoredNode>>;
  /** Each once, also one that several deployments share. */
  readonly #nodes: readonly MonitoredNode[];
  readonly #own: () => readonly number[];
  readonly #peaks = new Map<MonitoredNode, number>();
  readonly #least = new Map<MonitoredNode, number>();
  #machinePeak: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #table: ProcessTable = processTable();
  #tableTime = performance.now();
  #offset = 0;
  #step = 0;
  #first: Reading | null = null;
  /** The last reading, before the present turn. */
  #last: Reading | null = null;
  readonly #usages = new Map<number, Usage>();
  #before = new Map<Deployment, DeploymentState>();
  #after: Promise<ReadonlyMap<Deployment, DeploymentState>> | null = null;
  #roundTripAfter = new Map<Deployment, number | null>();

  /**
   * @param deployments of each run; several runs can have the same one
   * @param own ids of the client's processes on this machine
   */
  constructor(deployments: readonly Deployment[], own: () => readonly number[]) {
    this.#deployments = deployments;
    this.#nodesOf = new Map(deployments.map((deployment) => [deployment, new Set(deployment.nodes())]));
    this.#nodes = [...new Set([...this.#nodesOf.values()].flatMap((nodes) => [...nodes]))];
    this.#own = own;
  }

  /** Call it right before the first turn. */
  async start(): Promise<void> {
    for (const deployment of new Set(this.#deployments)) {
      this.#before.set(deployment, {
        storedBytes: await orNull(deployment.storedBytes()),
        roundTripMs: await orNull(deployment.roundTripMs()),
      });
    }
    this.#first = await this.#read();
    this.#last = this.#first;
    this.#offset = clockOffset();
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  /** Call it right after a turn: what was used since the last call belongs to the run with this index. */
  async lap(run: number): Promise<void> {
    const before = this.#last!;
    const after = await this.#read();
    this.#last = after;
    const usage: Usage = {
      seconds: (after.time - before.time) / 1000,
      nodes: after.nodes.map((reading, index) => usageOf(before.nodes[index]!, reading)),
      machine: difference(before.machine, after.machine),
    };
    const known = this.#usages.get(run);
    this.#usages.set(run, known === undefined ? usage : sumOf(known, usage));
  }

  /** Call it after the last turn. When it resolves, other work may use the deployments; no write may be running. */
  async stop(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    if (this.#first === null) throw new TypeError('the monitor was not started');
    this.#sample();
    this.#last = await this.#read();
    const deployments = [...new Set(this.#deployments)];
    for (const deployment of deployments)
      this.#roundTripAfter.set(deployment, await orNull(deployment.roundTripMs()));
    // A server may take long to write its memory to the disk, so the result is awaited later.
    this.#after = Promise.all(
      deployments.map(async (deployment) => {
        const storedBytes = await orNull(deployment.storedBytes());
        return [deployment, { storedBytes, roundTripMs: this.#roundTripAfter.get(deployment)! }] as const;
      }),
    ).then((states) => new Map(states));
    this.#after.catch(() => {});
  }

  /** The result of a run, by its index, after `stop`. Without a lap of it, nothing is known of what it used. */
  async measured(run: number): Promise<Measured> {
    if (this.#after === null) throw new TypeError('the monitor was not stopped');
    const [first, last] = [this.#first!, this.#last!];
    const deployment = this.#deployments[run]!;
    const before = this.#before.get(deployment)!;
    const after = (await this.#after).get(deployment)!;
    const seconds = (last.time - first.time) / 1000;
    const own = this.#nodesOf.get(deployment)!;
    const indexes = [...this.#nodes.keys()].filter((index) => own.has(this.#nodes[index]!));
    const pairs = indexes.map((index): Pair => [first.nodes[index]!, last.nodes[index]!]);
    const slow = throttledShare(pairs, first.throttling, last.throttling, seconds);
    const usage = this.#usages.get(run) ?? null;
    return {
      seconds: usage?.seconds ?? seconds,
      nodes: [
        ...indexes.map((index) => this.#nodeUsage(last.nodes[index]!, usage?.nodes[index] ?? NO_COUNTERS)),
        this.#machine(usage?.machine ?? NO_COUNTERS),
      ],
      throttled: slow.share,
      throttledNote: slow.note,
      clockStepMs: this.#step,
      oomKills: oomKills(pairs, first.vmstat, last.vmstat),
      swapBytes: swapBytes(pairs, first.vmstat, last.vmstat),
      foreignCpu: foreignCpu(first, last, seconds),
      storedBytes:
        before.storedBytes === null || after.storedBytes === null
          ? null
          : { before: before.storedBytes, after: after.storedBytes },
      roundTripMs: { before: before.roundTripMs, after: after.roundTripMs },
      unseen: pairs
        .map(([{ node }]) => node)
        .filter(isUnseen)
        .map(({ name }) => name),
      joules: this.#usages.size > 1 ? null : joulesOf(pairs),
      cores: new Map(
        pairs.flatMap(([, { node, exporter }]) =>
          exporter?.cores ? [[node.name, exporter.cores] as const] : [],
        ),
      ),
    };
  }

  /** Ends the samples without a result. */
  cancel(): void {
    clearInterval(this.#timer ?? undefined);
  }

  async #read(): Promise<Reading> {
    const table = this.#newTable();
    const nodes = await Promise.all(this.#nodes.map((node) => readNode(node, table)));
    const { user, system } = process.cpuUsage();
    const clients = processCounters(this.#own(), table).cpuSeconds ?? 0;
    return {
      time: performance.now(),
      nodes,
      machine: machineCounters(),
      vmstat: parseVmstat(readText('/proc/vmstat') ?? ''),
      throttling: await throttling(),
      busy: machineTime(),
      own: (user + system) / 1e6 + reapedSeconds() + clients,
    };
  }

  #newTable(): ProcessTable {
    this.#table = processTable();
    this.#tableTime = performance.now();
    return this.#table;
  }

  #sample(): void {
    const offset = clockOffset();
    this.#step = Math.max(this.#step, Math.abs(offset - this.#offset));
    this.#offset = offset;
    const isOld = performance.now() - this.#tableTime > TABLE_MS;
    const table = isOld ? this.#newTable() : this.#table;
    for (const node of this.#nodes) {
      const bytes = node.cgroup === null ? processMemory(node.pids(), table) : cgroupMemory(node.cgroup);
      if (bytes === null) continue;
      this.#peaks.set(node, Math.max(bytes, this.#peaks.get(node) ?? 0));
      this.#least.set(node, Math.min(bytes, this.#least.get(node) ?? bytes));
    }
    const used = machineMemory();
    if (used !== null) this.#machinePeak = Math.max(used, this.#machinePeak ?? 0);
  }

  #nodeUsage({ node, source, exporter }: NodeReading, counters: Counters): NodeUsage {
    return {
      node: node.name,
      role: node.role,
      ...counters,
      memoryBytes: this.#peaks.get(node) ?? exporter?.memoryBytes ?? null,
      leastMemoryBytes: this.#least.get(node) ?? null,
      source,
    };
  }

  #machine(counters: Counters): NodeUsage {
    return {
      node: 'machine',
      role: 'machine',
      ...counters,
      memoryBytes: this.#machinePeak,
      source: 'proc',
    };
  }
}

function isUnseen({ isRemote = false, exporter }: MonitoredNode): boolean {
  return isRemote && exporter === null;
}

async function readNode(node: MonitoredNode, table: ProcessTable): Promise<NodeReading> {
  if (node.cgroup !== null) {
    const { throttledSeconds, oomKills: kills, ...counters } = cgroupCounters(node.cgroup, table);
    const events = { throttledSeconds, oomKills: kills };
    return { node, source: 'cgroup', counters, events, exporter: null };
  }
  if (isUnseen(node))
    return { node, source: 'prometheus', counters: NO_COUNTERS, events: null, exporter: null };
  const pids = node.pids();
  if (pids.length > 0 || node.exporter === null) {
    return { node, source: 'proc', counters: processCounters(pids, table), events: null, exporter: null };
  }
  const exporter = await readExporter(node.exporter);
  return { node, source: 'prometheus', counters: exporter ?? NO_COUNTERS, events: null, exporter };
}

/** A counter that has become smaller was reset, because its process was replaced: then nothing is known. */
function difference(before: Counters, after: Counters): Counters {
  return eachCounter((name) => between(before[name], after[name]));
}

/** Readings from different sources cannot be compared. */
function usageOf(before: NodeReading, after: NodeReading): Counters {
  return before.source === after.source ? difference(before.counters, after.counters) : NO_COUNTERS;
}

function sumOf(one: Usage, other: Usage): Usage {
  return {
    seconds: one.seconds + other.seconds,
    nodes: one.nodes.map((counters, index) => sumOfCounters(counters, other.nodes[index]!)),
    machine: sumOfCounters(one.machine, other.machine),
  };
}

function sumOfCounters(one: Counters, other: Counters): Counters {
  return eachCounter((name) => {
    const [first, second] = [one[name], other[name]];
    return first === null || second === null ? null : first + second;
  });
}

function eachCounter(of: (name: keyof Counters) => number | null): Counters {
  return {
    cpuSeconds: of('cpuSeconds'),
    readBytes: of('readBytes'),
    writtenBytes: of('writtenBytes'),
    receivedBytes: of('receivedBytes'),
    sentBytes: of('sentBytes'),
  };
}

function between(before: number | null | undefined, after: number | null | undefined): number | null {
  if (before === null || before === undefined || after === null || after === undefined) return null;
  return after < before ? null : after - before;
}

type Pair = readonly [NodeReading, NodeReading];

function throttledShare(pairs: readonly Pair[], before: Throttling, after: Throttling, seconds: number) {
  const shares: number[] = [];
  for (const [first, last] of pairs) {
    const time = between(first.events?.throttledSeconds, last.events?.throttledSeconds);
    if (time !== null) shares.push(time / seconds);
  }
  const thermal = between(before.thermalSeconds, after.thermalSeconds);
  if (thermal !== null) shares.push(thermal / seconds);
  // The firmware of a Raspberry Pi reports its state only: a limit that is in force counts for the whole run.
  if (after.firmware !== null) shares.push(after.firmware === 0 && before.firmware === 0 ? 0 : 1);
  const note =
    after.firmware !== null && after.firmware !== 0
      ? `vcgencmd get_throttled: 0x${after.firmware.toString(16)}`
      : null;
  return { share: shares.length === 0 ? null : Math.max(...shares), note };
}

function oomKills(pairs: readonly Pair[], before: Vmstat, after: Vmstat): number | null {
  // The machine's counter includes the kills in its control groups.
  const here = between(before.oomKills, after.oomKills);
  const groups = pairs.map(([first, last]) => between(first.events?.oomKills, last.events?.oomKills));
  const elsewhere = pairs.map(([first, last]) => between(first.exporter?.oomKills, last.exporter?.oomKills));
  return total([here ?? total(groups), ...elsewhere]);
}

function swapBytes(pairs: readonly Pair[], before: Vmstat, after: Vmstat): number | null {
  const elsewhere = pairs.map(([first, last]) =>
    between(first.exporter?.swapBytes, last.exporter?.swapBytes),
  );
  return total([between(before.swapBytes, after.swapBytes), ...elsewhere]);
}

function joulesOf(pairs: readonly Pair[]): number | null {
  const nodes = pairs.filter(([, { node }]) => node.role === 'store');
  const joules = nodes.map(([first, last]) => between(first.exporter?.joules, last.exporter?.joules));
  return joules.length === 0 || joules.includes(null) ? null : total(joules);
}

/** The sum of what is known. null: nothing is. */
function total(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

/**
 * Busy and stolen time of this machine, without the nodes on it, the clients, and this process
 * with its ended children. The counters are read
 * one after the other, in units of 10 ms, so the difference can be below 0: it then counts as 0.
 */
function foreignCpu(before: Reading, after: Reading, seconds: number): number | null {
  if (before.busy === null || after.busy === null) return null;
  const used = after.busy.busy + after.busy.stolen - before.busy.busy - before.busy.stolen;
  let own = after.own - before.own;
  for (const [index, last] of after.nodes.entries()) {
    if (last.source === 'prometheus') continue;
    own += between(before.nodes[index]!.counters.cpuSeconds, last.counters.cpuSeconds) ?? 0;
  }
  return Math.max(0, used - own) / (seconds * availableParallelism());
}

/** Wall clock minus monotonic clock, in milliseconds. It changes when the wall clock is set. */
function clockOffset(): number {
  return Date.now() - performance.now();
}

async function orNull<T>(promise: Promise<T | null>): Promise<T | null> {
  return promise.catch(() => null);
}
