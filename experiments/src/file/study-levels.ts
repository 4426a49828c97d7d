import { didYouMean } from '@tidegauge/text';
import type { Path } from '@tidegauge/yaml-file';
import { combinations } from '../combinations.ts';
import type { Combination, Exclusion, Level, Study } from '../model.ts';
import { FACTORS, factorNamed, UNSET, urlOption } from './factors.ts';
import type { OneOrMore } from './study-file.ts';
import { isObject, type StudyInput } from './study-input.ts';

const DEFAULT_DRIVERS: readonly Level[] = ['raw', 'app'];
/** These factors are always among the varied ones, so that every part finds them there. */
const ALWAYS_VARIED: readonly string[] = ['store', 'workload', 'driver'];

type LevelsByFactor = Readonly<Record<string, readonly Level[]>>;

/** The factors of a study and their levels. */
export interface StudyFactors extends Pick<Study, 'hard' | 'easy' | 'fixed'> {
  /** Levels of all factors in `hard` and `easy`, by the name of the part. null: the file has no parts. */
  readonly parts: Readonly<Record<string, LevelsByFactor>> | null;
}

/** The factors of an experiment file and their levels, in the form that plans have. */
export class StudyLevels {
  readonly #input: StudyInput;
  // Sections of the file, with the defaults. Parts differ from these.
  readonly #hard: Record<string, readonly Level[]> = {};
  readonly #easy: Record<string, readonly Level[]> = {};
  readonly #fixed: Record<string, Level> = {};
  readonly #parts = new Map<string, Record<string, readonly Level[]>>();
  /** Levels of parts that are left out: by a quick run, or with their part. */
  readonly #leftOut = new Map<string, readonly Level[]>();

