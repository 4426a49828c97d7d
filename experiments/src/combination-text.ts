import type { Combination } from './model.ts';

/** `store=sqlite nodes=1` */
export function combinationText(combination: Combination): string {
  return Object.entries(combination)
    .map(([name, level]) => `${name}=${level}`)
    .join(' ');
}
