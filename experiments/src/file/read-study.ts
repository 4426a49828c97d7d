import { dirname } from 'node:path';
import { hasCitus } from '@tidegauge/lab/citus';
import { YamlFile } from '@tidegauge/yaml-file';
import type { PlaceName, Study, StudyPart } from '../model.ts';
import { analysisOf, partAnalysis } from './analysis.ts';
import { claimsOf } from './claims.ts';
import { repeatOf } from './counts.ts';
import { networksOf } from './networks.ts';
import { impossible } from './possible.ts';
import { publishedOf } from './published.ts';
import { schemaMistakes } from './schema.ts';
import type { AnalysisFile, StudyFile } from './study-file.ts';
import { isObject, StudyInput } from './study-input.ts';
import { StudyLevels } from './study-levels.ts';
import { validityOf } from './valid.ts';
import { readWorkloadFiles, stateOf, workloadsOf } from './workloads.ts';

export interface ReadOptions {
  /** Applies the sizes of `quick`. */
  readonly quick?: boolean;
  /** Keeps these parts only. Default: all. */
  readonly parts?: readonly string[] | null;
  /** Also refuses what this place cannot deploy, as far as that is known without it. */
  readonly on?: PlaceName | null;
}

export const FIGURES: readonly string[] = [
  ...['bars', 'boxes', 'drivers', 'series', 'histograms', 'timelines', 'curves', 'sweeps', 'resources'],
];

/**
 * Reads an experiment file.
 *
 * @throws {ConfigError} with a line for each mistake: file, line, column, key, reason
 */
export async function readStudy(path: string, options: ReadOptions = {}): Promise<Study> {
  return study(YamlFile.read(path), dirname(path), options);
}

/**
 * Reads the text of an experiment file.
 *
 * @param place `name` is that of the file in errors; files that the study names are beside `directory`
 * @throws {ConfigError}
 */
export async function parseStudy(
  text: string,
  place: { readonly name: string; readonly directory: string },
  options: ReadOptions = {},
): Promise<Study> {
  return study(YamlFile.parse(text, place.name), place.directory, options);
}

async function study(
  file: YamlFile,
  directory: string,
  { quick = false, on = null, parts }: ReadOptions,
): Promise<Study> {
  const mistakes = schemaMistakes(file.data);
  if (mistakes.some(({ path }) => path.length === 0) && !isObject(file.data)) throw file.error(mistakes);
  const data = file.data as StudyFile;
  // The answer needs a program of PostgreSQL, which other studies do not.
  const isAsked = mistakes.length === 0 && data.exclude?.some(({ without }) => without !== undefined);
  const available = isAsked && on === 'lab' && (await hasCitus()) ? ['citus'] : [];
  const place = { directory, quick, on, onlyParts: parts ?? [], available };
  const input = new StudyInput(data, place, mistakes);
  const levels = new StudyLevels(input);
  const result = studyOf(input, levels);
  if (result === null) throw file.error(input.mistakes);
  for (const { factor, levels: wrong, message } of await impossible(result, on)) {
    input.add(levels.placeOf(factor, wrong[factor]!), message);
  }
  if (input.mistakes.length > 0) throw file.error(input.mistakes);
  return result;
}

/** The study, or null when there are mistakes. */
function studyOf(input: StudyInput, levels: StudyLevels): Study | null {
  const { file, mistakes } = input;
  const { analyse = {} } = file;
  // What follows needs a file of the right shape, and lists all combinations.
  if (mistakes.length > 0) return null;
  const repeat = repeatOf(input, levels);
  if (mistakes.length > 0) return null;
  const networks = networksOf(input, levels);
  const exclude = levels.exclusions();
  readWorkloadFiles(input, levels);
  const published = publishedOf(input);
  const valid = validityOf(input);
  if (mistakes.length > 0) return null;
  const { hard, easy, fixed, parts: partLevels } = levels.factors();
  const parts = partLevels === null ? {} : { parts: partsOf(partLevels, analyse, { hard, easy, fixed }) };
  const workloads = workloadsOf(input, levels, { hard, easy, fixed, exclude, ...parts });
  if (workloads === null) return null;
  const state = stateOf(input, levels, workloads);
  const analysis = analysisOf(analyse, { hard, easy, fixed, workloads: [...workloads.values()] });
  mistakes.push(...analysis.mistakes);
  const claims = claimsOf(input, levels);
  if (mistakes.length > 0) return null;
  return {
    name: file.study,
    title: file.title ?? file.study,
    question: file.question ?? null,
    seed: file.seed ?? 1,
    quick: input.quick,
    hard,
    easy,
    fixed,
    ...parts,
    exclude,
    repeat,
    state,
    valid,
    requeue: file.requeue?.most ?? 2,
    energy: file.energy ?? null,
    networks,
    analyse: analysis.plan,
    figures: file.figures ?? FIGURES,
    published,
    ...(claims.length === 0 ? {} : { claims }),
    ...(Object.keys(input.files).length === 0 ? {} : { files: input.files }),
  };
}

function partsOf(
  parts: Readonly<Record<string, StudyPart['levels']>>,
  analyse: AnalysisFile,
  { hard, easy, fixed }: Pick<Study, 'hard' | 'easy' | 'fixed'>,
): Readonly<Record<string, StudyPart>> {
  const only = (levels: StudyPart['levels'], section: object): StudyPart['levels'] =>
    Object.fromEntries(Object.entries(levels).filter(([name]) => Object.hasOwn(section, name)));
  return Object.fromEntries(
    Object.entries(parts).map(([name, levels]) => {
      const content = { hard: only(levels, hard), easy: only(levels, easy), fixed };
      return [name, { levels, ...partAnalysis(analyse, content) }];
    }),
  );
}