  /** Mistakes are added to the input. */
  constructor(input: StudyInput) {
    this.#input = input;
    for (const [section, varied] of [
      ['hard', this.#hard],
      ['easy', this.#easy],
    ] as const) {
      for (const [name, levels] of Object.entries(this.#section(section))) {
        const parsed = this.#parsed([section, name], name, levels);
        if (parsed !== null) varied[name] = parsed;
      }
    }
    for (const [name, level] of Object.entries(this.#section('fixed'))) {
      if (name in this.#hard || name in this.#easy) {
        input.add(['fixed', name], 'it has levels in hard or easy too: remove one of them', true);
      }
      const parsed = this.#parsed(['fixed', name], name, level);
      if (parsed !== null) this.#fixed[name] = parsed[0]!;
    }
    this.#readParts();
    this.#readQuickParts();
    this.#leaveOutParts();
    this.#addDefaults();
  }

  /** The levels of a factor in all parts; none when the study does not have it. */
  of(name: string): readonly Level[] {
    if (this.#parts.size === 0) return this.#outsideParts(name);
    const all = [...this.#parts.values()].flatMap((part) => part[name] ?? this.#outsideParts(name));
    const levels = [...new Set(all)];
    return levels.every((level) => typeof level === 'number') ? levels.toSorted((a, b) => a - b) : levels;
  }

  /**
   * Replaces the level of a factor wherever it has a single one. Returns whether it has one outside the parts.
   *
   * @param by gets the part whose own level it is, or null
   */
  replace(name: string, by: (level: Level, part: string | null) => Level): boolean {
    for (const [part, levels] of this.#parts) {
      if (levels[name]?.length === 1) levels[name] = [by(levels[name][0]!, part)];
    }
    const [level, ...others] = this.#outsideParts(name);
    if (level === undefined || others.length > 0) return false;
    if (name in this.#fixed) this.#fixed[name] = by(level, null);
    else this.#easy[name] = [by(level, null)];
    return true;
  }

  /** Whether the part has its own level of the factor, and only one. */
  isSingleIn(part: string, name: string): boolean {
    return this.#parts.get(part)?.[name]?.length === 1;
  }

  /** All factors. Those that a part names vary. */
  factors(): StudyFactors {
    const [hard, easy, fixed] = [{ ...this.#hard }, { ...this.#easy }, { ...this.#fixed }];
    if (this.#parts.size === 0) return { hard, easy, fixed, parts: null };
    for (const name of new Set([...this.#parts.values()].flatMap((part) => Object.keys(part)))) {
      delete fixed[name];
      (this.#sectionOf(name) === 'hard' ? hard : easy)[name] = [];
    }
    const names = [...Object.keys(hard), ...Object.keys(easy)];
    for (const name of names) (name in hard ? hard : easy)[name] = this.of(name);
    const parts = [...this.#parts].map(([part, levels]) => [
      part,
      Object.fromEntries(names.map((name) => [name, levels[name] ?? this.#outsideParts(name)])),
    ]);
    return { hard, easy, fixed, parts: Object.fromEntries(parts) };
  }

  /** Where a level of a factor is in the file. */
  placeOf(factor: string, level: Level): Path {
    for (const section of ['hard', 'easy', 'fixed'] as const) {
      const given = this.#section(section)[factor];
      if (given === undefined) continue;
      if (!Array.isArray(given)) return [section, factor];
      const index = given.findIndex((each: Level) => parseLevel(factor, each) === level);
      if (index !== -1) return [section, factor, index];
    }
    const part = [...this.#parts].find(([, levels]) => levels[factor]?.includes(level));
    return part === undefined ? [] : ['parts', part[0], factor];
  }

  /** The exclusions that hold in the place of the study, one for each combination that an entry names. */
  exclusions(): readonly Exclusion[] {
    const { file, on: here, available } = this.#input;
    return (file.exclude ?? []).flatMap(({ because, on, without, ...where }, index) => {
      const path = ['exclude', index];
      const factors: Record<string, readonly Level[]> = {};
      for (const [name, given] of Object.entries(where)) {
        const levels = this.#excludedLevels([...path, name], name, given);
        if (levels !== null) factors[name] = levels;
      }
      if (on !== undefined && here !== null && ![on].flat().includes(here)) return [];
      if (without !== undefined && available.includes(without)) return [];
      return combinations(factors).map(
        (levels: Combination): Exclusion => ({ where: levels, because: String(because) }),
      );
    });
  }

  /** The levels of a factor in an exclusion, or null after a mistake. A level that no run has is a mistake, and is kept. */
  #excludedLevels(path: Path, name: string, given: OneOrMore<Level>): readonly Level[] | null {
    const levels = this.#parsed(path, name, given);
    if (levels === null) return null;
    const known = [...this.of(name), ...(this.#leftOut.get(name) ?? [])];
    const there = known.length === 0 ? 'none' : known.join(', ');
    for (const level of levels) {
      if (known.includes(level)) continue;
      this.#input.add(path, `no run has the level ${level}: the levels of ${name} are ${there}`);
    }
    return levels;
  }

  #readParts(): void {
    for (const [part, factors] of Object.entries(this.#input.file.parts ?? {})) {
      const levels: Record<string, readonly Level[]> = {};
      for (const [name, each] of Object.entries(factors ?? {})) {
        const parsed = this.#parsed(['parts', part, name], name, each);
        if (parsed !== null) levels[name] = parsed;
      }
      this.#parts.set(part, levels);
    }
  }

  /** Parts with fewer levels in a quick run. Mistakes are found in full runs too. */
  #readQuickParts(): void {
    for (const [part, factors] of Object.entries(this.#input.file.quick?.parts ?? {})) {
      const levels = this.#parts.get(part);
      if (levels === undefined) {
        const known = [...this.#parts.keys()];
        this.#input.add(['quick', 'parts', part], `there is no part ${part}${didYouMean(part, known)}`, true);
        continue;
      }
      for (const [name, given] of Object.entries(factors ?? {})) {
        const kept = this.#parsed(['quick', 'parts', part, name], name, given);
        // The counts of a part are applied with those of the whole study.
        if (kept === null || (['records', 'operations'].includes(name) && !Array.isArray(given))) continue;
        this.#keepLevels(part, levels, name, kept);
      }
    }
  }

  /** Keeps these levels of a factor of a part in a quick run. Another level than the part has is a mistake. */
  #keepLevels(
    part: string,
    levels: Record<string, readonly Level[]>,
    name: string,
    kept: readonly Level[],
  ): void {
    const all = levels[name] ?? [];
    const other = kept.find((level) => !all.includes(level));
    if (other !== undefined) {
      const there = all.length === 0 ? 'it does not name this factor' : `it has ${all.join(', ')}`;
      const message = `the part ${part} does not have the level ${other}: ${there}`;
      this.#input.add(['quick', 'parts', part, name], message);
    } else if (this.#input.quick) {
      levels[name] = kept;
      const leftOut = all.filter((level) => !kept.includes(level));
      this.#leftOut.set(name, [...(this.#leftOut.get(name) ?? []), ...leftOut]);
    }
  }

  /** Removes the parts that the caller did not ask for. */
  #leaveOutParts(): void {
    const { onlyParts } = this.#input;
    const known = [...this.#parts.keys()];
    for (const part of onlyParts) {
      if (known.includes(part)) continue;
      const there = known.length === 0 ? 'the file has no parts' : `the parts are ${known.join(', ')}`;
      this.#input.add(['parts'], `there is no part ${part}${didYouMean(part, known) || `: ${there}`}`);
    }
    const removed = known.filter((part) => !this.#input.keeps(part));
    if (removed.length === 0) return;
    const factors = [this.#hard, this.#easy, this.#fixed, ...this.#parts.values()];
    for (const name of new Set(factors.flatMap((levels) => Object.keys(levels)))) {
      this.#leftOut.set(name, [...(this.#leftOut.get(name) ?? []), ...this.of(name)]);
    }
    for (const part of removed) this.#parts.delete(part);
  }

  /** An option of a STORE URL is easy where the file has it there: each series then opens its tables with it. */
  #sectionOf(name: string): 'hard' | 'easy' {
    return name in this.#easy ? 'easy' : factorNamed(name).section;
  }

  /** The levels of a factor in a part that does not name it. */
  #outsideParts(name: string): readonly Level[] {
    const fixed = this.#fixed[name];
    if (fixed !== undefined) return [fixed];
    // Options of a STORE URL are not among the defaults.
    return (
      this.#hard[name] ??
      this.#easy[name] ??
      (urlOption(name) !== null && this.#isInParts(name) ? [UNSET] : [])
    );
  }

  #isInParts(name: string): boolean {
    return [...this.#parts.values()].some((part) => name in part);
  }

  /** Factors of a section; none when it is not a set of keys, which the schema reports. */
  #section(name: 'hard' | 'easy' | 'fixed'): Readonly<Record<string, OneOrMore<Level>>> {
    const given: unknown = this.#input.file[name];
    return isObject(given) ? given : {};
  }

  /** The levels of a factor in the form that plans have, or null after a mistake. */
  #parsed(path: Path, name: string, given: OneOrMore<Level>): readonly Level[] | null {
    if (this.#input.isRefused(path)) return null;
    const isList = Array.isArray(given);
    const levels: Level[] = [];
    let isRight = true;
    for (const [index, level] of [given].flat().entries() as ArrayIterator<[number, Level]>) {
      const place = isList ? [...path, index] : path;
      try {
        const parsed = factorNamed(name).parse(level);
        if (levels.includes(parsed)) this.#input.add(place, `the level ${parsed} is there twice`);
        levels.push(parsed);
      } catch (error) {
        isRight = false;
        this.#input.add(place, levelMessage(name, level, (error as Error).message), isUnknown(name));
      }
      if (isUnknown(name)) break;
    }
    return isRight ? levels : null;
  }

  #addDefaults(): void {
    for (const name of ALWAYS_VARIED) {
      const level = this.#fixed[name];
      if (level === undefined) continue;
      delete this.#fixed[name];
      (FACTORS.get(name)!.section === 'hard' ? this.#hard : this.#easy)[name] = [level];
    }
    const isGiven = (name: string) => this.#outsideParts(name).length > 0 || this.#isGivenInFile(name);
    for (const { name, default: preset } of FACTORS.values()) {
      if (isGiven(name) || preset === null) continue;
      if (ALWAYS_VARIED.includes(name)) this.#easy[name] = [preset];
      else this.#fixed[name] = preset;
    }
    if (!isGiven('driver')) this.#easy.driver = DEFAULT_DRIVERS;
    const isMisspelt = this.#input.mistakes.some(({ path }) => path[0] === 'hard');
    if (!isGiven('store') && !isMisspelt) {
      this.#input.add(['hard'], 'store is missing: name at least one store');
    }
  }

  #isGivenInFile(name: string): boolean {
    return (['hard', 'easy', 'fixed'] as const).some((section) =>
      Object.hasOwn(this.#section(section), name),
    );
  }
}

function parseLevel(factor: string, level: Level): Level | null {
  try {
    return factorNamed(factor).parse(level);
  } catch {
    return null;
  }
}

function isUnknown(factor: string): boolean {
  try {
    factorNamed(factor);
    return false;
  } catch {
    return true;
  }
}

function levelMessage(name: string, level: Level, reason: string): string {
  if (isUnknown(name)) return reason;
  // A URL can have a password.
  const shown = name === 'store' ? '' : ` ${JSON.stringify(level)}`;
  const takes = reason.endsWith('?') ? '' : `. It must be ${factorNamed(name).takes}`;
  return `the level${shown} is not possible: ${reason}${takes}`;
}
