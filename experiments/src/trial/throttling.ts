import { globSync } from 'node:fs';
import { ProgramError, runProgram } from '@tidegauge/process';
import { readText } from './proc.ts';

const TIMEOUT_MS = 2000;
/** The lower bits of get_throttled are the limits that are in force: voltage, frequency, throttling, temperature. */
const IN_FORCE = 0xf;

export interface Throttling {
  /** Time for which processors were slowed because of their temperature: the largest of all processors. */
  readonly thermalSeconds: number | null;
  /** Limits that the firmware of a Raspberry Pi has in force, as bits. */
  readonly firmware: number | null;
}

let hasVcgencmd = true;

/** How the hardware of this machine slows its processors. */
export async function throttling(): Promise<Throttling> {
  return { thermalSeconds: thermalSeconds(), firmware: await firmware() };
}

function thermalSeconds(): number | null {
  const files = globSync(
    '/sys/devices/system/cpu/cpu*/thermal_throttle/{core,package}_throttle_total_time_ms',
  );
  const times = files.map((file) => Number(readText(file) ?? Number.NaN)).filter(Number.isFinite);
  return times.length === 0 ? null : Math.max(...times) / 1000;
}

async function firmware(): Promise<number | null> {
  if (!hasVcgencmd) return null;
  try {
    const { stdout } = await runProgram('vcgencmd', ['get_throttled'], { timeoutMs: TIMEOUT_MS });
    return parseThrottled(stdout);
  } catch (error) {
    // Only a Raspberry Pi has the program. It needs /dev/vchiq, which a container may lack.
    if (!(error instanceof ProgramError)) throw error;
    hasVcgencmd = false;
    return null;
  }
}

/** The limits in force in `throttled=0x50005`, or null for another text. */
export function parseThrottled(text: string): number | null {
  const match = /^throttled=(0x[0-9a-f]+)/i.exec(text);
  return match === null ? null : Number(match[1]) & IN_FORCE;
}
