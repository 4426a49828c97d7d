import { didYouMean } from '@tidegauge/text';
import { RE2JS } from 're2js';
import { bad } from './errors.ts';
import { TAG_KEYS, type TagKey } from './tag-keys.ts';

// Filters of tag values: http://opentsdb.net/docs/build/html/user_guide/query/filters.html

/** A filter as a query gives it. */
export interface FilterDocument {
  readonly type: string;
  readonly tagk: string;
  readonly filter: string;
  readonly groupBy?: boolean | null;
  readonly group_by?: boolean | null;
}

export interface TagFilter {
  readonly type: string;
  readonly key: TagKey;
  /** The text of the filter. */
  readonly filter: string;
  /** Whether the answer has a series for each value of the tag. */
  readonly groupBy: boolean;
  /** The only values that match, if the filter lists them. */
  readonly literals?: readonly string[];
  /** @param value null when the device does not have the tag */
  matches(value: string | null): boolean;
}

type Match = Pick<TagFilter, 'matches' | 'literals'>;

interface FilterType {
  readonly description: string;
  readonly examples: string;
  make(filter: string): Match;
}

/** Longest regular expression, characters. It is run in linear time. */
const MAX_EXPRESSION = 1000;
/** The most values of one filter. */
const MAX_LITERALS = 10_000;

/** All types of filters, as `/api/config/filters` describes them. */
export const FILTER_TYPES: Readonly<Record<string, FilterType>> = {
  literal_or: {
    description: 'One or more exact values, with | between them.',
    examples: 'device=literal_or(site-1/pump|site-2/pump)',
    make: (filter) => {
      const literals = literalsOf(filter);
      const known = new Set(literals);
      return { literals, matches: (value) => value !== null && known.has(value) };
    },
  },
  iliteral_or: {
    description: 'As literal_or, for upper and lower case.',
    examples: 'city=iliteral_or(FARO|porto)',
    make: (filter) => {
      const known = new Set(literalsOf(filter.toLowerCase()));
      return { matches: (value) => value !== null && known.has(value.toLowerCase()) };
    },
  },
  not_literal_or: {
    description: 'All but these exact values. A device without the tag matches.',
    examples: 'device=not_literal_or(site-1/pump)',
    make: (filter) => {
      const known = new Set(literalsOf(filter));
      return { matches: (value) => value === null || !known.has(value) };
    },
  },
  not_iliteral_or: {
    description: 'As not_literal_or, for upper and lower case.',
    examples: 'city=not_iliteral_or(FARO)',
    make: (filter) => {
      const known = new Set(literalsOf(filter.toLowerCase()));
      return { matches: (value) => value === null || !known.has(value.toLowerCase()) };
    },
  },
  wildcard: {
    description: 'A text in which * stands for any characters.',
    examples: 'device=wildcard(site-1/*)',
    make: (filter) => {
      const isLike = wildcardOf(filter);
      return { matches: (value) => value !== null && isLike(value) };
    },
  },
  iwildcard: {
    description: 'As wildcard, for upper and lower case.',
    examples: 'kind=iwildcard(*Pump*)',
    make: (filter) => {
      const isLike = wildcardOf(filter.toLowerCase());
      return { matches: (value) => value !== null && isLike(value.toLowerCase()) };
    },
  },
  regexp: {
    description: 'A regular expression in the syntax of RE2 that matches a part of the value.',
    examples: 'device=regexp(^site-[12]/)',
    make: (filter) => {
      const expression = compile(filter);
      return { matches: (value) => value !== null && expression.matcher(value).find() };
    },
  },
};

/** The filter of a query's `filters`. @throws {Problem} 400 */
export function filterOf({ type, tagk, filter, groupBy, group_by }: FilterDocument): TagFilter {
  const found = Object.hasOwn(FILTER_TYPES, type) ? FILTER_TYPES[type] : undefined;
  if (found === undefined) {
    const types = Object.keys(FILTER_TYPES);
    throw bad(
      `Could not find a tag value filter of the type ${type}${didYouMean(type, types)}. There are ${types.join(', ')}.`,
    );
  }
  if (filter === '') throw bad(`The filter of the tag ${tagk} is empty.`);
  return { type, key: tagKeyOf(tagk), filter, groupBy: groupBy ?? group_by ?? false, ...found.make(filter) };
}

/** The filter of an entry of `tags`: a value, values with | between them, `*`, or `type(filter)`. @throws {Problem} 400 */
export function filterOfTag(tagk: string, text: string, groupBy: boolean): TagFilter {
  const [, type, inner] = /^([A-Za-z_]+)\((.*)\)$/s.exec(text) ?? [];
  if (type !== undefined) return filterOf({ type: type.toLowerCase(), tagk, filter: inner!, groupBy });
  if (text === '*') return filterOf({ type: 'wildcard', tagk, filter: text, groupBy });
  return filterOf({ type: text.includes('*') ? 'iwildcard' : 'literal_or', tagk, filter: text, groupBy });
}

/** @throws {Problem} 400 when no device can have such a tag */
function tagKeyOf(tagk: string): TagKey {
  const key = TAG_KEYS.find((each) => each === tagk);
  if (key !== undefined) return key;
  throw bad(
    `No such name for 'tagk': ${tagk}${didYouMean(tagk, TAG_KEYS)}. There are ${TAG_KEYS.join(', ')}.`,
  );
}

function literalsOf(filter: string): readonly string[] {
  const literals = filter.split('|').filter((each) => each !== '');
  if (literals.length === 0) throw bad('The filter must have more than just |.');
  if (literals.length > MAX_LITERALS) throw bad(`The filter has more than ${MAX_LITERALS} values.`);
  return literals;
}

/** Compares with a text in which `*` stands for any characters. Each part is searched once, from left to right. */
function wildcardOf(filter: string): (value: string) => boolean {
  if (!filter.includes('*')) throw bad(`The filter ${JSON.stringify(filter)} must have an asterisk.`);
  const parts = filter.split('*');
  const [start, end] = [parts[0]!, parts.at(-1)!];
  const middle = parts.slice(1, -1).filter((part) => part !== '');
  return (value) => {
    if (!value.startsWith(start) || !value.endsWith(end)) return false;
    let at = start.length;
    for (const part of middle) {
      const found = value.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at + end.length <= value.length;
  };
}

function compile(filter: string): RE2JS {
  if (filter.length > MAX_EXPRESSION)
    throw bad(`The regular expression has more than ${MAX_EXPRESSION} characters.`);
  try {
    return RE2JS.compile(filter);
  } catch (error) {
    throw bad(`The regular expression ${JSON.stringify(filter)} is not valid: ${(error as Error).message}.`);
  }
}
