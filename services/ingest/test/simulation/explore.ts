import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';
import { type Plan, smallerPlans } from './plan.ts';
import { type Outcome, simulate } from './simulation.ts';

/** A file system in memory: the quarantine is a real file. */
const MEMORY = '/dev/shm';
/** Lines of a failing schedule that are shown: the last ones. */
const SHOWN_LINES = 60;
/** Smaller plans that are tried at most. */
const MOST_SMALLER = 200;

export interface Exploration {
  readonly firstSeed: number;
  readonly mutant: Mutant | null;
  readonly schedules: number;
  readonly processes: number;
  readonly steps: number;
  /** Simulated, and passed. */
  readonly virtualSeconds: number;
  readonly seconds: number;
  /** The first failing schedule, with its trace; null: none. */
  readonly failure: Outcome | null;
}

type Run = (
  seed: number,
  given?: { readonly plan?: Plan; readonly keepsLines?: boolean },
) => Promise<Outcome>;

/** Runs the schedules of consecutive seeds until a time has passed, a number of them have run, or one fails. */
export function explore(
  firstSeed: number,
  most: { readonly seconds: number; readonly schedules?: number },
  mutant: Mutant | null = null,
): Promise<Exploration> {
  return withFolder(mutant, async (run) => {
    const begun = performance.now();
    const passed = () => (performance.now() - begun) / 1000;
    const total = { schedules: 0, processes: 0, steps: 0, virtualSeconds: 0 };
    let failure: Outcome | null = null;
    const schedules = most.schedules ?? Number.POSITIVE_INFINITY;
    while (failure === null && total.schedules < schedules && passed() < most.seconds) {
      const outcome = await run(firstSeed + total.schedules);
      total.schedules++;
      total.processes += outcome.processes;
      total.steps += outcome.steps;
      total.virtualSeconds += outcome.seconds;
      if (outcome.failure !== null) failure = await repeat(outcome, run);
    }
    return { firstSeed, mutant, ...total, seconds: passed(), failure };
  });
}

async function withFolder<T>(mutant: Mutant | null, work: (run: Run) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'tidegauge-simulation-'));
  try {
    return await work((seed, given) => simulate(seed, { folder, mutant, ...given }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs a failing schedule again, with its trace. A replay that differs is a failure too. */
async function repeat(outcome: Outcome, run: Run): Promise<Outcome> {
  const again = await run(outcome.seed, { keepsLines: true });
  if (again.hash === outcome.hash) return again;
  return { ...again, failure: `${outcome.failure} (and its replay has another trace: ${again.failure})` };
}

/** Leaves out faults and messages as long as the schedule fails. */
async function shrink(failed: Outcome, run: Run): Promise<Outcome> {
  let least = failed;
  let plans = smallerPlans(least.plan);
  for (let tried = 0; tried < MOST_SMALLER; tried++) {
    const { value: plan, done } = plans.next();
    if (done === true) break;
    const outcome = await run(failed.seed, { plan, keepsLines: true });
    if (outcome.failure === null) continue;
    least = outcome;
    plans = smallerPlans(plan);
  }
  return least;
}

/** The report of a run for people. A failing schedule is shrunk, which takes some seconds. */
export async function reportOf({ firstSeed, mutant, failure, ...total }: Exploration): Promise<string> {
  const perHour = Math.round((total.schedules / total.seconds) * 3600);
  const first = `seed ${firstSeed}: ${total.schedules} schedules, ${total.processes} processes, ${total.steps} steps, ${Math.round(total.virtualSeconds)} s simulated in ${total.seconds.toFixed(1)} s: ${perHour} schedules per hour\n`;
  if (failure === null) return first;
  const least = await withFolder(mutant, (run) => shrink(failure, run));
  const lines = least.lines.slice(-SHOWN_LINES).map((line) => `  ${line}\n`);
  const planted = mutant === null ? '' : ` --mutant '${mutant.name}'`;
  return [
    ...[first, `the smallest plan that fails: ${JSON.stringify(least.plan)}\n`, ...lines],
    `it fails so: ${least.failure}\n`,
    `seed ${failure.seed} failed, trace ${failure.hash}: ${failure.failure}\n`,
    `node services/ingest/test/simulation/main.ts --seed ${failure.seed} --schedules 1${planted}\n`,
  ].join('');
}
