import type { Counters } from './proc.ts';

/** What a node exporter reports of its machine. */
export interface ExporterReading extends Counters {
  readonly memoryBytes: number | null;
  readonly cores: number | null;
  readonly oomKills: number | null;
  readonly swapBytes: number | null;
  /** A meter's total, in joules. null: the machine has no meter that the exporter reads. */
  readonly joules: number | null;
}

/** Reads a node exporter. null: it does not answer. */
export async function readExporter(read: () => Promise<string>): Promise<ExporterReading | null> {
  try {
    return parseExporter(await read());
  } catch {
    return null;
  }
}

/** Prometheus' text format, with the metrics of node exporter 1. */
function parseExporter(text: string): ExporterReading {
  const samples = samplesOf(text);
  const sum = (name: string, where: (labels: string) => boolean = () => true): number | null => {
    const found = samples.get(name)?.filter(({ labels }) => where(labels));
    return found === undefined || found.length === 0
      ? null
      : found.reduce((total, { value }) => total + value, 0);
  };
  const isUsed = (labels: string): boolean => !/mode="(idle|iowait|steal)"/.test(labels);
  const isDisk = (labels: string): boolean => !/device="(loop|ram|zram|dm-|md)/.test(labels);
  const isNetwork = (labels: string): boolean => !/device="(lo|docker|veth|br-)/.test(labels);
  const total = sum('node_memory_MemTotal_bytes');
  const available = sum('node_memory_MemAvailable_bytes');
  const pagesIn = sum('node_vmstat_pswpin');
  const pagesOut = sum('node_vmstat_pswpout');
  const processors = new Set(
    samples.get('node_cpu_seconds_total')?.map(({ labels }) => /cpu="([^"]*)"/.exec(labels)?.[1]),
  );
  return {
    cpuSeconds: sum('node_cpu_seconds_total', isUsed),
    readBytes: sum('node_disk_read_bytes_total', isDisk),
    writtenBytes: sum('node_disk_written_bytes_total', isDisk),
    receivedBytes: sum('node_network_receive_bytes_total', isNetwork),
    sentBytes: sum('node_network_transmit_bytes_total', isNetwork),
    // In a simulated board, the total is that of the board, and the rest is that of the machine.
    memoryBytes: total === null || available === null || available > total ? null : total - available,
    cores: processors.size === 0 ? null : processors.size,
    oomKills: sum('node_vmstat_oom_kill'),
    swapBytes: pagesIn === null || pagesOut === null ? null : (pagesIn + pagesOut) * 4096,
    joules: sum('node_rapl_package_joules_total') ?? sum('node_hwmon_energy_joule_total'),
  };
}

interface Sample {
  readonly labels: string;
  readonly value: number;
}

function samplesOf(text: string): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line) ?? [];
    if (name === undefined || !name.startsWith('node_')) continue;
    if (!samples.has(name)) samples.set(name, []);
    samples.get(name)!.push({ labels, value: Number(value) });
  }
  return samples;
}
