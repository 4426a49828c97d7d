import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { didYouMean } from '@tidegauge/text';
import type { Mistake, Path } from '@tidegauge/yaml-file';
import type { ErrorObject } from 'ajv';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { FACTORS, urlOption } from './factors.ts';

/** The JSON Schema of experiment files. Editors can use it too. */
export const SCHEMA_FILE: string = fileURLToPath(new URL('../../studies/study.schema.json', import.meta.url));

/** The JSON Schema of files of claims. */
export const CLAIMS_SCHEMA_FILE: string = fileURLToPath(
  new URL('../../studies/claims.schema.json', import.meta.url),
);

const compiled = new Map<string, ValidateFunction>();

/** What the schema refuses in the data of an experiment file, or of another one. Levels are checked elsewhere. */
export function schemaMistakes(data: unknown, schemaFile: string = SCHEMA_FILE): Mistake[] {
  let validate = compiled.get(schemaFile);
  if (validate === undefined) {
    const ajv = new Ajv2020({ allErrors: true, verbose: true, strict: true, allowUnionTypes: true });
    validate = ajv.compile(JSON.parse(readFileSync(schemaFile, 'utf8')));
    compiled.set(schemaFile, validate);
  }
  if (validate(data)) return [];
  // `if` only repeats that the part below it is wrong.
  return (validate.errors ?? [])
    .filter(({ keyword }) => keyword !== 'if' && keyword !== 'propertyNames')
    .map((error) => explain(error, data));
}

function explain(error: ErrorObject, data: unknown): Mistake {
  const path = pathOf(error.instancePath, data);
  const schema = (error.parentSchema ?? {}) as Schema;
  switch (error.keyword) {
    case 'required':
      return { path, message: `${error.params.missingProperty} is missing` };
    case 'additionalProperties': {
      const name = String(error.params.additionalProperty);
      return { path: [...path, name], message: unknownKey(path, name, schema), atKey: true };
    }
    case 'enum': {
      const allowed = (error.params.allowedValues as readonly unknown[]).map(String);
      const near = didYouMean(String(error.data), allowed);
      return { path, message: `${shown(error.data)} is not one of ${allowed.join(', ')}${near}` };
    }
    case 'pattern':
      return error.propertyName === undefined
        ? { path, message: `${shown(error.data)} is not valid: ${schema.description ?? schema.pattern}` }
        : {
            path: [...path, error.propertyName],
            message: `the name is not valid: ${schema.description ?? schema.pattern}`,
            atKey: true,
          };
    case 'type': {
      const types = [error.params.type as string | string[]].flat();
      const hint = schema.description === undefined ? '' : `: ${schema.description}`;
      return { path, message: `${shown(error.data)} is not ${types.map(typeName).join(' or ')}${hint}` };
    }
    case 'minProperties':
      return { path, message: 'it names no factor' };
    default:
      return { path, message: `${shown(error.data)} ${error.message ?? 'is not valid'}` };
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly description?: string;
  readonly pattern?: string;
}

function unknownKey(path: Path, name: string, { properties = {} }: Schema): string {
  const section = path.length === 1 ? path[0] : null;
  if (section === 'hard' || section === 'easy') {
    const belongs = FACTORS.get(name)?.section ?? (urlOption(name) === null ? null : 'hard');
    if (belongs !== null) return `this factor is ${belongs}: move it to ${belongs}`;
    return `unknown factor${didYouMean(name, FACTORS.keys())}`;
  }
  if (path[0] === 'quick' && path.length === 1) {
    return 'quick changes counts and levels of parts only: records, operations, trials, deployments, warmup, parts';
  }
  const known = Object.keys(properties);
  return `unknown key${didYouMean(name, known) || `: there are ${known.join(', ')}`}`;
}

/** The keys and indexes of a JSON pointer (RFC 6901). */
function pathOf(pointer: string, data: unknown): Path {
  const path: (string | number)[] = [];
  let value = data;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    const key = Array.isArray(value) ? Number(name) : name;
    path.push(key);
    value = (value as Record<string | number, unknown> | undefined)?.[key];
  }
  return path;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'a set of keys',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
};

function typeName(type: string): string {
  return TYPE_NAMES[type] ?? type;
}

const LONGEST_SHOWN = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
