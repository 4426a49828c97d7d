import { readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { History } from '../archive/history.ts';
import { readEntries, readPlan } from '../archive/results.ts';
import type { Plan } from '../model.ts';

/** Below the current directory. */
const RESULTS = 'results';

/**
 * The results directory of a plan when the user names none: the last one of this plan that is not complete, else a new
 * one such as `results/compare-2026-11-22`.
 */
export function defaultDirectory(
  { hash, study }: Plan,
  { kind = 'run', base = RESULTS }: { readonly kind?: 'run' | 'rerun'; readonly base?: string } = {},
): string {
  const start = [study.name, ...(study.quick ? ['quick'] : []), ...(kind === 'rerun' ? ['rerun'] : [])].join(
    '-',
  );
  const names = namesIn(base)
    .filter((name) => name.startsWith(`${start}-2`))
    .toSorted();
  const unfinished = names.map((name) => join(base, name)).findLast((path) => isUnfinished(path, hash));
  if (unfinished !== undefined) return unfinished;
  const today = `${start}-${new Date().toISOString().slice(0, 10)}`;
  let name = today;
  for (let number = 2; names.includes(name); number += 1) name = `${today}-${number}`;
  return join(base, name);
}

/** Whether two paths are the same directory. */
export function isSameDirectory(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}

function isUnfinished(directory: string, hash: string): boolean {
  try {
    const plan = readPlan(directory);
    const history = new History(readEntries(directory));
    return plan.hash === hash && !plan.deployments.every((each) => history.isComplete(each));
  } catch {
    return false;
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
