import { parse } from 'node:querystring';
import { Problem, type Rule, SCOPES } from '@tidegauge/service';
import { didYouMean } from '@tidegauge/text';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { DEVICE_OPERATIONS } from './device-limit.ts';
import type { OperationObject, Parameter, Schema, Security } from './openapi.ts';
import { explain, type Mistake } from './schema-errors.ts';

/** Parameters of a request, checked and converted to the types that the document gives them. */
export interface Parameters {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
}

/** The formats of integers need no check: `maximum` is below them. */
const OPTIONS = {
  strict: true,
  allowUnionTypes: true,
  verbose: true,
  formats: { int32: true, int64: true },
} as const;
/** All schemas are compiled at the start. Parameters arrive as text, so they are converted; bodies are not. */
const PARAMETERS = new Ajv2020({ ...OPTIONS, coerceTypes: true });
const BODIES = new Ajv2020(OPTIONS);

/** Operations of load: the audit counts them. */
const DATA_OPERATIONS: ReadonlySet<string> = new Set([
  'deliverReadings',
  'explain',
  'insertRecords',
  'insertRecord',
  'updateRecord',
  'deleteRecord',
]);

/** A query parameter. The properties of an object parameter (`style: form`, `explode: true`) are parameters too. */
interface QueryParameter {
  readonly parameter: Parameter;
  /** Name of the object parameter that this one is a property of. */
  readonly owner: string | null;
  readonly schema: Schema;
}

/** One operation of the OpenAPI document: it checks requests against the schemas of the document. */
export class Operation {
  readonly id: string;
  /** The path of the document, such as `/v1/devices/{name}`. */
  readonly route: string;
  readonly tag: string;
  /** What a sender needs. */
  readonly rule: Rule;
  readonly #query = new Map<string, QueryParameter>();
  readonly #headers: readonly string[];
  readonly #checkParameters: ValidateFunction;
  /** Schemas of the body by media type; null when the operation has no body. */
  readonly #bodies: ReadonlyMap<string, ValidateFunction> | null;

