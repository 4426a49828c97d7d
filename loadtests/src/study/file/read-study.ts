import { basename, dirname, isAbsolute, join } from 'node:path';
import { bytes, type ConfigError, duration } from '@tidegauge/service/program';
import { didYouMean } from '@tidegauge/text';
import { parseProperties, type RecordWorkload } from '@tidegauge/workload';
import { refuseUnknown } from '../../profiles/records-profile.ts';
import { combinationCount, combinations, seriesOf } from '../combinations.ts';
import { allLevels, growsTable, workloadOf } from '../levels.ts';
import type {
  AnalysisPlan,
  Exclusion,
  Level,
  NetworkProfile,
  PlaceName,
  Published,
  Study,
  TableState,
  ValidityLimits,
} from '../model.ts';
import { analysisOf } from './analysis.ts';
import { FACTORS, factorNamed, isWorkloadLetter, NONE } from './factors.ts';
import { impossible } from './possible.ts';
import { schemaMistakes } from './schema.ts';
import type { Counts, OneOrMore, StudyFile } from './study-file.ts';
import { type Mistake, type Path, readBounded, YamlFile } from './yaml-file.ts';

export interface ReadOptions {
  /** Applies the sizes of `quick`. */
  readonly quick?: boolean;
  /** Also refuses what this place cannot deploy, as far as that is known without it. */
  readonly on?: PlaceName;
}

/** A plan with more runs is a mistake. */
const MAX_RUNS = 100_000;

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

async function study(file: YamlFile, directory: string, { quick = false, on }: ReadOptions): Promise<Study> {
  const mistakes = schemaMistakes(file.data);
  if (mistakes.some(({ path }) => path.length === 0) && !isObject(file.data)) throw file.error(mistakes);
  const reader = new StudyReader(file.data as StudyFile, directory, quick, mistakes);
  const result = reader.read();
  if (result === null) throw file.error(reader.mistakes);
  for (const { factor, levels, message } of await impossible(result, on ?? null)) {
    reader.mistakes.push({ path: reader.placeOf(factor, levels[factor]!), message });
  }
  if (reader.mistakes.length > 0) throw file.error(reader.mistakes);
  return result;
}

const REPEAT = { deployments: 3, trials: 10, warmup: 1 };
/** Sizes of a quick run whose file has none; smaller sizes of the file stay. */
const QUICK: Counts = { records: 1000, operations: 1000, trials: 5, deployments: 1, warmup: 1 };
const DEFAULT_DRIVERS: readonly Level[] = ['raw', 'app'];
/** These factors are always among the varied ones, so that every part finds them there. */
const ALWAYS_VARIED: readonly string[] = ['store', 'workload', 'driver'];

const LIMITS: ValidityLimits = {
  dropped: 0,
  errors: 0,
  damaged: 0,
  target: 0.98,
  throttled: 0.05,
  clockStepMs: 100,
  oomKills: 0,
  swapBytes: 16 * 2 ** 20,
  foreignCpu: 0.25,
  network: 0.2,
};

export const FIGURES: readonly string[] = [
  ...['bars', 'boxes', 'drivers', 'series', 'histograms', 'timelines', 'curves', 'resources'],
];

/** Makes a study of the data of a file. It collects mistakes instead of throwing. */
class StudyReader {
  readonly mistakes: Mistake[];
  readonly #file: StudyFile;
  readonly #directory: string;
  readonly #quick: boolean;
  /** What the schema refused is not checked again. */
  readonly #refused: ReadonlySet<string>;
  readonly #files: Record<string, string> = {};
  #hard: Record<string, readonly Level[]> = {};
  #easy: Record<string, readonly Level[]> = {};
  #fixed: Record<string, Level> = {};

  constructor(file: StudyFile, directory: string, quick: boolean, mistakes: readonly Mistake[]) {
    this.#file = file;
    this.#directory = directory;
    this.#quick = quick;
    this.mistakes = [...mistakes];
    this.#refused = new Set(mistakes.map(({ path }) => path.slice(0, 2).join(' ')));
  }

