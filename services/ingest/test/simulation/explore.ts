import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';
import { type Outcome, simulate } from './simulation.ts';

/** A file system in memory: the quarantine is a real file. */
const MEMORY = '/dev/shm';
/** Lines of a failing schedule that are shown: the last ones. */
const SHOWN_LINES = 60;

export interface Exploration {
  readonly firstSeed: number;
  readonly schedules: number;
  readonly processes: number;
  readonly steps: number;
  /** Simulated, and passed. */
  readonly virtualSeconds: number;
  readonly seconds: number;
  /** The first failing schedule, with its trace; null: none. */
  readonly failure: Outcome | null;
}

/** Runs the schedules of consecutive seeds until a time has passed, a number of them have run, or one fails. */
export async function explore(
  firstSeed: number,
  most: { readonly seconds: number; readonly schedules?: number },
  mutant: Mutant | null = null,
): Promise<Exploration> {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'tidegauge-simulation-'));
  const begun = performance.now();
  const total = { schedules: 0, processes: 0, steps: 0, virtualSeconds: 0 };
  let failure: Outcome | null = null;
  const passed = () => (performance.now() - begun) / 1000;
  try {
    const schedules = most.schedules ?? Number.POSITIVE_INFINITY;
    while (failure === null && total.schedules < schedules && passed() < most.seconds) {
      const seed = firstSeed + total.schedules;
      const outcome = await simulate(seed, { folder, mutant });
      total.schedules++;
      total.processes += outcome.processes;
      total.steps += outcome.steps;
      total.virtualSeconds += outcome.seconds;
      if (outcome.failure !== null) failure = await repeat(outcome, folder, mutant);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { firstSeed, ...total, seconds: passed(), failure };
}

/** Runs a failing schedule again, with its trace. A replay that differs is a failure too. */
async function repeat(outcome: Outcome, folder: string, mutant: Mutant | null): Promise<Outcome> {
  const again = await simulate(outcome.seed, { folder, mutant, keepsLines: true });
  if (again.hash === outcome.hash) return again;
  return { ...again, failure: `${outcome.failure} (and its replay has another trace: ${again.failure})` };
}

/** The report of a run for people. */
export function reportOf({ firstSeed, failure, ...total }: Exploration): string {
  const perHour = Math.round((total.schedules / total.seconds) * 3600);
  const first = `seed ${firstSeed}: ${total.schedules} schedules, ${total.processes} processes, ${total.steps} steps, ${Math.round(total.virtualSeconds)} s simulated in ${total.seconds.toFixed(1)} s: ${perHour} schedules per hour\n`;
  if (failure === null) return first;
  const lines = failure.lines.slice(-SHOWN_LINES).map((line) => `  ${line}\n`);
  return `${first}${lines.join('')}seed ${failure.seed} failed, trace ${failure.hash}: ${failure.failure}\n`;
}
