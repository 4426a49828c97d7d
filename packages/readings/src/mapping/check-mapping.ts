import { unitProblem } from '../reading.ts';
import { DECIMALS } from './numbers.ts';
import { type MappingOptions, VALUE_KINDS } from './options.ts';
import { PARSED_AS } from './parsed-fields.ts';
import { isTable } from './paths.ts';
import { MAX_STARS } from './patterns.ts';
import { compileTemplate, templateProblem } from './template.ts';
import { TIME_FORMATS, TIME_UNITS, UNKNOWN_ZONE } from './times.ts';
import { isRegistered, isUnit, registeredUnit, registeredUnits } from './units.ts';
import { zoneProblem } from './zones.ts';

/** A mistake in the options of a mapping. */
export interface MappingProblem {
  /** Where it is: keys and indexes. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** The mistake is the key itself. */
  readonly atKey?: boolean;
  /** A word and the words that are valid in its place, for "did you mean". */
  readonly word?: string;
  readonly known?: readonly string[];
  /** The mapping can be used nevertheless. */
  readonly isWarning?: boolean;
}

/** Every key of a mapping. */
export const MAPPING_KEYS = [
  ...(['records', 'parse', 'device', 'metric', 'value', 'unit', 'time', 'keep', 'drop', 'rename'] as const),
  ...(['values', 'units', 'scale', 'offset', 'decimal'] as const),
] as const satisfies readonly (keyof MappingOptions)[];

const TIME_KEYS = ['field', 'zone', 'unit', 'format'] as const;
/** Entries of a list or table. */
const MOST_ENTRIES = 500;
/**
 * Patterns with `*` of a mapping, in all its lists and tables. Every new name of a payload is compared with them; a name
 * without `*` is looked up.
 */
const MOST_WILD = 200;
/** Fields that can be the time. */
const MOST_TIMES = 20;
/** Keys of a table with fixed keys: more are no spelling mistakes. */
const MOST_KEYS = 50;
const LONGEST_PATH = 256;

/** All mistakes of the options of a mapping, as they are in a routes file. Empty when `compileMapping` accepts them. */
export function checkMapping(options: unknown): readonly MappingProblem[] {
  const check = new Check();
  check.mapping(options);
  return check.problems;
}

/** The names in the templates of a mapping, which the topic template can give. */
export function templateNames({ device, metric, time }: MappingOptions): readonly string[] {
  const fields = typeof time === 'object' && time !== null ? [time.field ?? []].flat() : [];
  const templates = [device, metric, ...fields].filter((text) => text !== undefined);
  return templates.flatMap((text) => (templateProblem(text) === null ? compileTemplate(text).names : []));
}

type Place = readonly (string | number)[];

class Check {
  readonly problems: MappingProblem[] = [];
  #wild = 0;