  /** The study, or null when there are mistakes. */
  read(): Study | null {
    const file = this.#file;
    this.#readLevels();
    // What follows needs a file of the right shape, and lists all combinations.
    if (this.mistakes.length > 0) return null;
    const repeat = this.#repeat();
    this.#checkSize(repeat);
    if (this.mistakes.length > 0) return null;
    const networks = this.#networks();
    const exclude = this.#exclude();
    this.#checkNetworks(networks);
    this.#readWorkloadFiles();
    const published = this.#published();
    const valid = this.#valid();
    if (this.mistakes.length > 0) return null;
    const levels = { hard: this.#hard, easy: this.#easy, fixed: this.#fixed, exclude };
    const workloads = this.#workloads(levels);
    if (workloads === null) return null;
    const state = this.#state(workloads);
    const analyse = this.#analyse(workloads);
    const result: Study = {
      name: file.study,
      title: file.title ?? file.study,
      question: file.question ?? null,
      seed: file.seed ?? 1,
      quick: this.#quick,
      ...levels,
      repeat,
      state,
      valid,
      requeue: file.requeue?.most ?? 2,
      energy: file.energy ?? null,
      networks,
      analyse,
      figures: file.figures ?? FIGURES,
      published,
      ...(Object.keys(this.#files).length === 0 ? {} : { files: this.#files }),
    };
    return this.mistakes.length > 0 ? null : result;
  }

  /** Where a level of a factor is in the file. */
  placeOf(factor: string, level: Level): Path {
    for (const section of ['hard', 'easy', 'fixed'] as const) {
      const given = this.#section(section)[factor];
      if (given === undefined) continue;
      if (!Array.isArray(given)) return [section, factor];
      const index = given.findIndex((each: Level) => this.#parse(factor, each) === level);
      return [section, factor, Math.max(0, index)];
    }
    return [];
  }

  /** Factors of a section; none when it is not a set of keys, which the schema reports. */
  #section(name: 'hard' | 'easy' | 'fixed'): Readonly<Record<string, OneOrMore<Level>>> {
    const given: unknown = this.#file[name];
    return isObject(given) ? given : {};
  }

  #parse(factor: string, level: Level): Level | null {
    try {
      return factorNamed(factor).parse(level);
    } catch {
      return null;
    }
  }

  #add(path: Path, message: string, atKey = false): void {
    this.mistakes.push({ path, message, atKey });
  }

  #isRefused(path: Path): boolean {
    return this.#refused.has(path.slice(0, 2).join(' ')) || this.#refused.has(String(path[0]));
  }

