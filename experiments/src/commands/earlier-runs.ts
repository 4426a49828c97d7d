import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Combination, LoadDocument, RunDocument } from '../model.ts';

/** Directories and files that are read for an estimate. */
const MOST_DIRECTORIES = 10;
const MOST_FILES = 2000;
const MOST_FILE_BYTES = 2 ** 20;

/** Times of earlier runs and loads on this machine. */
export interface EarlierRuns {
  readonly runs: readonly RunDocument[];
  readonly loads: readonly (LoadDocument & { readonly factors: Combination })[];
}

/** Reads the latest results below `base`, for the estimate of a plan. What cannot be read is left out. */
export function earlierRuns(base = 'results'): EarlierRuns {
  const runs: RunDocument[] = [];
  const loads: (LoadDocument & { readonly factors: Combination })[] = [];
  const latest = filesIn(base)
    .map((path) => ({ path, time: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.time - a.time)
    .slice(0, MOST_DIRECTORIES);
  for (const { path } of latest) {
    const found = documents<RunDocument>(join(path, 'runs'), MOST_FILES - runs.length);
    runs.push(...found.filter(({ valid, factors }) => valid && factors !== undefined));
    const factors = new Map(found.map((run) => [`${run.series} ${run.driver}`, run.factors]));
    for (const load of documents<LoadDocument>(join(path, 'loads'), MOST_FILES - loads.length)) {
      const levels = factors.get(`${load.series} ${load.driver}`);
      if (levels !== undefined) loads.push({ ...load, factors: levels });
    }
  }
  return { runs, loads };
}

function documents<T>(folder: string, most: number): readonly T[] {
  const found: T[] = [];
  for (const path of filesIn(folder)
    .filter((name) => name.endsWith('.json'))
    .slice(0, most)) {
    try {
      if (statSync(path).size > MOST_FILE_BYTES) continue;
      found.push(JSON.parse(readFileSync(path, 'utf8')) as T);
    } catch {
      // A file of a study that is running, or of something else.
    }
  }
  return found;
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}
