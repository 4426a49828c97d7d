import type { Decimal } from './numbers.ts';
import type { ParsedAs } from './parsed-fields.ts';
import { type TimeFormat, type TimeUnit, UNKNOWN_ZONE } from './times.ts';

/**
 * How the texts of a metric are read. Numbers stay numbers except with `text`; true and false are 1 and 0 except with
 * `text`.
 *
 * - `auto`: numbers, also with a unit, are numbers. Words for no value and colours are skipped. Others are texts.
 * - `any`: like `auto`, but common words for states such as ON or closed are 1 and 0, also when the payload is JSON.
 *   Other texts are texts, also when they are the whole payload.
 * - `as-is`: every text is a text.
 * - `number`: numbers, also with a unit. Other texts are skipped.
 * - `state`: words for states such as ON or closed are 1 and 0. Other words are skipped.
 * - `text`: every value is a text.
 */
export const VALUE_KINDS = ['auto', 'any', 'as-is', 'number', 'state', 'text'] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

/** The number of each word, in any case. Other words are skipped. */
export type Words = Readonly<Record<string, number>>;

export interface TimeOptions {
  /** Paths, of which the first that exists counts, or a template such as `{date} {time}`. */
  readonly field?: string | readonly string[];
  /**
   * Zone of texts without an offset: a name of the IANA database, or `unknown` to use the time of receipt. Default: that of
   * the route or the site, else UTC with a note.
   */
  readonly zone?: string;
  /** Unit of numbers. With `auto` the size selects it. */
  readonly unit?: TimeUnit;
  readonly format?: TimeFormat;
}

/**
 * How the payloads of a route become readings, as in a routes file. Every key is optional. Paths name fields of the
 * payload (`a.b`, arrays by index `a.0.b`); patterns are paths or metrics in which `*` is any number of characters.
 */
export interface MappingOptions {
  /** Paths of the objects, or arrays of objects, that have the values. `a.*` is each entry of `a`. */
  readonly records?: string | readonly string[];
  /** Texts that hold JSON, or the advertisement of a Ruuvi sensor, and payloads of Meshtastic, by their paths. */
  readonly parse?: Readonly<Record<string, ParsedAs>>;
  /** Template of the device. */
  readonly device?: string;
  /** Template of the metric of `value`, or with `{field}` of every metric. */
  readonly metric?: string;
  /** Path of the only value of a record. */
  readonly value?: string;
  /** Path of the unit of `value`; false when no field of the payload is a unit. Without it, units are found by name. */
  readonly unit?: string | false;
  /** The time of a record; false for the time of receipt. */
  readonly time?: string | false | TimeOptions;
  /** Patterns of the paths that are used; without it, all. */
  readonly keep?: readonly string[];
  /** Patterns of the paths that are not used. */
  readonly drop?: readonly string[];
  /** Names of metrics by patterns of paths. Each `*` of a name is that of its pattern. */
  readonly rename?: Readonly<Record<string, string>>;
  /** How texts are read, by patterns of metrics. */
  readonly values?: Readonly<Record<string, ValueKind | Words>>;
  /**
   * Units by patterns of metrics, by their names in the SenML registry. A template such as `{TempUnit}` is the text of a
   * field, when the payload has it.
   */
  readonly units?: Readonly<Record<string, string>>;
  /** Factors by patterns of metrics. */
  readonly scale?: Readonly<Record<string, number>>;
  /** Numbers that are added after scaling, by patterns of metrics. */
  readonly offset?: Readonly<Record<string, number>>;
  /** What separators of numbers in texts mean; without it, only what is certain is a number. */
  readonly decimal?: Decimal;
}

/**
 * The options of a preset with the changes of a route. Tables and lists are joined, with the entries of the route
 * first, so that these count. Of `time`, each key is replaced. Every other key, and `keep`, is replaced.
 */
export function mergeMappings(preset: MappingOptions, own: MappingOptions): MappingOptions {
  const merged: Record<string, unknown> = { ...preset, ...own };
  for (const table of ['parse', 'rename', 'values', 'units', 'scale', 'offset'] as const) {
    if (preset[table] !== undefined && own[table] !== undefined) {
      merged[table] = { ...own[table], ...withoutKeys(preset[table], own[table]) };
    }
  }
  if (preset.drop !== undefined && own.drop !== undefined) merged.drop = [...own.drop, ...preset.drop];
  if (preset.time !== undefined && own.time !== undefined && own.time !== false) {
    merged.time = { ...timeOptions(preset.time), ...timeOptions(own.time) };
  }
  return merged as MappingOptions;
}

/**
 * The mapping with a zone for local times, unless it states one.
 *
 * @param zone a name of the IANA database; null: as it is
 * @param replacesUnknown whether `zone: unknown` of a preset is none
 */
export function withZone(
  mapping: MappingOptions,
  zone: string | null,
  replacesUnknown = false,
): MappingOptions {
  if (zone === null || mapping.time === false) return mapping;
  const time = timeOptions(mapping.time ?? {});
  const isStated = time.zone !== undefined && !(replacesUnknown && time.zone === UNKNOWN_ZONE);
  return isStated ? mapping : { ...mapping, time: { ...time, zone } };
}

/** The long form of `time`. */
export function timeOptions(time: string | false | TimeOptions): TimeOptions {
  if (time === false) return {};
  return typeof time === 'string' ? { field: time } : time;
}

function withoutKeys(table: object, others: object): object {
  return Object.fromEntries(Object.entries(table).filter(([key]) => !Object.hasOwn(others, key)));
}