  #readLevels(): void {
    for (const section of ['hard', 'easy'] as const) {
      for (const [name, levels] of Object.entries(this.#section(section))) {
        const parsed = this.#levels([section, name], name, levels);
        if (parsed !== null) (section === 'hard' ? this.#hard : this.#easy)[name] = parsed;
      }
    }
    for (const [name, level] of Object.entries(this.#section('fixed'))) {
      if (name in this.#hard || name in this.#easy) {
        this.#add(['fixed', name], 'it has levels in hard or easy too: remove one of them', true);
      }
      const parsed = this.#levels(['fixed', name], name, level);
      if (parsed !== null) this.#fixed[name] = parsed[0]!;
    }
    this.#addDefaults();
  }

  /** The levels of a factor in the form that plans have, or null after a mistake. */
  #levels(path: Path, name: string, given: OneOrMore<Level>): readonly Level[] | null {
    if (this.#isRefused(path)) return null;
    const isList = Array.isArray(given);
    const levels: Level[] = [];
    let isRight = true;
    for (const [index, level] of [given].flat().entries() as ArrayIterator<[number, Level]>) {
      const place = isList ? [...path, index] : path;
      try {
        const parsed = factorNamed(name).parse(level);
        if (levels.includes(parsed)) this.#add(place, `the level ${parsed} is there twice`);
        levels.push(parsed);
      } catch (error) {
        isRight = false;
        this.#add(place, this.#levelMessage(name, level, (error as Error).message), this.#isUnknown(name));
      }
      if (this.#isUnknown(name)) break;
    }
    return isRight ? levels : null;
  }

  #isUnknown(name: string): boolean {
    try {
      factorNamed(name);
      return false;
    } catch {
      return true;
    }
  }

  #levelMessage(name: string, level: Level, reason: string): string {
    if (this.#isUnknown(name)) return reason;
    // A URL can have a password.
    const shown = name === 'store' ? '' : ` ${JSON.stringify(level)}`;
    const takes = reason.endsWith('?') ? '' : `. It must be ${factorNamed(name).takes}`;
    return `the level${shown} is not possible: ${reason}${takes}`;
  }

  #addDefaults(): void {
    for (const name of ALWAYS_VARIED) {
      const level = this.#fixed[name];
      if (level === undefined) continue;
      delete this.#fixed[name];
      (FACTORS.get(name)!.section === 'hard' ? this.#hard : this.#easy)[name] = [level];
    }
    const isGiven = (name: string) =>
      name in this.#hard || name in this.#easy || name in this.#fixed || this.#isGivenInFile(name);
    for (const { name, default: preset } of FACTORS.values()) {
      if (isGiven(name) || preset === null) continue;
      if (ALWAYS_VARIED.includes(name)) this.#easy[name] = [preset];
      else this.#fixed[name] = preset;
    }
    if (!isGiven('driver')) this.#easy.driver = DEFAULT_DRIVERS;
    const isMisspelt = this.mistakes.some(({ path }) => path[0] === 'hard');
    if (!isGiven('store') && !isMisspelt) this.#add(['hard'], 'store is missing: name at least one store');
  }

  #isGivenInFile(name: string): boolean {
    return (['hard', 'easy', 'fixed'] as const).some((section) =>
      Object.hasOwn(this.#section(section), name),
    );
  }

  #repeat(): Study['repeat'] {
    const full = { ...REPEAT, ...this.#file.repeat };
    const quick = { ...full };
    for (const name of ['deployments', 'trials', 'warmup'] as const) {
      quick[name] = this.#file.quick?.[name] ?? Math.min(full[name], QUICK[name]);
    }
    for (const name of ['records', 'operations'] as const) this.#readQuick(name, this.#file.quick?.[name]);
    for (const [where, { trials, warmup }] of [['repeat', full] as const, ['quick', quick] as const]) {
      if (warmup < trials) continue;
      const problem = `warmup ${warmup} leaves none of ${trials} trials to analyse: raise trials or lower warmup`;
      this.#add([where], problem);
      break;
    }
    return this.#quick ? quick : full;
  }

  /** A quick run changes a count that is the same in all runs. It does not remove levels. */
  #readQuick(name: 'records' | 'operations', given: number | undefined): void {
    const levels = this.#levelsOf(name);
    if (levels.length > 1) {
      if (given === undefined) return;
      this.#add(
        ['quick', name],
        `${name} has several levels in easy, which a quick run keeps: remove it here`,
      );
    } else if (this.#quick) {
      const value = given ?? Math.min(Number(levels[0]), QUICK[name]);
      if (name in this.#easy) this.#easy[name] = [value];
      else this.#fixed[name] = value;
    }
  }

  #networks(): Readonly<Record<string, NetworkProfile>> {
    const profiles: Record<string, NetworkProfile> = {};
    for (const [name, { delay, jitter = '0s', loss = 0, rate }] of Object.entries(
      this.#file.networks ?? {},
    )) {
      const path = ['networks', name];
      if (name === NONE) this.#add(path, 'none is the network as it is: choose another name', true);
      profiles[name] = {
        delayMs: this.#milliseconds([...path, 'delay'], delay),
        jitterMs: this.#milliseconds([...path, 'jitter'], jitter),
        loss,
        kilobitsPerSecond: rate === undefined ? null : this.#rate([...path, 'rate'], rate),
      };
    }
    return profiles;
  }

