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
  parseVmstat,
  processCounters,
  processMemory,
  readText,
  reapedSeconds,
  type Vmstat,
} from './proc.ts';
import { type Throttling, throttling } from './throttling.ts';

const SAMPLE_MS = 250;

/** What the monitor measured of a run. */
export interface Measured {
  readonly seconds: number;
  /** One row for each node, and one for the machine. */
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

/**
 * Measures what the nodes of a deployment, this machine and its clock do during a run: counters before and after, and
 * samples of memory and clock every 250 ms.
 */
export class Monitor {
  readonly #deployment: Deployment;
  readonly #nodes: readonly MonitoredNode[];
  readonly #own: () => readonly number[];
  readonly #peaks = new Map<string, number>();
  #machinePeak: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #offset = 0;
  #step = 0;
  #before: Reading | null = null;
  #stored: number | null = null;
  #roundTrip: number | null = null;
  #after: Promise<Measured> | null = null;

  /** @param own ids of the client's processes on this machine */
  constructor(deployment: Deployment, own: () => readonly number[]) {
    this.#deployment = deployment;
    this.#nodes = deployment.nodes();
    this.#own = own;
  }

  /** Call it right before the run. */
  async start(): Promise<void> {
    this.#stored = await orNull(this.#deployment.storedBytes());
    this.#roundTrip = await orNull(this.#deployment.roundTripMs());
    this.#before = await this.#read();
    this.#offset = clockOffset();
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  /** Call it right after the run. When it resolves, other work may use the deployment; no write may be running. */
  async stop(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    const before = this.#before;
    if (before === null) throw new TypeError('the monitor was not started');
    this.#sample();
    const after = await this.#read();
    const roundTrip = await orNull(this.#deployment.roundTripMs());
    // A server may take long to write its memory to the disk, so the result is awaited later.
    this.#after = orNull(this.#deployment.storedBytes()).then((stored) =>
      this.#compare(before, after, roundTrip, stored),
    );
    this.#after.catch(() => {});
  }

  /** The result, after `stop`. */
  async measured(): Promise<Measured> {
    if (this.#after === null) throw new TypeError('the monitor was not stopped');
    return this.#after;
  }

  #compare(
    before: Reading,
    after: Reading,
    roundTripAfter: number | null,
    storedAfter: number | null,
  ): Measured {
    const seconds = (after.time - before.time) / 1000;
    const pairs = after.nodes.map((reading, index) => [before.nodes[index]!, reading] as const);
    const slow = throttledShare(pairs, before.throttling, after.throttling, seconds);
    return {
      seconds,
      nodes: [...pairs.map((pair) => this.#usage(...pair)), this.#machine(before, after)],
      throttled: slow.share,
      throttledNote: slow.note,
      clockStepMs: this.#step,
      oomKills: oomKills(pairs, before.vmstat, after.vmstat),
      swapBytes: swapBytes(pairs, before.vmstat, after.vmstat),
      foreignCpu: foreignCpu(before, after, seconds),
      storedBytes:
        this.#stored === null || storedAfter === null ? null : { before: this.#stored, after: storedAfter },
      roundTripMs: { before: this.#roundTrip, after: roundTripAfter },
      unseen: this.#nodes.filter(isUnseen).map(({ name }) => name),
      joules: joulesOf(pairs),
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
    const nodes = await Promise.all(this.#nodes.map(readNode));
    const { user, system } = process.cpuUsage();
    const clients = processCounters(this.#own()).cpuSeconds ?? 0;
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

  #sample(): void {
    const offset = clockOffset();
    this.#step = Math.max(this.#step, Math.abs(offset - this.#offset));
    this.#offset = offset;
    for (const node of this.#nodes) {
      const bytes = node.cgroup === null ? processMemory(node.pids()) : cgroupMemory(node.cgroup);
      if (bytes !== null) this.#peaks.set(node.name, Math.max(bytes, this.#peaks.get(node.name) ?? 0));
    }
    const used = machineMemory();
    if (used !== null) this.#machinePeak = Math.max(used, this.#machinePeak ?? 0);
  }

  #usage(before: NodeReading, after: NodeReading): NodeUsage {
    const { node, source } = after;
    const comparable = before.source === source;
    return {
      node: node.name,
      role: node.role,
      ...(comparable ? difference(before.counters, after.counters) : NO_COUNTERS),
      memoryBytes: this.#peaks.get(node.name) ?? after.exporter?.memoryBytes ?? null,
      source,
    };
  }

  #machine(before: Reading, after: Reading): NodeUsage {
    return {
      node: 'machine',
      role: 'machine',
      ...difference(before.machine, after.machine),
      memoryBytes: this.#machinePeak,
      source: 'proc',
    };
  }
}

function isUnseen({ isRemote = false, exporter }: MonitoredNode): boolean {
  return isRemote && exporter === null;
}

async function readNode(node: MonitoredNode): Promise<NodeReading> {
  if (node.cgroup !== null) {
    const { throttledSeconds, oomKills: kills, ...counters } = cgroupCounters(node.cgroup);
    const events = { throttledSeconds, oomKills: kills };
    return { node, source: 'cgroup', counters, events, exporter: null };
  }
  if (isUnseen(node))
    return { node, source: 'prometheus', counters: NO_COUNTERS, events: null, exporter: null };
  const pids = node.pids();
  if (pids.length > 0 || node.exporter === null) {
    return { node, source: 'proc', counters: processCounters(pids), events: null, exporter: null };
  }
  const exporter = await readExporter(node.exporter);
  return { node, source: 'prometheus', counters: exporter ?? NO_COUNTERS, events: null, exporter };
}

/** A counter that has become smaller was reset, because its process was replaced: then nothing is known. */
function difference(before: Counters, after: Counters): Counters {
  const of = (name: keyof Counters): number | null => between(before[name], after[name]);
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
