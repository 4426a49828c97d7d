import { allLevels } from './levels.ts';
import type { Combination, Driver, Level, Study } from './model.ts';

type Levels = Readonly<Record<string, readonly Level[]>>;

/** What decides which combinations a study has. */
export type Design = Pick<Study, 'hard' | 'easy' | 'fixed' | 'exclude' | 'parts'>;

/** Every combination of levels, in an order that does not depend on the order of the factors. */
export function combinations(factors: Levels): readonly Combination[] {
  let all: Combination[] = [{}];
  for (const [name, levels] of Object.entries(factors).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    all = all.flatMap((combination) => levels.map((level) => ({ ...combination, [name]: level })));
  }
  return all;
}

/** The number of combinations. */
export function combinationCount(factors: Levels): number {
  return Object.values(factors).reduce((product, levels) => product * levels.length, 1);
}

/** The levels of each part of a study. A study without parts is one part. */
export function partsOf({ hard, easy, parts }: Pick<Design, 'hard' | 'easy' | 'parts'>): readonly Levels[] {
  return parts === undefined ? [{ ...hard, ...easy }] : Object.values(parts).map(({ levels }) => levels);
}

/** The combinations of hard factors of all parts. */
export function hardCombinations(study: Design): readonly Combination[] {
  return distinct(partsOf(study).flatMap((levels) => combinations(only(levels, study.hard))));
}

/**
 * The combinations of easy factors in one deployment, without the driver, each with the drivers that it is run with. A
 * combination that several parts have is there once.
 */
export function seriesOf(
  study: Design,
  hard: Combination,
): readonly { readonly easy: Combination; readonly drivers: readonly Driver[] }[] {
  const parts = partsOf(study).filter((levels) => isIn(levels, hard));
  const all = distinct(parts.flatMap((levels) => combinations(withoutDriver(only(levels, study.easy)))));
  return all.flatMap((easy) => {
    const levels = allLevels(study, hard, easy);
    const drivers = ((study.easy.driver ?? []) as readonly Driver[]).filter((driver) => {
      const run = { ...levels, driver };
      return parts.some((part) => isIn(part, { ...easy, driver })) && !isExcluded(study, run);
    });
    return drivers.length === 0 ? [] : [{ easy, drivers }];
  });
}

/** Whether each level of the combination is one of those of its factor. */
function isIn(levels: Levels, combination: Combination): boolean {
  return Object.entries(combination).every(([name, level]) => levels[name]!.includes(level));
}

function only(levels: Levels, kept: Levels): Levels {
  return Object.fromEntries(Object.entries(levels).filter(([name]) => Object.hasOwn(kept, name)));
}

function withoutDriver({ driver: _driver, ...others }: Levels): Levels {
  return others;
}

/** Combinations of the same factors, in the same order of factors, each once. */
function distinct(all: readonly Combination[]): readonly Combination[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

function isExcluded({ exclude }: Pick<Study, 'exclude'>, levels: Combination): boolean {
  return exclude.some(({ where }) => Object.entries(where).every(([name, level]) => levels[name] === level));
}