  #milliseconds(path: Path, given: string | number): number {
    return this.#parsed(path, () => Math.round(duration(0, 60).parse(String(given)) * 1e6) / 1000) ?? 0;
  }

  #rate(path: Path, given: string): number | null {
    const [, number, unit] = /^(\d+(?:\.\d+)?)(Kbit|Mbit|Gbit)$/.exec(given) ?? [];
    const rate = Number(number) * ({ Kbit: 1, Mbit: 1000, Gbit: 1_000_000 }[unit ?? ''] ?? Number.NaN);
    if (rate > 0) return rate;
    this.#add(path, `${JSON.stringify(given)} is not a rate such as 512Kbit, 10Mbit or 1Gbit`);
    return null;
  }

  #parsed<T>(path: Path, parse: () => T): T | null {
    try {
      return parse();
    } catch (error) {
      this.#add(path, (error as Error).message);
      return null;
    }
  }

  #checkNetworks(networks: Readonly<Record<string, NetworkProfile>>): void {
    const known = Object.keys(networks);
    for (const level of this.#hard.network ?? [this.#fixed.network!]) {
      if (level === NONE || known.includes(String(level))) continue;
      const hint = didYouMean(String(level), known) || ': add it to networks';
      this.#add(this.placeOf('network', level), `there is no profile ${level}${hint}`);
    }
  }

  #exclude(): readonly Exclusion[] {
    return (this.#file.exclude ?? []).flatMap(({ because, ...where }, index) => {
      const path = ['exclude', index];
      const factors: Record<string, readonly Level[]> = {};
      for (const [name, given] of Object.entries(where)) {
        const levels = this.#levels([...path, name], name, given);
        if (levels === null) continue;
        const known = this.#levelsOf(name);
        for (const level of levels) {
          if (known.includes(level)) continue;
          const there = known.length === 0 ? 'none' : known.join(', ');
          this.#add([...path, name], `no run has the level ${level}: the levels of ${name} are ${there}`);
        }
        factors[name] = levels;
      }
      return combinations(factors).map((levels) => ({ where: levels, because: String(because) }));
    });
  }

  #levelsOf(name: string): readonly Level[] {
    const fixed = this.#fixed[name];
    return this.#hard[name] ?? this.#easy[name] ?? (fixed === undefined ? [] : [fixed]);
  }

  #readWorkloadFiles(): void {
    for (const level of this.#easy.workload!) {
      const name = String(level);
      if (isWorkloadLetter(name)) continue;
      const path = this.placeOf('workload', level);
      const text = this.#readFile(path, name);
      const properties = text === null ? null : this.#parsed(path, () => parseProperties(text, name));
      if (properties !== null) this.#checkProperties(path, name, properties);
    }
  }

  /** The size of a record is a level in the results, so a property file must not set another one. */
  #checkProperties(path: Path, file: string, properties: ReadonlyMap<string, string>): void {
    for (const [factor, property] of [
      ['fields', 'fieldcount'],
      ['length', 'fieldlength'],
    ] as const) {
      const own = properties.get(property)?.trim();
      const levels = this.#levelsOf(factor);
      if (own === undefined || (levels.length === 1 && own === String(levels[0]))) continue;
      const problem = `${file} sets ${property} to ${own}, and the factor ${factor} is ${levels.join(', ')}`;
      this.#add(path, `${problem}: remove it from the file, or give ${factor} this level`);
    }
  }

  /** Keeps the text of a file beside the experiment file, so that results contain it. */
  #readFile(path: Path, name: string): string | null {
    if (isAbsolute(name)) {
      this.#add(path, 'it is an absolute path: name a file relative to the experiment file');
      return null;
    }
    try {
      this.#files[name] = readBounded(join(this.#directory, name));
      return this.#files[name];
    } catch (error) {
      this.#add(path, (error as ConfigError).problems[0]!);
      return null;
    }
  }

  #published(): readonly Published[] {
    const known = [...FACTORS.keys(), 'metric', 'value', 'unit', 'flag'];
    const names = new Set<string>();
    for (const [index, { file }] of (this.#file.published ?? []).entries()) {
      const path = ['published', index, 'file'];
      // Results have all files in one directory.
      const name = basename(file);
      if (names.has(name)) this.#add(path, `another file is named ${name} too: rename one of them`);
      names.add(name);
      const text = this.#readFile(path, file);
      if (text === null) continue;
      const columns = text
        .replace(/^\uFEFF/, '')
        .split(/\r?\n/)[0]!
        .split(',')
        .map((column) => column.trim());
      for (const column of ['metric', 'value']) {
        if (!columns.includes(column)) this.#add(path, `${file} has no column ${column} in its first line`);
      }
      const unknown = columns.find((column) => !known.includes(column) && !column.startsWith('url.'));
      if (unknown !== undefined) {
        this.#add(
          path,
          `${file}: the column ${JSON.stringify(unknown)} is not a factor${didYouMean(unknown, known)}`,
        );
      }
    }
    return this.#file.published ?? [];
  }

  #valid(): ValidityLimits {
    const { clockStep, swap, ...numbers } = this.#file.valid ?? {};
    const limits = { ...LIMITS, ...(numbers as Partial<ValidityLimits>) };
    const milliseconds = () => Math.round(duration(0, 3600).parse(String(clockStep)) * 1000);
    const size = () => bytes(0, Number.MAX_SAFE_INTEGER).parse(String(swap));
    return {
      ...limits,
      ...(clockStep === undefined
        ? {}
        : { clockStepMs: clockStep && this.#parsed(['valid', 'clockStep'], milliseconds) }),
      ...(swap === undefined
        ? {}
        : { swapBytes: swap === null ? null : this.#parsed(['valid', 'swap'], size) }),
    } as ValidityLimits;
  }

  /** Workloads by level, of any size, or null after a mistake. Each combination of sizes is checked. */
  #workloads(
    levels: Pick<Study, 'hard' | 'easy' | 'fixed' | 'exclude'>,
  ): ReadonlyMap<string, RecordWorkload> | null {
    const found = new Map<string, RecordWorkload>();
    const checked = new Set<string>();
    for (const hard of combinations(levels.hard)) {
      for (const { easy } of seriesOf(levels, hard)) {
        const all = allLevels(levels, easy);
        const { workload, records, operations, fields, length, distribution } = all;
        const key = JSON.stringify([workload, records, operations, fields, length, distribution]);
        if (checked.has(key)) continue;
        checked.add(key);
        const path = this.placeOf('workload', workload!);
        const made = this.#parsed(path, () => {
          const result = workloadOf({ files: this.#files }, all);
          for (const property of result.ignored) refuseUnknown(String(workload), property);
          return result;
        });
        if (made !== null && !found.has(String(workload))) found.set(String(workload), made);
      }
    }
    if (this.mistakes.length > 0) return null;
    if (found.size > 0) return found;
    this.#add(['exclude'], 'all combinations are excluded: remove an exclusion');
    return null;
  }

  #state(workloads: ReadonlyMap<string, RecordWorkload>): Readonly<Record<string, TableState>> {
    const given = this.#file.state;
    const known = this.#easy.workload!.map(String);
    const byWorkload = new Map<string, TableState>();
    for (const [name, state] of Object.entries(isObject(given) ? given : {})) {
      const workload = isWorkloadLetter(name) ? name.toLowerCase() : name;
      if (known.includes(workload)) byWorkload.set(workload, state);
      else {
        const hint = didYouMean(name, known) || `: there are ${known.join(', ')}`;
        this.#add(['state', name], `no run has this workload${hint}`, true);
      }
    }
    const result: Record<string, TableState> = {};
    for (const [name, workload] of workloads) {
      const grows = growsTable(workload);
      const preset = typeof given === 'string' ? given : grows ? 'reload' : 'reuse';
      const state = byWorkload.get(name) ?? preset;
      if (grows && state === 'reuse') {
        this.#add(
          ['state', ...(isObject(given) ? [name] : [])],
          `workload ${name} inserts records, so its table cannot be reused: write ${name}: reload, or restore`,
        );
      }
      result[name] = state;
    }
    return result;
  }

  #analyse(workloads: ReadonlyMap<string, RecordWorkload>): AnalysisPlan {
    const { plan, mistakes } = analysisOf(this.#file.analyse ?? {}, {
      hard: this.#hard,
      easy: this.#easy,
      fixed: this.#fixed,
      workloads: [...workloads.values()],
    });
    this.mistakes.push(...mistakes);
    return plan;
  }

  #checkSize({ deployments, trials }: Study['repeat']): void {
    const runs = combinationCount(this.#hard) * combinationCount(this.#easy) * deployments * trials;
    if (runs <= MAX_RUNS) return;
    const problem = `the plan has ${runs.toLocaleString('en')} runs, and at most ${MAX_RUNS.toLocaleString('en')} are possible`;
    this.#add(['repeat'], `${problem}: remove levels or trials`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, never>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
