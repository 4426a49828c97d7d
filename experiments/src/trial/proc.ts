import { globSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

// Readers of /proc and of control groups. Each returns null for what does not exist here, so that a run on another
// system, or on a machine without a file, gets no wrong figure.

/** Linux reports processor times of processes in this unit on all architectures (`USER_HZ`). */
const TICKS_PER_SECOND = 100;
const SECTOR_BYTES = 512;
const PAGE_BYTES = 4096;

/** What is counted since the start of a process or a machine. null: not known here. */
export interface Counters {
  readonly cpuSeconds: number | null;
  readonly readBytes: number | null;
  readonly writtenBytes: number | null;
  readonly receivedBytes: number | null;
  readonly sentBytes: number | null;
}

export const NO_COUNTERS: Counters = {
  cpuSeconds: null,
  readBytes: null,
  writtenBytes: null,
  receivedBytes: null,
  sentBytes: null,
};

/** The text of a file, or null. */
export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** `name value` lines, as in /proc/vmstat, cpu.stat and memory.stat. A colon after the name is dropped. */
export function keyedNumbers(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [name, value] = line.trim().split(/\s+/);
    if (name !== undefined && value !== undefined) values.set(name.replace(/:$/, ''), Number(value));
  }
  return values;
}

export interface ProcessStat {
  readonly parent: number;
  /** Of the process and of its ended children that it has waited for. */
  readonly cpuSeconds: number;
}

/** A line of /proc/PID/stat (proc_pid_stat(5)). The name of the program can contain spaces and parentheses. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { parent: Number(fields[1]), cpuSeconds: ticks / TICKS_PER_SECOND };
}

/** Processor time of the ended children of this process, in seconds. */
export function reapedSeconds(): number {
  const text = readText('/proc/self/stat') ?? '';
  const [user = 0, system = 0] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number);
  return (user + system) / TICKS_PER_SECOND;
}

/** The processes that exist at one moment. */
export interface ProcessTable {
  readonly stats: ReadonlyMap<number, ProcessStat>;
  /** By the id of the parent. */
  readonly children: ReadonlyMap<number, readonly ProcessEntry[]>;
}

interface ProcessEntry extends ProcessStat {
  readonly pid: number;
}

/** Reads all of /proc: some milliseconds. So one table serves all nodes of a reading. */
export function processTable(): ProcessTable {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const text = Number.isInteger(pid) ? readText(`/proc/${pid}/stat`) : null;
    if (text !== null) entries.push({ pid, ...parseStat(text) });
  }
  return {
    stats: new Map(entries.map((entry) => [entry.pid, entry])),
    children: Map.groupBy(entries, ({ parent }) => parent),
  };
}

/** The processes with these ids and all their descendants. */
function processTree(
  roots: readonly number[],
  { stats, children }: ProcessTable,
): ReadonlyMap<number, ProcessStat> {
  const tree = new Map<number, ProcessStat>();
  const next = [...roots];
  for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
    const stat = stats.get(pid);
    if (stat === undefined || tree.has(pid)) continue;
    tree.set(pid, stat);
    next.push(...(children.get(pid) ?? []).map((child) => child.pid));
  }
  return tree;
}

/**
 * Counters of processes and their descendants. Linux counts a written byte when its page becomes dirty, and with large
 * pages of the cache it counts the whole large page: after many small writes that are synced, `writtenBytes` can be many
 * times what the disk gets. Control groups and /proc/diskstats count at the disk. Disk bytes of descendants that have
 * ended are not included. Network bytes are known only for processes in another network namespace than this one.
 */
export function processCounters(roots: readonly number[], table: ProcessTable = processTable()): Counters {
  const tree = processTree(roots, table);
  if (tree.size === 0) return NO_COUNTERS;
  let cpuSeconds = 0;
  let readBytes: number | null = 0;
  let writtenBytes: number | null = 0;
  for (const [pid, stat] of tree) {
    cpuSeconds += stat.cpuSeconds;
    const text = readText(`/proc/${pid}/io`);
    // Only root and the owner of a process can read it.
    const io = text === null ? null : keyedNumbers(text);
    readBytes = add(readBytes, io?.get('read_bytes') ?? null);
    writtenBytes = add(writtenBytes, io?.get('write_bytes') ?? null);
  }
  return { cpuSeconds, readBytes, writtenBytes, ...networkOf([...tree.keys()]) };
}

/**
 * Resident memory of processes and their descendants. Each process counts with its private memory. The memory that
 * processes share, such as the buffers of PostgreSQL, counts once: with the largest share of one process.
 */
export function processMemory(roots: readonly number[], table: ProcessTable = processTable()): number | null {
  return memoryOf([...processTree(roots, table).keys()]);
}

