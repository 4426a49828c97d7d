import { globSync } from 'node:fs';
import { machine, provenance } from '@tidegauge/loadtests/results/machine';
import { estimate } from '@tidegauge/loadtests/results/student';
import { type DiskTimes, diskSpeed } from '../calibration/disk-speed.ts';
import { type ProcessorTimes, processorSpeeds } from '../calibration/processor-speed.ts';
import { readText } from '../trial/proc.ts';

/** What `study sizing --board` reads. */
export interface Calibration {
  readonly format: 1;
  readonly processors: number;
  /** Of each processor while all are busy, with the 95 % interval over rounds. */
  readonly loopsPerSecond: { readonly value: number; readonly low: number; readonly high: number };
  readonly fsyncSeconds: number;
  readonly fsyncP99Seconds: number;
  readonly writeBytesPerSecond: number;
  /** Of the fastest network interface, as it reports. null: none does. */
  readonly networkBytesPerSecond: number | null;
  readonly memoryBytes: number;
}

/** A minute of work, because small boards get slower when they are warm. */
const PROCESSOR: ProcessorTimes = { rounds: 12, secondsPerRound: 5, warmUpSeconds: 5 };
const DISK: DiskTimes = { syncSeconds: 10, bytes: 512 * 2 ** 20 };

/** Measures the processors, the memory and the disk of a directory, without a database. */
export async function calibrate(
  directory: string,
  signal: AbortSignal,
  {
    processor = PROCESSOR,
    disk = DISK,
  }: { readonly processor?: ProcessorTimes; readonly disk?: DiskTimes } = {},
): Promise<Calibration> {
  const speed = await diskSpeed(directory, disk, signal);
  const { mean, low, high } = estimate(await processorSpeeds(processor, signal));
  const { cores, memoryBytes, ...described } = machine();
  return {
    format: 1,
    ...provenance(),
    ...described,
    processors: cores,
    loopsPerSecond: { value: mean, low, high },
    ...speed,
    networkBytesPerSecond: networkSpeed(),
    memoryBytes,
  };
}

/** Bytes per second of the fastest interface. Interfaces that are down, or virtual, report none or a negative number. */
function networkSpeed(): number | null {
  const megabits = globSync('/sys/class/net/*/speed').map((file) => Number(readText(file) ?? 0));
  const fastest = Math.max(0, ...megabits);
  return fastest === 0 ? null : (fastest * 1e6) / 8;
}
