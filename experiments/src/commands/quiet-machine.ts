import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type MachineTime, machineTime } from '../trial/proc.ts';

const MEASURE_MS = 3000;
/** A machine that was quiet for this many measurements in a row is quiet. */
const QUIET_TIMES = 3;

export interface QuietOptions {
  /** Largest share of all processors for other work, 0 to 1. null: any. */
  readonly limit: number | null;
  /** Wait until other work uses less. */
  readonly wait: boolean;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Warns when runs would be invalid because of other work on this machine, or waits until it has ended. */
export async function expectQuiet({ limit, wait, signal, say }: QuietOptions): Promise<void> {
  if (limit === null) return;
  let share = await foreignShare(signal);
  if (share === null || share <= limit) return;
  const figures = `other work uses ${percent(share)} of the processors, and a run with more than ${percent(limit)} is invalid`;
  if (!wait) {
    say(`${figures}: end that work, use --wait, or set foreignCpu under valid in the file`);
    return;
  }
  say(`${figures}: waiting until it has ended`);
  for (let quiet = 0; quiet < QUIET_TIMES; ) {
    share = await foreignShare(signal);
    quiet = share === null || share <= limit ? quiet + 1 : 0;
  }
}

/** Share of all processors that other processes and other guests use now. null: not known here. */
async function foreignShare(signal: AbortSignal): Promise<number | null> {
  const before = reading();
  const begun = performance.now();
  await delay(MEASURE_MS, null, { signal });
  const after = reading();
  if (before === null || after === null) return null;
  const used = after.busy + after.stolen - before.busy - before.stolen - (after.own - before.own);
  return Math.max(0, used) / (((performance.now() - begun) / 1000) * availableParallelism());
}

function reading(): (MachineTime & { readonly own: number }) | null {
  const machine = machineTime();
  if (machine === null) return null;
  const { user, system } = process.cpuUsage();
  return { ...machine, own: (user + system) / 1e6 };
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