function memoryOf(pids: readonly number[]): number | null {
  let own = 0;
  let shared = 0;
  for (const pid of pids) {
    const fields = readText(`/proc/${pid}/statm`)?.split(' ').map(Number);
    if (fields === undefined) continue;
    const [, resident = 0, sharedPages = 0] = fields;
    own += resident - sharedPages;
    shared = Math.max(shared, sharedPages);
  }
  return own + shared === 0 ? null : (own + shared) * PAGE_BYTES;
}

/** Interfaces whose bytes are those of another interface too: loopback, and those that Docker makes for containers. */
const INNER = /^(lo$|docker|veth|br-)/;

/** Bytes of all interfaces that lead to other machines in /proc/net/dev. */
export function parseNetDev(text: string): { readonly receivedBytes: number; readonly sentBytes: number } {
  let receivedBytes = 0;
  let sentBytes = 0;
  for (const line of text.split('\n')) {
    const [, name, rest] = /^\s*([^\s:]+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || INNER.test(name)) continue;
    const numbers = rest!.trim().split(/\s+/).map(Number);
    receivedBytes += numbers[0] ?? 0;
    sentBytes += numbers[8] ?? 0;
  }
  return { receivedBytes, sentBytes };
}

/** Network bytes of the first process with a network namespace other than that of this process. */
function networkOf(pids: readonly number[]): Pick<Counters, 'receivedBytes' | 'sentBytes'> {
  try {
    const here = readlinkSync('/proc/self/ns/net');
    for (const pid of pids) {
      if (readlinkSync(`/proc/${pid}/ns/net`) === here) continue;
      const text = readText(`/proc/${pid}/net/dev`);
      if (text !== null) return parseNetDev(text);
    }
  } catch {
    // The namespace of another user's process cannot be read.
  }
  return { receivedBytes: null, sentBytes: null };
}

/** Processor times of the machine, in seconds over all processors. */
export interface MachineTime {
  /** Used by processes and by the kernel. */
  readonly busy: number;
  /** Taken by other guests of the hypervisor. */
  readonly stolen: number;
}

/** The first line of /proc/stat (proc_stat(5)): user nice system idle iowait irq softirq steal. */
export function parseMachineTime(text: string): MachineTime | null {
  const match = /^cpu\s+(.*)$/m.exec(text);
  if (match === null) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = match[1]!
    .split(' ')
    .map((ticks) => Number(ticks) / TICKS_PER_SECOND);
  return { busy: user + nice + system + irq + softirq, stolen: steal };
}

export function machineTime(): MachineTime | null {
  const text = readText('/proc/stat');
  return text === null ? null : parseMachineTime(text);
}

/** Bytes of whole disks in /proc/diskstats. Partitions, loop devices and RAM disks are left out. */
export function parseDiskstats(
  text: string,
  isDisk: (name: string) => boolean,
): { readonly readBytes: number; readonly writtenBytes: number } {
  let readBytes = 0;
  let writtenBytes = 0;
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    const name = fields[2];
    if (name === undefined || /^(loop|ram|zram|dm-|md)/.test(name) || !isDisk(name)) continue;
    readBytes += Number(fields[5]) * SECTOR_BYTES;
    writtenBytes += Number(fields[9]) * SECTOR_BYTES;
  }
  return { readBytes, writtenBytes };
}

export function machineCounters(): Counters {
  const disks = new Set(list('/sys/block'));
  const diskstats = readText('/proc/diskstats');
  const net = readText('/proc/net/dev');
  return {
    ...NO_COUNTERS,
    cpuSeconds: machineTime()?.busy ?? null,
    ...(diskstats === null || disks.size === 0 ? {} : parseDiskstats(diskstats, (name) => disks.has(name))),
    ...(net === null ? {} : parseNetDev(net)),
  };
}

/** Memory of the machine that is not available for new programs, in bytes. */
export function machineMemory(): number | null {
  const meminfo = keyedNumbers(readText('/proc/meminfo') ?? '');
  const total = meminfo.get('MemTotal');
  const available = meminfo.get('MemAvailable');
  return total === undefined || available === undefined ? null : (total - available) * 1024;
}

export interface Vmstat {
  readonly oomKills: number | null;
  readonly swapBytes: number | null;
}

export function parseVmstat(text: string): Vmstat {
  const values = keyedNumbers(text);
  const pages = add(values.get('pswpin') ?? null, values.get('pswpout') ?? null);
  return {
    oomKills: values.get('oom_kill') ?? null,
    swapBytes: pages === null ? null : pages * PAGE_BYTES,
  };
}

