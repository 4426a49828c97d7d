import { allLevels } from './levels.ts';
import type { Combination, Driver, Level, Study } from './model.ts';

/** Every combination of levels, in an order that does not depend on the order of the factors. */
export function combinations(factors: Readonly<Record<string, readonly Level[]>>): readonly Combination[] {
  let all: Combination[] = [{}];
  for (const [name, levels] of Object.entries(factors).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    all = all.flatMap((combination) => levels.map((level) => ({ ...combination, [name]: level })));
  }
  return all;
}

/** The number of combinations. */
export function combinationCount(factors: Readonly<Record<string, readonly Level[]>>): number {
  return Object.values(factors).reduce((product, levels) => product * levels.length, 1);
}

/** The combinations of easy factors in one deployment, without the driver, each with the drivers that it is run with. */
export function seriesOf(
  study: Pick<Study, 'easy' | 'fixed' | 'exclude'>,
  hard: Combination,
): readonly { readonly easy: Combination; readonly drivers: readonly Driver[] }[] {
  const { driver: drivers = [], ...others } = study.easy;
  return combinations(others).flatMap((easy) => {
    const levels = allLevels(study, hard, easy);
    const kept = (drivers as readonly Driver[]).filter((driver) => !isExcluded(study, { ...levels, driver }));
    return kept.length === 0 ? [] : [{ easy, drivers: kept }];
  });
}

function isExcluded({ exclude }: Pick<Study, 'exclude'>, levels: Combination): boolean {
  return exclude.some(({ where }) => Object.entries(where).every(([name, level]) => levels[name] === level));
}
