import { combinationCount } from '../combinations.ts';
import type { Level, Study } from '../model.ts';
import { ONE_EACH, secondsOf } from './factors.ts';
import type { Counts } from './study-file.ts';
import type { StudyInput } from './study-input.ts';
import type { StudyLevels } from './study-levels.ts';

/** A plan with more runs is a mistake. */
const MAX_RUNS = 100_000;
const REPEAT = { deployments: 3, trials: 10, warmup: 1, pairing: 'slice', paired: [] } as const;
/** Factors that are the same for all runs of a round: they do the same operations. */
const NOT_PAIRED: readonly string[] = [
  ...['workload', 'threads', 'target', 'records', 'operations', 'volume', 'fields', 'length'],
  ...['distribution', 'fault'],
];
/** Sizes of a quick run whose file has none; smaller sizes of the file stay. */
const QUICK: Counts = { records: 1000, operations: 1000, trials: 5, deployments: 1, warmup: 1 };

/** How often everything is done. In a quick run, this also sets the levels of `records` and `operations`. */
export function repeatOf(input: StudyInput, levels: StudyLevels): Study['repeat'] {
  const { file } = input;
  const full: Study['repeat'] = { ...REPEAT, ...file.repeat };
  checkPaired(input, levels, full);
  const quick: { -readonly [K in keyof Study['repeat']]: Study['repeat'][K] } = { ...full };
  for (const name of ['deployments', 'trials', 'warmup'] as const) {
    quick[name] = file.quick?.[name] ?? Math.min(full[name], QUICK[name]);
  }
  for (const name of ['records', 'operations'] as const) readQuick(input, levels, name);
  for (const [where, { trials, warmup }] of [['repeat', full] as const, ['quick', quick] as const]) {
    if (warmup < trials) continue;
    const problem = `warmup ${warmup} leaves none of ${trials} trials to analyse: raise trials or lower warmup`;
    input.add([where], problem);
    break;
  }
  const repeat = input.quick ? quick : full;
  checkSize(input, levels, repeat);
  return repeat;
}

/** What can take turns: levels that a deployment has beside each other, or deployments that are up together. */
function checkPaired(input: StudyInput, levels: StudyLevels, { pairing, paired }: Study['repeat']): void {
  for (const [index, name] of paired.entries()) {
    const path = ['repeat', 'paired', index];
    if (name === 'driver') input.add(path, 'drivers take turns always: remove it');
    else if (levels.of(name).length === 0) input.add(path, `the study has no factor ${name}`);
    else if (NOT_PAIRED.includes(name)) input.add(path, `runs that take turns have the same ${name}`);
  }
  const threads = levels.of('threads').find((level) => Number(level) > 1);
  if (pairing === 'operation' && threads !== undefined)
    input.add(['repeat', 'pairing'], `with ${threads} threads, no operation is alone: write slice`);
}

/** A quick run changes a count that is the same in all runs, or in all runs of a part. It does not remove levels. */
function readQuick(input: StudyInput, levels: StudyLevels, name: 'records' | 'operations'): void {
  const given = input.file.quick?.[name];
  const ofParts = input.file.quick?.parts ?? {};
  const isSingle = levels.replace(name, (level, part) => {
    if (!input.quick) return level;
    const own = part !== null && Object.hasOwn(ofParts, part) ? ofParts[part]![name] : undefined;
    if (isCount(own)) return own;
    const isCounted = level !== ONE_EACH && secondsOf(level) === null;
    return given ?? (isCounted ? Math.min(Number(level), QUICK[name]) : level);
  });
  for (const [part, counts] of Object.entries(ofParts)) {
    if (!input.keeps(part) || !isCount(counts[name]) || levels.isSingleIn(part, name)) continue;
    const problem = `the part ${part} has no single level of ${name}: give it one in parts, or remove it here`;
    input.add(['quick', 'parts', part, name], problem);
  }
  if (isSingle || given === undefined) return;
  input.add(['quick', name], `${name} has several levels in easy, which a quick run keeps: remove it here`);
}

/** Whether `quick` replaces a count of a part. A list names the levels that the part keeps. */
function isCount(given: unknown): given is Level {
  return given !== undefined && !Array.isArray(given);
}

function checkSize(input: StudyInput, levels: StudyLevels, { deployments, trials }: Study['repeat']): void {
  const { hard, easy, parts } = levels.factors();
  const combined = parts === null ? [{ ...hard, ...easy }] : Object.values(parts);
  const count = combined.reduce((sum, part) => sum + combinationCount(part), 0);
  const runs = count * deployments * trials;
  if (runs <= MAX_RUNS) return;
  const problem = `the plan has ${runs.toLocaleString('en')} runs, and at most ${MAX_RUNS.toLocaleString('en')} are possible`;
  input.add(['repeat'], `${problem}: remove levels or trials`);
}
