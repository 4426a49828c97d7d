import { refuseUnknown } from '@tidegauge/loadtests/profiles/records-profile';
import { didYouMean } from '@tidegauge/text';
import { parseProperties } from '@tidegauge/workload';
import type { Path } from '@tidegauge/yaml-file';
import { type Design, hardCombinations, seriesOf } from '../combinations.ts';
import { allLevels, growsTable, type StudyWorkload, workloadOf } from '../levels.ts';
import type { TableState } from '../model.ts';
import { isWorkloadFile, isWorkloadLetter } from './factors.ts';
import { isObject, type StudyInput } from './study-input.ts';
import type { StudyLevels } from './study-levels.ts';

/** Reads the property files of workloads. */
export function readWorkloadFiles(input: StudyInput, levels: StudyLevels): void {
  for (const level of levels.of('workload')) {
    const name = String(level);
    if (!isWorkloadFile(name)) continue;
    const path = levels.placeOf('workload', level);
    const text = input.readFile(path, name);
    const properties = text === null ? null : input.parsed(path, () => parseProperties(text, name));
    if (properties !== null) checkProperties(input, levels, path, name, properties);
  }
}

/** The size of a record is a level in the results, so a property file must not set another one. */
function checkProperties(
  input: StudyInput,
  levels: StudyLevels,
  path: Path,
  file: string,
  properties: ReadonlyMap<string, string>,
): void {
  for (const [factor, property] of [
    ['fields', 'fieldcount'],
    ['length', 'fieldlength'],
  ] as const) {
    const own = properties.get(property)?.trim();
    const known = levels.of(factor);
    if (own === undefined || (known.length === 1 && own === String(known[0]))) continue;
    const problem = `${file} sets ${property} to ${own}, and the factor ${factor} is ${known.join(', ')}`;
    input.add(path, `${problem}: remove it from the file, or give ${factor} this level`);
  }
}

/** Workloads by level, of any size, or null after a mistake. Each combination of sizes is checked. */
export function workloadsOf(
  input: StudyInput,
  levels: StudyLevels,
  study: Design,
): ReadonlyMap<string, StudyWorkload> | null {
  const found = new Map<string, StudyWorkload>();
  const checked = new Set<string>();
  for (const hard of hardCombinations(study)) {
    for (const { easy } of seriesOf(study, hard)) {
      const all = allLevels(study, easy);
      const { workload, records, operations, fields, length, distribution } = all;
      const key = JSON.stringify([workload, records, operations, fields, length, distribution]);
      if (checked.has(key)) continue;
      checked.add(key);
      const made = input.parsed(levels.placeOf('workload', workload!), () => {
        const result = workloadOf(input, all);
        if (result.set === 'records')
          for (const property of result.records.ignored) refuseUnknown(String(workload), property);
        return result;
      });
      if (made !== null && !found.has(String(workload))) found.set(String(workload), made);
    }
  }
  if (input.mistakes.length > 0) return null;
  if (found.size > 0) return found;
  input.add(['exclude'], 'all combinations are excluded: remove an exclusion');
  return null;
}

/** The state of the table before each trial, by workload. A workload that inserts records cannot reuse its table. */
export function stateOf(
  input: StudyInput,
  levels: StudyLevels,
  workloads: ReadonlyMap<string, StudyWorkload>,
): Readonly<Record<string, TableState>> {
  const given = input.file.state;
  const byWorkload = givenStates(input, levels);
  const result: Record<string, TableState> = {};
  for (const [name, workload] of workloads) {
    const grows = growsTable(workload);
    const preset = typeof given === 'string' ? given : grows ? 'reload' : 'reuse';
    const state = byWorkload.get(name) ?? preset;
    if (grows && state === 'reuse') {
      input.add(
        ['state', ...(isObject(given) ? [name] : [])],
        `workload ${name} inserts records, so its table cannot be reused: write ${name}: reload, or restore`,
      );
    }
    result[name] = state;
  }
  return result;
}

/** The states that the file gives for single workloads. */
function givenStates(input: StudyInput, levels: StudyLevels): ReadonlyMap<string, TableState> {
  const given = input.file.state;
  const known = levels.of('workload').map(String);
  const states = new Map<string, TableState>();
  for (const [name, state] of Object.entries(isObject(given) ? given : {})) {
    const workload = isWorkloadLetter(name) ? name.toLowerCase() : name;
    if (known.includes(workload)) states.set(workload, state);
    else {
      const hint = didYouMean(name, known) || `: there are ${known.join(', ')}`;
      input.add(['state', name], `no run has this workload${hint}`, true);
    }
  }
  return states;
}
