import { valueAt } from './paths.ts';

/** What the places of a template can refer to. */
export interface TemplateValues {
  /** `{device}`, `{metric}` and the names of the topic template. They count before fields of the payload. */
  readonly topic: Readonly<Record<string, string | null>>;
  readonly record: unknown;
  /** The whole payload, for fields that the record does not have. */
  readonly root: unknown;
  /** `{key}`: the key or index of the record. */
  readonly key: string;
  /** `{field}`: the name of the field of a reading; null where there is none. */
  readonly field: string | null;
}

/**
 * A template such as `{site}/{end_device_ids.device_id}`. `{a|b}` is the first of both that exists, and an empty last
 * alternative, `{a|}`, may stay empty: `{a|}/{b}` is then `{b}`.
 */
export interface Template {
  readonly text: string;
  /** The names in braces. */
  readonly names: readonly string[];
  /**
   * Fills the template. A value that does not exist is returned as `{ missing }`, with its name.
   *
   * @param clean for values of the payload, and levels of the topic as they are in the topic
   * @param cleaned for `{device}` and `{metric}` of the topic and `{field}`, which are valid names already
   */
  fill(
    values: TemplateValues,
    clean: (text: string) => string,
    cleaned?: (text: string) => string,
  ): string | { readonly missing: string };
}

/** An empty place takes the separator after it away, or at the end the one before it. */
const SEPARATOR = /^[./]/;
/** Longest value of a place, in UTF-16 units: it is more than any name, unit or time may have. */
const LONGEST_VALUE = 256;
/** A longer result is no name, so the rest is left out. */
const LONGEST_RESULT = 1024;
/** Names in all places. */
const MOST_NAMES = 32;
const PLACE = /\{([^{}]*)\}/g;

/** Why a template is not valid; null when it is. */
export function templateProblem(text: string): string | null {
  if (text === '') return 'it is empty';
  if (text.length > 500) return 'it is longer than 500 characters';
  if (/[{}]/.test(text.replace(PLACE, ''))) return 'a brace is not closed, or not opened';
  let many = 0;
  for (const [place, names = ''] of text.matchAll(PLACE)) {
    if (names.split('|')[0] === '') return `${place} has no name`;
    many += names.split('|').length;
  }
  if (many > MOST_NAMES) return `it has more than ${MOST_NAMES} names in braces`;
  return null;
}

/** Compiles a template that `templateProblem` accepts. */
export function compileTemplate(text: string): Template {
  const places = [...text.matchAll(PLACE)];
  const literals: string[] = [];
  let end = 0;
  for (const place of places) {
    literals.push(text.slice(end, place.index));
    end = place.index + place[0].length;
  }
  const last = text.slice(end);
  const alternatives = places.map(([, names = '']) => names.split('|'));
  const parts = [...literals, last].map((literal, i) => ({ literal, names: alternatives[i] }));
  return {
    text,
    names: alternatives.flat().filter((name) => name !== ''),
    fill: (values, clean, cleaned = (text) => text) => fill(parts, values, clean, cleaned),
  };
}

/** A literal, and the alternative names of the place after it. The last one has no place. */
interface Part {
  readonly literal: string;
  readonly names: readonly string[] | undefined;
}

function fill(
  parts: readonly Part[],
  values: TemplateValues,
  clean: (text: string) => string,
  cleaned: (text: string) => string,
): string | { readonly missing: string } {
  let filled = '';
  let isEmpty = false;
  for (const { literal, names } of parts) {
    filled += isEmpty && SEPARATOR.test(literal) ? literal.slice(1) : literal;
    if (names === undefined || filled.length > LONGEST_RESULT) break;
    const found = firstOf(names, values);
    if (found === null) return { missing: names.join('|') };
    isEmpty = found.text === '';
    if (!isEmpty) filled += found.isName ? cleaned(found.text) : clean(found.text);
  }
  return isEmpty ? filled.replace(/[./]$/, '') : filled;
}

interface Found {
  readonly text: string;
  /** Whether it is a valid name already. */
  readonly isName: boolean;
}

function firstOf(names: readonly string[], values: TemplateValues): Found | null {
  for (const name of names) {
    const found = name === '' ? { text: '', isName: false } : lookUp(name, values);
    if (found !== null) return found;
  }
  return null;
}

function lookUp(name: string, { topic, record, root, key, field }: TemplateValues): Found | null {
  if (name === 'field') return field === null ? null : { text: field, isName: true };
  const level = Object.hasOwn(topic, name) ? topic[name]! : null;
  if (level !== null) return { text: level, isName: name === 'device' || name === 'metric' };
  if (name === 'key') return { text: key, isName: false };
  const value = valueAt(record, name) ?? valueAt(root, name);
  if (typeof value === 'string') return value === '' ? null : { text: cut(value), isName: false };
  if (typeof value === 'number' || typeof value === 'boolean') return { text: String(value), isName: false };
  return null;
}

function cut(text: string): string {
  return text.length <= LONGEST_VALUE ? text : text.slice(0, LONGEST_VALUE + 1).toWellFormed();
}