  mapping(options: unknown): void {
    const table = this.#table(options, [], MAPPING_KEYS, 'a key of a mapping');
    if (table === null) return;
    this.#paths(table.records, ['records']);
    this.#path(table.value, ['value']);
    if (table.unit !== false) this.#path(table.unit, ['unit']);
    this.#template(table.device, ['device']);
    this.#template(table.metric, ['metric']);
    this.#time(table.time);
    this.#choice(table.decimal, DECIMALS, ['decimal']);
    for (const key of ['keep', 'drop'] as const) this.#patterns(table[key], key);
    this.#rename(table.rename);
    this.#values(table.values);
    this.#entries(table.parse, 'parse', (as, place) => this.#choice(as, PARSED_AS, place));
    this.#entries(table.units, 'units', (unit, place) => this.#unit(unit, place));
    for (const key of ['scale', 'offset'] as const) {
      this.#entries(table[key], key, (value, place) => {
        if (typeof value !== 'number' || !Number.isFinite(value))
          this.#add(place, `${shown(value)} is not a number`);
      });
    }
    if (this.#wild > MOST_WILD)
      this.#add([], `it has ${this.#wild} patterns with *, and at most ${MOST_WILD} are used`);
  }

  #time(time: unknown): void {
    if (time === undefined || time === false) return;
    if (typeof time === 'string') {
      this.#timeField(time, ['time']);
      return;
    }
    if (time === true) {
      this.#add(['time'], 'true is not valid: name the field, or give false for the time of receipt');
      return;
    }
    const table = this.#table(time, ['time'], TIME_KEYS, 'a key of time');
    if (table === null) return;
    const fields = Array.isArray(table.field) ? table.field : table.field === undefined ? [] : [table.field];
    if (fields.length > MOST_TIMES) {
      this.#add(['time', 'field'], `it has ${fields.length} fields, and at most ${MOST_TIMES} are used`);
      return;
    }
    for (const [index, field] of fields.entries()) {
      this.#timeField(field, Array.isArray(table.field) ? ['time', 'field', index] : ['time', 'field']);
    }
    if (Array.isArray(table.field) && fields.length === 0) this.#add(['time', 'field'], 'the list is empty');
    this.#choice(table.unit, TIME_UNITS, ['time', 'unit']);
    this.#choice(table.format, TIME_FORMATS, ['time', 'format']);
    this.#zone(table.zone);
  }

  #zone(zone: unknown): void {
    if (zone === undefined || zone === UNKNOWN_ZONE) return;
    const problem = typeof zone === 'string' ? zoneProblem(zone) : `${shown(zone)} is not a text`;
    if (problem !== null) this.#add(['time', 'zone'], problem);
  }

  #timeField(field: unknown, place: Place): void {
    if (typeof field === 'string' && field.includes('{')) this.#template(field, place);
    else this.#path(field ?? '', place);
  }

  #rename(rename: unknown): void {
    this.#entries(rename, 'rename', (name, place, pattern) => {
      if (typeof name !== 'string' || name === '') {
        this.#add(place, `${shown(name)} is not a name`);
        return;
      }
      if (count(name, '*') > count(pattern, '*'))
        this.#add(place, `${shown(name)} has more * than ${shown(pattern)}`);
    });
  }

  #values(values: unknown): void {
    this.#entries(values, 'values', (kind, place) => {
      if (typeof kind === 'string') {
        this.#choice(kind, VALUE_KINDS, place);
        return;
      }
      if (!isTable(kind) || Object.keys(kind).length === 0) {
        this.#add(
          place,
          `${shown(kind)} is not one of ${VALUE_KINDS.join(', ')}, or a table of words and numbers`,
        );
        return;
      }
      const words = Object.entries(kind);
      if (words.length > MOST_ENTRIES) {
        this.#add(place, `it has ${words.length} words, and at most ${MOST_ENTRIES} are used`);
        return;
      }
      for (const [word, number] of words) {
        if (typeof number !== 'number' || !Number.isFinite(number)) {
          this.#add([...place, word], `${shown(number)} is not a number`);
        }
      }
    });
  }

  #unit(unit: unknown, place: Place): void {
    if (typeof unit !== 'string' || unitProblem(unit) !== null) {
      this.#add(place, `${shown(unit)} is not a unit, a text of 1 to 64 characters`);
      return;
    }
    if (unit.includes('{')) {
      this.#template(unit, place);
      return;
    }
    if (isRegistered(registeredUnit(unit)) || isUnit(unit)) return;
    this.problems.push({
      path: place,
      message: `${shown(unit)} is not in the SenML registry; it is used as it is`,
      word: unit,
      known: registeredUnits,
      isWarning: true,
    });
  }

  #template(template: unknown, place: Place): void {
    if (template === undefined) return;
    const problem =
      typeof template === 'string' ? templateProblem(template) : `${shown(template)} is not a text`;
    if (problem !== null)
      this.#add(place, `the template is not valid: ${problem}; an example is {site}/{data.id}`);
  }

  #paths(paths: unknown, place: Place): void {
    if (!Array.isArray(paths)) {
      this.#path(paths, place);
      return;
    }
    if (paths.length === 0 || paths.length > MOST_ENTRIES) {
      this.#add(place, `it has ${paths.length} paths: give 1 to ${MOST_ENTRIES}`);
      return;
    }
    for (const [index, path] of paths.entries()) this.#path(path ?? '', [...place, index]);
  }

  #path(path: unknown, place: Place): void {
    if (path === undefined) return;
    if (typeof path !== 'string' || path === '' || path.length > LONGEST_PATH) {
      this.#add(place, `${shown(path)} is not a path; give a text such as data.temperature`);
    }
  }

  #patterns(patterns: unknown, key: string): void {
    if (patterns === undefined) return;
    if (!Array.isArray(patterns)) {
      this.#add([key], `it is a list of patterns, such as [${key === 'keep' ? 'data.*' : 'update.*'}]`);
      return;
    }
    if (this.#isTooLong(patterns, key, 'patterns')) return;
    for (const [index, pattern] of patterns.entries()) this.#pattern(pattern, [key, index]);
  }

  #pattern(pattern: unknown, path: Place, atKey = false): void {
    const add = (message: string) => void this.problems.push({ path, message, ...(atKey ? { atKey } : {}) });
    if (typeof pattern !== 'string' || pattern === '' || pattern.length > LONGEST_PATH) {
      add(`${shown(pattern)} is not a pattern, a text of 1 to ${LONGEST_PATH} characters`);
      return;
    }
    const stars = count(pattern, '*');
    if (stars > MAX_STARS) add(`a pattern has at most ${MAX_STARS} *`);
    if (stars > 0) this.#wild++;
  }

  #isTooLong({ length }: readonly unknown[], key: string, what: string): boolean {
    if (length <= MOST_ENTRIES) return false;
    this.#add([key], `it has ${length} ${what}, and at most ${MOST_ENTRIES} are used`);
    return true;
  }

  #entries(table: unknown, key: string, each: (value: unknown, place: Place, pattern: string) => void): void {
    if (table === undefined) return;
    if (!isTable(table)) {
      this.#add([key], `${shown(table)} is not a table of patterns`);
      return;
    }
    const entries = Object.entries(table);
    if (this.#isTooLong(entries, key, 'entries')) return;
    for (const [pattern, value] of entries) {
      this.#pattern(pattern, [key, pattern], true);
      each(value, [key, pattern], pattern);
    }
  }

  #choice(value: unknown, known: readonly string[], path: Place): void {
    if (value === undefined || known.includes(value as string)) return;
    const message = `${shown(value)} is not one of ${known.join(', ')}`;
    this.problems.push({ path, message, ...(typeof value === 'string' ? { word: value, known } : {}) });
  }

  #table<K extends string>(
    value: unknown,
    path: Place,
    known: readonly K[],
    what: string,
  ): Readonly<Partial<Record<K, unknown>>> | null {
    if (!isTable(value)) {
      this.#add(path, `${shown(value)} is not a table with keys of ${known.join(', ')}`);
      return null;
    }
    const keys = Object.keys(value);
    if (keys.length > MOST_KEYS) {
      this.#add(path, `it has ${keys.length} keys; it is a table with keys of ${known.join(', ')}`);
      return null;
    }
    for (const key of keys) {
      if ((known as readonly string[]).includes(key)) continue;
      const message = `${key} is not ${what} (${known.join(', ')})`;
      this.problems.push({ path: [...path, key], message, atKey: true, word: key, known });
    }
    return value as Readonly<Partial<Record<K, unknown>>>;
  }

  #add(path: Place, message: string): void {
    this.problems.push({ path, message });
  }
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