  /**
   * @param security the security requirements of the document, for an operation without its own
   * @param shared the parameters that all operations of the path have
   */
  constructor(
    route: string,
    operation: OperationObject,
    security: Security,
    shared: readonly Parameter[] = [],
  ) {
    const { operationId, tags, parameters = [], requestBody } = operation;
    this.id = operationId;
    this.route = route;
    this.tag = tags[0]!;
    const scope = scopeOf(operation.security ?? security);
    this.rule = {
      scope,
      limitsDevices: DEVICE_OPERATIONS.has(operationId),
      action: operationId,
      isData: DATA_OPERATIONS.has(operationId),
    };
    const all = [...shared, ...parameters];
    for (const parameter of all.filter((each) => each.in === 'query')) {
      const { name, schema } = parameter;
      const isObject = schema.type === 'object';
      const properties = isObject ? schema.properties! : { [name]: schema };
      for (const [property, own] of Object.entries(properties)) {
        this.#query.set(property, { parameter, owner: isObject ? name : null, schema: own });
      }
    }
    this.#headers = all.filter((each) => each.in === 'header').map(({ name }) => name.toLowerCase());
    this.#checkParameters = PARAMETERS.compile({
      type: 'object',
      properties: {
        params: fields(all, 'path'),
        query: fields(all, 'query'),
        headers: fields(all, 'header'),
      },
    });
    const bodies = Object.entries(requestBody?.content ?? {});
    this.#bodies =
      bodies.length === 0
        ? null
        : new Map(bodies.map(([type, { schema }]) => [type, BODIES.compile(schema)]));
  }

  /** Whether requests have a body. */
  get hasBody(): boolean {
    return this.#bodies !== null;
  }

  /**
   * @param type the Content-Type header
   * @returns the media type, in lower case and without its parameters
   * @throws {Problem} 415 when the operation does not take it
   */
  mediaType(type: string | undefined): string {
    const known = [...(this.#bodies?.keys() ?? [])];
    const media = (type ?? '').split(';', 1)[0]!.trim().toLowerCase();
    if (known.includes(media)) return media;
    const found =
      media !== '' ? `The media type ${media} is not accepted` : 'The request has no Content-Type';
    throw new Problem(415, 'Unsupported media type', `${found}: send ${known.join(' or ')}.`);
  }

  /**
   * @param params the parts of the path, decoded
   * @param search the query without `?`
   * @throws {Problem} 400 that names each wrong parameter
   */
  parameters(
    params: Record<string, string>,
    search: string,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): Parameters {
    const query = search === '' ? {} : this.#parseQuery(search);
    const data = { params, query, headers: {} as Record<string, unknown> };
    for (const name of this.#headers) if (headers[name] !== undefined) data.headers[name] = headers[name];
    if (!this.#checkParameters(data)) throw invalid(this.#explain(this.#checkParameters.errors!));
    return data;
  }

  /**
   * @param mediaType from `mediaType`
   * @throws {Problem} 400 that names what is wrong
   */
  checkBody(mediaType: string, body: unknown): void {
    if (body === undefined) throw invalid([{ path: '/body', message: 'is required' }]);
    const check = this.#bodies!.get(mediaType)!;
    if (!check(body)) throw invalid(check.errors!.map((error) => explain(error, '/body')));
  }

  #parseQuery(search: string): Record<string, unknown> {
    const query: Record<string, unknown> = {};
    const mistakes: Mistake[] = [];
    for (const [name, given] of Object.entries(parse(search))) {
      const path = `/query/${name}`;
      const known = this.#query.get(name);
      if (known === undefined) {
        mistakes.push({ path, message: `unknown query parameter${didYouMean(name, this.#query.keys())}` });
        continue;
      }
      const { parameter, owner } = known;
      const value = valuesOf(parameter, given!);
      const message = valueProblem(known, given!, value);
      if (message !== null) mistakes.push({ path, message });
      else if (owner === null) query[name] = value;
      else query[owner] = { ...(query[owner] as object | undefined), [name]: value };
    }
    if (mistakes.length > 0) throw invalid(mistakes);
    return query;
  }

  /** The properties of an object parameter are query parameters for the client, so the object's name is left out. */
  #explain(errors: readonly ErrorObject[]): Mistake[] {
    return errors.map((error) => {
      const mistake = explain(error);
      for (const { owner, parameter } of this.#query.values()) {
        if (owner === null || !`${mistake.path}/`.startsWith(`/query/${owner}/`)) continue;
        const path = `/query${mistake.path.slice(`/query/${owner}`.length)}`;
        if (path !== '/query') return { path, message: mistake.message };
        const names = Object.keys(parameter.schema.properties!).join(', ');
        return { path, message: `needs at least one of ${names}: this changes every device that matches` };
      }
      return mistake;
    });
  }
}

/** What is wrong with the value of a query parameter before it is validated, or null. */
function valueProblem(
  { parameter, schema }: QueryParameter,
  given: string | string[],
  value: string | string[],
): string | null {
  if (given === '' && !parameter.allowEmptyValue) return 'is empty: give it a value or leave it out';
  if (Array.isArray(value) && parameter.schema.type !== 'array')
    return `is given ${value.length} times: give it once, it is no list`;
  return isTooLarge(schema, value) ? 'is too large a number' : null;
}

/**
 * Whether a text would be converted to an infinite number, such as 1e999. The validator does not compare it with the
 * maximum of the schema.
 */
function isTooLarge({ type }: Schema, value: string | string[]): boolean {
  const isNumber = [type].flat().some((each) => each === 'integer' || each === 'number');
  return isNumber && Math.abs(Number(value)) === Number.POSITIVE_INFINITY;
}

/** @throws {TypeError} when the first requirement has no scope */
function scopeOf([first]: Security): Rule['scope'] {
  if (first === undefined) return 'public';
  const role = first.key?.[0];
  const scope = role === 'metrics' ? role : SCOPES.find((each) => each === role);
  if (scope === undefined) throw new TypeError(`the security requirement names the scope ${role}`);
  return scope;
}

/** A 400 that lists what is wrong. */
function invalid(errors: readonly Mistake[]): Problem {
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new Problem(400, 'Invalid request', detail, { errors });
}

/** The parameters of one location (path, query or header) as the properties of an object. */
function fields(parameters: readonly Parameter[], place: Parameter['in']): Schema {
  const here = parameters.filter((each) => each.in === place);
  const nameOf = ({ name }: Parameter) => (place === 'header' ? name.toLowerCase() : name);
  return {
    type: 'object',
    required: here.filter(({ required }) => required).map(nameOf),
    // A schema without its own description is explained with the parameter's.
    properties: Object.fromEntries(
      here.map((each) => [nameOf(each), { description: each.description ?? '', ...each.schema }]),
    ),
  };
}

/** The values of a list are repeated parameters (`explode`, the default) or have commas between them. */
function valuesOf({ schema, explode = true }: Parameter, given: string | string[]): string | string[] {
  if (schema.type !== 'array') return given;
  const values = [given].flat();
  return explode ? values : values.flatMap((value) => value.split(','));
}