/** What a control group counts, beside its counters. */
export interface CgroupEvents {
  /** Time for which the kernel kept its processes from running, in seconds. */
  readonly throttledSeconds: number | null;
  readonly oomKills: number | null;
}

/**
 * Counters of a control group and the groups below it. `directory` is the group in a tree of version 2, or in the tree of
 * any controller of version 1: the group of the same path in the other trees is found from it.
 */
export function cgroupCounters(
  directory: string,
  table: ProcessTable = processTable(),
): Counters & CgroupEvents {
  const pids = cgroupPids(directory);
  const processes = processCounters(pids, table);
  if (readText(`${directory}/cgroup.controllers`) !== null) {
    const cpu = keyedNumbers(readText(`${directory}/cpu.stat`) ?? '');
    const io = readText(`${directory}/io.stat`);
    const throttled = sumBelow(directory, 'cpu.stat', 'throttled_usec');
    return {
      ...processes,
      ...(cpu.has('usage_usec') ? { cpuSeconds: cpu.get('usage_usec')! / 1e6 } : {}),
      ...(io === null ? {} : parseIoStat(io)),
      throttledSeconds: throttled === null ? null : throttled / 1e6,
      // It contains the kills in the groups below.
      oomKills: keyedNumbers(readText(`${directory}/memory.events`) ?? '').get('oom_kill') ?? null,
    };
  }
  const usage = readText(`${inTree(directory, 'cpuacct')}/cpuacct.usage`);
  const throttled = sumBelow(inTree(directory, 'cpu'), 'cpu.stat', 'throttled_time');
  const blkio = inTree(directory, 'blkio');
  const io =
    readText(`${blkio}/blkio.throttle.io_service_bytes_recursive`) ??
    readText(`${blkio}/blkio.throttle.io_service_bytes`);
  return {
    ...processes,
    ...(usage === null ? {} : { cpuSeconds: Number(usage) / 1e9 }),
    ...(io === null ? {} : parseBlkio(io)),
    throttledSeconds: throttled === null ? null : throttled / 1e9,
    oomKills: sumBelow(inTree(directory, 'memory'), 'memory.oom_control', 'oom_kill'),
  };
}

/** The sum of a value over a group and the groups below it, where the kernel counts it for each group alone. */
function sumBelow(directory: string, file: string, name: string): number | null {
  let sum: number | null = null;
  for (const path of globSync(`${directory}/{,**/}${file}`)) {
    const value = keyedNumbers(readText(path) ?? '').get(name);
    if (value !== undefined) sum = (sum ?? 0) + value;
  }
  return sum;
}

/** Resident memory of a control group without the page cache, but with mapped files. */
export function cgroupMemory(directory: string): number | null {
  const text = readText(`${directory}/memory.stat`) ?? readText(`${inTree(directory, 'memory')}/memory.stat`);
  if (text === null) return null;
  const values = keyedNumbers(text);
  const own = values.get('anon') ?? values.get('total_rss');
  const mapped = values.get('file_mapped') ?? values.get('total_mapped_file') ?? 0;
  return own === undefined ? null : own + mapped;
}

/** Processes of a group and of the groups below it. Those of the group itself are the first. */
export function cgroupPids(directory: string): readonly number[] {
  const files = globSync(`${directory}/{,**/}cgroup.procs`).toSorted((a, b) => a.length - b.length);
  return files.flatMap((file) => (readText(file) ?? '').split('\n').filter(Boolean).map(Number));
}

/** io.stat of version 2: `8:0 rbytes=1 wbytes=2 …`. Nothing, when the kernel counts no device. */
export function parseIoStat(text: string): Partial<Counters> {
  if (!/^\d+:\d+ /m.test(text)) return {};
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`\\b${name}=(\\d+)`, 'g'))].reduce(
      (total, [, bytes]) => total + Number(bytes),
      0,
    );
  return { readBytes: sum('rbytes'), writtenBytes: sum('wbytes') };
}

/** blkio files of version 1: `8:0 Read 4096`. Nothing, when the kernel counts no device. */
export function parseBlkio(text: string): Partial<Counters> {
  if (!/^\d+:\d+ /m.test(text)) return {};
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^\\d+:\\d+ ${name} (\\d+)$`, 'gm'))].reduce(
      (total, [, bytes]) => total + Number(bytes),
      0,
    );
  return { readBytes: sum('Read'), writtenBytes: sum('Write') };
}

/** The group of the same path in the tree of another controller of version 1. */
function inTree(directory: string, controller: string): string {
  return directory.replace(/^(.*?\/cgroup\/)[^/]+/, `$1${controller}`);
}

function list(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function add(left: number | null, right: number | null): number | null {
  return left === null || right === null ? null : left + right;
}
