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
  make(filter: string, room: FilterRoom): Match;
}

/** The most characters of all regular expressions of a request. A run takes time for each of them and of the value. */
const MAX_EXPRESSION = 1000;
/** The most values of all filters of a request, and texts between asterisks. */
const MAX_VALUES = 10_000;
/** A repeat such as {2,30}. The expression is compiled as if its text was written so often. */
const COUNTED = /\{(\d+)(?:,(\d*))?\}/g;
/** One that can be of a group, in which others multiply. An empty \Q\E hides what is repeated. */
const COUNTED_GROUP = /(?:\)|\\E)\{\d/;

/** What all filters of one request may use, because each device is compared with them. */
export class FilterRoom {
  #values = 0;
  #expression = 0;

  /** The parts of a filter between separators. @throws {Problem} 400 */
  split(filter: string, separator: '|' | '*'): string[] {
    const parts = filter.split(separator, MAX_VALUES + 1);
    this.#values += parts.length;
    if (this.#values > MAX_VALUES) throw bad(`The filters of a request have more than ${MAX_VALUES} values.`);
    return parts;
  }

  /** Compiles a regular expression. @throws {Problem} 400 */
  compile(filter: string): RE2JS {
    if (COUNTED_GROUP.test(filter)) {
      throw bad('A group of a regular expression cannot have a counted repeat, such as (ab){2}: write abab.');
    }
    this.#expression += filter.length;
    for (const [, least, most] of filter.matchAll(COUNTED)) this.#expression += Number(most || least);
    if (this.#expression > MAX_EXPRESSION) {
      throw bad(
        `The regular expressions of a request have more than ${MAX_EXPRESSION} characters. A repeat such as {2,30} has 30 more.`,
      );
    }
    try {
      return RE2JS.compile(filter);
    } catch (error) {
      throw bad(
        `The regular expression ${JSON.stringify(filter)} is not valid: ${(error as Error).message}.`,
      );
    }
  }
}

/** All types of filters, as `/api/config/filters` describes them. */
export const FILTER_TYPES: Readonly<Record<string, FilterType>> = {
  literal_or: {
    description: 'One or more exact values, with | between them.',
    examples: 'device=literal_or(site-1/pump|site-2/pump)',
    make: (filter, room) => {
      const literals = literalsOf(filter, room);
      const known = new Set(literals);
      return { literals, matches: (value) => value !== null && known.has(value) };
    },
  },
  iliteral_or: {
    description: 'As literal_or, for upper and lower case.',
    examples: 'city=iliteral_or(FARO|porto)',
    make: (filter, room) => {
      const known = new Set(literalsOf(filter.toLowerCase(), room));
      return { matches: (value) => value !== null && known.has(value.toLowerCase()) };
    },
  },
  not_literal_or: {
    description: 'All but these exact values. A device without the tag matches.',
    examples: 'device=not_literal_or(site-1/pump)',
    make: (filter, room) => {
      const known = new Set(literalsOf(filter, room));
      return { matches: (value) => value === null || !known.has(value) };
    },
  },
  not_iliteral_or: {
    description: 'As not_literal_or, for upper and lower case.',
    examples: 'city=not_iliteral_or(FARO)',
    make: (filter, room) => {
      const known = new Set(literalsOf(filter.toLowerCase(), room));
      return { matches: (value) => value === null || !known.has(value.toLowerCase()) };
    },
  },
  wildcard: {
    description: 'A text in which * stands for any characters.',
    examples: 'device=wildcard(site-1/*)',
    make: (filter, room) => {
      const isLike = wildcardOf(filter, room);
      return { matches: (value) => value !== null && isLike(value) };
    },
  },
  iwildcard: {
    description: 'As wildcard, for upper and lower case.',
    examples: 'kind=iwildcard(*Pump*)',
    make: (filter, room) => {
      const isLike = wildcardOf(filter.toLowerCase(), room);
      return { matches: (value) => value !== null && isLike(value.toLowerCase()) };
    },
  },
  regexp: {
    description: 'A regular expression in the syntax of RE2 that matches a part of the value.',
    examples: 'device=regexp(^site-[12]/)',
    make: (filter, room) => {
      const expression = room.compile(filter);
      return { matches: (value) => value !== null && expression.matcher(value).find() };
    },
  },
};

/** The filter of a document. @throws {Problem} 400 */
export function filterOf(
  { type, tagk, filter, groupBy, group_by }: FilterDocument,
  room: FilterRoom,
): TagFilter {
  const found = Object.hasOwn(FILTER_TYPES, type) ? FILTER_TYPES[type] : undefined;
  if (found === undefined) {
    const types = Object.keys(FILTER_TYPES);
    throw bad(
      `Could not find a tag value filter of the type ${type}${didYouMean(type, types)}. There are ${types.join(', ')}.`,
    );
  }
  if (filter === '') throw bad(`The filter of the tag ${tagk} is empty.`);
  return {
    type,
    key: tagKeyOf(tagk),
    filter,
    groupBy: groupBy ?? group_by ?? false,
    ...found.make(filter, room),
  };
}

/** The document of an entry of `tags`: a value, values with | between them, `*`, or `type(filter)`. */
export function documentOfTag(tagk: string, text: string, groupBy: boolean): FilterDocument {
  const [, type, inner] = /^([A-Za-z_]+)\((.*)\)$/s.exec(text) ?? [];
  if (type !== undefined) return { type: type.toLowerCase(), tagk, filter: inner!, groupBy };
  if (text === '*') return { type: 'wildcard', tagk, filter: text, groupBy };
  return { type: text.includes('*') ? 'iwildcard' : 'literal_or', tagk, filter: text, groupBy };
}

/** @throws {Problem} 400 when no device can have such a tag */
function tagKeyOf(tagk: string): TagKey {
  const key = TAG_KEYS.find((each) => each === tagk);
  if (key !== undefined) return key;
  throw bad(
    `No such name for 'tagk': ${tagk}${didYouMean(tagk, TAG_KEYS)}. There are ${TAG_KEYS.join(', ')}.`,
  );
}

function literalsOf(filter: string, room: FilterRoom): readonly string[] {
  const literals = room.split(filter, '|').filter((each) => each !== '');
  if (literals.length === 0) throw bad('The filter must have more than just |.');
  return literals;
}

/** Compares with a text in which `*` stands for any characters. Each part is searched once, from left to right. */
function wildcardOf(filter: string, room: FilterRoom): (value: string) => boolean {
  if (!filter.includes('*')) throw bad(`The filter ${JSON.stringify(filter)} must have an asterisk.`);
  const parts = room.split(filter, '*');
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
