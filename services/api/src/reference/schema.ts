import type { Schema } from '../openapi.ts';
import { escaped, inline } from './prose.ts';

/** The keywords of a schema that are shown. */
interface Shown {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Shown;
  readonly properties?: Readonly<Record<string, Shown>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Shown;
  readonly allOf?: readonly Shown[];
  readonly anyOf?: readonly Shown[];
  readonly oneOf?: readonly Shown[];
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  array: 'list',
  object: 'object',
  null: 'null',
};

/** The type of a value in a few words, with its limits. */
export function kindOf(schema: Schema): string {
  return kind(schema as Shown);
}

/** The fields of an object, of the items of a list, or of each alternative, as nested lists; empty without fields. */
export function fieldsHtml(schema: Schema): string {
  return listOf(schema as Shown);
}

function kind(given: Shown): string {
  const schema = merged(given);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return withDefault(`one of ${schema.enum.map(String).join(', ')}`, schema);
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined) return [...new Set(alternatives.map(kind))].join(' or ');
  const names = [schema.type ?? []]
    .flat()
    .map((type) =>
      type === 'array' && schema.items !== undefined ? `list, each ${kind(schema.items)}` : NAMES[type],
    );
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const limits = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
  ];
  const known = names.length === 0 ? (schema.title ?? 'any value') : names.join(' or ');
  return withDefault([known, ...limits.filter((limit) => limit !== '')].join(', '), schema);
}

function withDefault(words: string, { default: preset }: Shown): string {
  return preset === undefined ? words : `${words}, default ${JSON.stringify(preset)}`;
}

/** The largest exact number is no limit that a reader needs. */
function range(least: number | undefined, most: number | undefined, what: string): string {
  const top = most === undefined || most >= Number.MAX_SAFE_INTEGER ? null : most;
  if (top === null) return least === undefined ? '' : `at least ${least}${what}`;
  return least === undefined ? `at most ${top}${what}` : `${least} to ${top}${what}`;
}

function listOf(given: Shown): string {
  const schema = merged(given);
  if (schema.items !== undefined) return listOf(schema.items);
  const alternatives = schema.oneOf ?? schema.anyOf;
  const items =
    alternatives === undefined
      ? fieldsOf(schema).map(fieldHtml)
      : alternatives.map((each) => `<li>${described(each)}${listOf(each)}</li>`);
  return items.length === 0 ? '' : `<ul>${items.join('')}</ul>`;
}

interface Field {
  readonly name: string;
  readonly schema: Shown;
  readonly isRequired: boolean;
}

function fieldsOf({ properties = {}, required = [], additionalProperties }: Shown): readonly Field[] {
  const named = Object.entries(properties).map(([name, schema]) => {
    return { name, schema, isRequired: required.includes(name) };
  });
  if (typeof additionalProperties !== 'object') return named;
  return [...named, { name: '(other names)', schema: additionalProperties, isRequired: false }];
}

function fieldHtml({ name, schema, isRequired }: Field): string {
  const needed = isRequired ? ', required' : '';
  return `<li><code>${escaped(name)}</code> ${described(schema, needed)}${listOf(schema)}</li>`;
}

function described(schema: Shown, needed = ''): string {
  const { description } = merged(schema);
  const about = description === undefined ? '' : ` ${inline(description)}`;
  return `<i>${escaped(kind(schema))}${needed}</i>${about}`;
}

/** A schema with the keywords of the schemas that it extends. */
function merged(schema: Shown): Shown {
  const { allOf, ...own } = schema;
  return allOf === undefined ? schema : Object.assign({}, ...allOf.map(merged), own);
}
