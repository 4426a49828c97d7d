import { didYouMean } from '@tidegauge/text';
import type { Mistake } from '@tidegauge/yaml-file';
import type { StudyWorkload } from '../levels.ts';
import type { AnalysisPlan, Study, StudyPart } from '../model.ts';
import { OPERATION_NAMES, OPERATION_TYPES } from '../operation-names.ts';
import type { AnalysisFile } from './study-file.ts';

/** Metrics that are not latencies. */
const PLAIN: readonly string[] = [
  ...['throughput', 'runtime', 'energy', 'cpu', 'cpu-time', 'memory', 'memory-spread', 'disk-read', 'power'],
];
const STATISTIC = /^(mean|median|sd|min|max|p\d{2,4})$/;

interface Content extends Pick<Study, 'hard' | 'easy' | 'fixed'> {
  readonly workloads: readonly StudyWorkload[];
}

/**
 * What is analysed. By default: throughput and mean latencies, with the hard factors as groups, apart for the levels of
 * all others.
 */
export function analysisOf(
  file: AnalysisFile,
  content: Content,
): { readonly plan: AnalysisPlan; readonly mistakes: readonly Mistake[] } {
  const mistakes: Mistake[] = [];
  const operations = operationsOf(content.workloads);
  const metrics = listOf(file.metrics) ?? ['throughput', ...operations.map((name) => `${name}.mean`)];
  for (const [index, name] of metrics.entries()) {
    const problem = metricProblem(name, operations);
    if (problem !== null) mistakes.push({ path: placeOf('metrics', file.metrics, index), message: problem });
  }
  const varied = variedFactors(content);
  const groups = listOf(file.groups) ?? defaultGroups(content, listOf(file.per) ?? []);
  const per = listOf(file.per) ?? varied.filter((name) => !groups.includes(name));
  const known = [...Object.keys(content.hard), ...Object.keys(content.easy), ...Object.keys(content.fixed)];
  mistakes.push(...factorMistakes(file, known, per));
  if (groups.length === 0)
    mistakes.push({ path: ['analyse', 'groups'], message: 'name at least one factor' });
  const boxes = file.boxes === undefined ? {} : { boxes: file.boxes };
  const { alpha = 0.05, margin = 0.05 } = file;
  return { plan: { metrics, per, groups, alpha, margin, ...boxes }, mistakes };
}

/** What is wrong with the factors that `per` and `groups` name. */
function factorMistakes(file: AnalysisFile, known: readonly string[], per: readonly string[]): Mistake[] {
  const mistakes: Mistake[] = [];
  for (const key of ['per', 'groups'] as const) {
    for (const [index, name] of (listOf(file[key]) ?? []).entries()) {
      const path = placeOf(key, file[key], index);
      if (!known.includes(name)) {
        mistakes.push({ path, message: `the study has no factor ${name}${didYouMean(name, known)}` });
      } else if (key === 'groups' && per.includes(name)) {
        mistakes.push({ path, message: `${name} is in per too: remove one of them` });
      }
    }
  }
  return mistakes;
}

/** How a part is analysed: the factors of `analyse` as far as the part varies them, else the defaults for the part. */
export function partAnalysis(
  file: AnalysisFile,
  content: Omit<Content, 'workloads'>,
): Pick<StudyPart, 'groups' | 'per'> {
  const varied = variedFactors(content);
  const named = (listOf(file.groups) ?? []).filter((name) => varied.includes(name));
  const groups = named.length > 0 ? named : defaultGroups(content, listOf(file.per) ?? []);
  return { groups, per: varied.filter((name) => !groups.includes(name)) };
}

/** Operations that the workloads do, as metrics name them. */
function operationsOf(workloads: readonly StudyWorkload[]): readonly string[] {
  const done = OPERATION_TYPES.filter((type) => workloads.some(({ mix }) => (mix[type] ?? 0) > 0));
  return done.map((type) => OPERATION_NAMES[type]);
}

/** What is wrong with a metric of a claim, or null: those of all operations, and the time of a load. */
export function claimMetricProblem(name: string): string | null {
  return name === 'load' ? null : metricProblem(name, Object.values(OPERATION_NAMES));
}

function metricProblem(name: string, operations: readonly string[]): string | null {
  if (PLAIN.includes(name)) return null;
  const dot = name.lastIndexOf('.');
  if (dot === -1) {
    const known = [...PLAIN, ...operations.map((operation) => `${operation}.mean`)];
    return `${name} is not a metric${didYouMean(name, known) || `: there are ${known.join(', ')}, …`}`;
  }
  const operation = name.slice(0, dot);
  if (!STATISTIC.test(name.slice(dot + 1))) {
    return `${name} is not a metric: its statistic must be mean, median, sd, min, max, or p50, p99, p999, …`;
  }
  // A read-modify-write also gives the latencies of its read and of its update.
  const parts = operations.includes('read-modify-write') ? ['read', 'update'] : [];
  const all = [...new Set([...operations, ...parts, 'all'])];
  if (all.includes(operation)) return null;
  return `no workload of the study does ${operation}${didYouMean(operation, all) || `: there are ${all.join(', ')}`}`;
}

function variedFactors({ hard, easy }: Pick<Content, 'hard' | 'easy'>): readonly string[] {
  return Object.entries({ ...hard, ...easy })
    .filter(([, levels]) => levels.length > 1)
    .map(([name]) => name);
}

function defaultGroups(content: Pick<Content, 'hard' | 'easy'>, per: readonly string[]): readonly string[] {
  const varied = variedFactors(content).filter((name) => !per.includes(name));
  const hard = varied.filter((name) => name in content.hard);
  if (hard.length > 0) return hard;
  const easy = varied.filter((name) => name !== 'driver' && name !== 'workload');
  if (easy.length > 0) return easy;
  return varied.includes('driver') ? ['driver'] : ['store'];
}

function listOf(given: string | readonly string[] | undefined): readonly string[] | null {
  return given === undefined ? null : [given].flat();
}

function placeOf(key: string, given: unknown, index: number): readonly (string | number)[] {
  return Array.isArray(given) ? ['analyse', key, index] : ['analyse', key];
}
