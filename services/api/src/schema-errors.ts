import { didYouMean } from '@tidegauge/text';
import type { ErrorObject } from 'ajv';
import type { Schema } from './openapi.ts';

/** One wrong input: where it is, as a JSON pointer, and what is wrong with it. */
export interface Mistake {
  readonly path: string;
  readonly message: string;
}

/**
 * An error of Ajv in words that help a person to fix the request.
 *
 * @param error of a validator that was compiled with `verbose`
 * @param root the pointer to what was checked
 */
export function explain(error: ErrorObject, root = ''): Mistake {
  const path = root + error.instancePath;
  const schema = (error.parentSchema ?? {}) as Schema;
  switch (error.keyword) {
    case 'required':
      return { path: `${path}/${error.params.missingProperty}`, message: 'is required' };
    case 'additionalProperties': {
      const name = String(error.params.additionalProperty);
      const known = Object.keys(schema.properties ?? {});
      return { path: `${path}/${name}`, message: `unknown property${didYouMean(name, known)}` };
    }
    case 'pattern': {
      const message = unlike(schema);
      const { propertyName } = error;
      return propertyName === undefined
        ? { path, message }
        : { path, message: `the name ${JSON.stringify(propertyName)} ${message}` };
    }
    case 'enum': {
      const allowed = (error.params.allowedValues as readonly unknown[]).map(String);
      const near = typeof error.data === 'string' ? didYouMean(error.data, allowed) : '';
      return { path, message: `is not one of the allowed values ${allowed.join(', ')}${near}` };
    }
    default:
      return { path, message: error.message ?? 'is invalid' };
  }
}

/** What a text is not, in the words of the schema's description. */
function unlike({ description, pattern }: Schema): string {
  const text = description?.trim() ?? '';
  return text === '' ? `does not match ${pattern}` : `is not ${text[0]!.toLowerCase()}${text.slice(1)}`;
}
