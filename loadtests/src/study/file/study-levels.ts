import { combinations } from '../combinations.ts';
import type { Combination, Exclusion, Level } from '../model.ts';
import { FACTORS, factorNamed } from './factors.ts';
import type { OneOrMore } from './study-file.ts';
import { isObject, type StudyInput } from './study-input.ts';
import type { Path } from './yaml-file.ts';

const DEFAULT_DRIVERS: readonly Level[] = ['raw', 'app'];
/** These factors are always among the varied ones, so that every part finds them there. */
const ALWAYS_VARIED: readonly string[] = ['store', 'workload', 'driver'];

/** The factors of an experiment file and their levels, in the form that plans have. */
export class StudyLevels {
  readonly hard: Record<string, readonly Level[]> = {};
  readonly easy: Record<string, readonly Level[]> = {};
  readonly fixed: Record<string, Level> = {};
  readonly #input: StudyInput;

  /** Mistakes are added to the input. */
  constructor(input: StudyInput) {
    this.#input = input;
    for (const section of ['hard', 'easy'] as const) {
      for (const [name, levels] of Object.entries(this.#section(section))) {
        const parsed = this.#parsed([section, name], name, levels);
        if (parsed !== null) this[section][name] = parsed;
      }
    }
    for (const [name, level] of Object.entries(this.#section('fixed'))) {
      if (name in this.hard || name in this.easy) {
        input.add(['fixed', name], 'it has levels in hard or easy too: remove one of them', true);
      }
      const parsed = this.#parsed(['fixed', name], name, level);
      if (parsed !== null) this.fixed[name] = parsed[0]!;
    }
    this.#addDefaults();
  }

  /** The levels of a factor; none when the study does not have it. */
  of(name: string): readonly Level[] {
    const fixed = this.fixed[name];
    return this.hard[name] ?? this.easy[name] ?? (fixed === undefined ? [] : [fixed]);
  }

  /** Gives a factor one level, in the section where it is. */
  set(name: string, level: Level): void {
    if (name in this.easy) this.easy[name] = [level];
    else this.fixed[name] = level;
  }

  /** Where a level of a factor is in the file. */
  placeOf(factor: string, level: Level): Path {
    for (const section of ['hard', 'easy', 'fixed'] as const) {
      const given = this.#section(section)[factor];
      if (given === undefined) continue;
      if (!Array.isArray(given)) return [section, factor];
      const index = given.findIndex((each: Level) => parseLevel(factor, each) === level);
      return [section, factor, Math.max(0, index)];
    }
    return [];
  }

  /** The exclusions of the file, one for each combination that an entry names. */
  exclusions(): readonly Exclusion[] {
    return (this.#input.file.exclude ?? []).flatMap(({ because, ...where }, index) => {
      const path = ['exclude', index];
      const factors: Record<string, readonly Level[]> = {};
      for (const [name, given] of Object.entries(where)) {
        const levels = this.#parsed([...path, name], name, given);
        if (levels === null) continue;
        const known = this.of(name);
        for (const level of levels) {
          if (known.includes(level)) continue;
          const there = known.length === 0 ? 'none' : known.join(', ');
          this.#input.add(
            [...path, name],
            `no run has the level ${level}: the levels of ${name} are ${there}`,
          );
        }
        factors[name] = levels;
      }
      return combinations(factors).map(
        (levels: Combination): Exclusion => ({ where: levels, because: String(because) }),
      );
    });
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
      const level = this.fixed[name];
      if (level === undefined) continue;
      delete this.fixed[name];
      this[FACTORS.get(name)!.section][name] = [level];
    }
    const isGiven = (name: string) => this.of(name).length > 0 || this.#isGivenInFile(name);
    for (const { name, default: preset } of FACTORS.values()) {
      if (isGiven(name) || preset === null) continue;
      if (ALWAYS_VARIED.includes(name)) this.easy[name] = [preset];
      else this.fixed[name] = preset;
    }
    if (!isGiven('driver')) this.easy.driver = DEFAULT_DRIVERS;
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
