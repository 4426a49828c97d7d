import { isTable } from '@tidegauge/readings';
import type { OpenApiDocument, OperationObject, Parameter, Schema } from '../src/openapi.ts';

/** A request with one hostile value. */
export interface Attack {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON or text; null without a body. */
  readonly body: string | null;
}

/** Values that would change a statement, a path, a row key, a header or a log, if they were copied into it. */
export const HOSTILE: readonly string[] = [
  "' OR '1'='1",
  "'; DROP TABLE readings; --",
  "' UNION SELECT device, metric FROM series --",
  '") OR 1=1 --',
  "a' AND pg_sleep(5) --",
  "\\' OR 1=1 #",
  "x'; DROP KEYSPACE system_auth; //",
  "k' ALLOW FILTERING; --",
  '$$; DROP TABLE series; $$',
  '`; SHUTDOWN; `',
  '%',
  '_',
  '{"$ne": null}',
  '{"$gt": ""}',
  '$where',
  '$where: sleep(5000)',
  'a.$[].b',
  'canary/secret\u0001secret',
  'canary\\x00secret',
  'site-3/\u0000canary',
  'site-3\\x2Fcanary',
  'ÿ\u00ff\uffff',
  '../../../../etc/passwd',
  '..%2f..%2fcanary%2fsecret',
  'site-3/../canary/secret',
  'site-3//..//canary/secret',
  'file:///etc/passwd',
  '/etc/passwd\u0000.json',
  'CON',
  'a\r\nSet-Cookie: owned=1',
  'a\r\n\r\n{"level":"fatal","msg":"owned"}',
  'a\n{"level":"error","msg":"owned"}',
  '\u001b[2J\u001b]0;owned\u0007',
  '\u0000',
  '\u2028\u2029',
  'cana\u200dry/secret',
  '\u202esecret/canary',
  'ｃａｎａｒｙ/ｓｅｃｒｅｔ',
  'CANARY/SECRET',
  'canary\u0337/secret',
  '\ud800',
  '__proto__',
  'constructor.prototype.polluted',
  '{{7*7}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template for others
  '${jndi:ldap://127.0.0.1/a}',
  '%n%n%s%s',
  '<script>alert(1)</script>',
  '-1',
  '1e999',
  '9'.repeat(400),
  'a'.repeat(5000),
];

/** Values in place of a text in JSON. */
const OPERATORS: readonly string[] = [
  '{"$ne":null}',
  '{"$gt":""}',
  '{"$where":"sleep(5000)"}',
  '{"$regex":".*"}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '["canary/secret"]',
  '1e999',
  'null',
];

/** Stands for the hostile value in a text of JSON. */
const PLACE = '"@hostile@"';

/** Requests that put each hostile value into each parameter and into each field of a body of each operation. */
export function* attacksOn(document: OpenApiDocument): Generator<Attack & { readonly id: string }> {
  for (const [route, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item) as [string, OperationObject][]) {
      if (method === 'parameters') continue;
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      for (const attack of attacksOnOperation(method.toUpperCase(), route, operation, parameters))
        yield { id: operation.operationId, ...attack };
    }
  }
}

function* attacksOnOperation(
  method: string,
  route: string,
  operation: OperationObject,
  parameters: readonly Parameter[],
): Generator<Attack> {
  // A merge patch has the schema of JSON.
  const contents = Object.entries(operation.requestBody?.content ?? {}).filter(
    ([media]) => media !== 'application/merge-patch+json',
  );
  const [type = null, content = null] = contents[0] ?? [];
  const example = content === null ? null : JSON.stringify(exampleOf(content));
  const send = (hostile: Parameter | null, name: string, value: string): Attack => ({
    method,
    path: urlOf(route, parameters, hostile, name, value),
    headers: {
      ...(type === null ? {} : { 'Content-Type': type }),
      ...(hostile?.in === 'header' ? { [name]: value } : {}),
    },
    body: example,
  });
  for (const parameter of parameters) {
    const names = Object.keys(parameter.schema.properties ?? { [parameter.name]: null });
    for (const name of names) {
      for (const value of HOSTILE) {
        // A client cannot send other characters in a header.
        if (parameter.in === 'header' && !/^[\x21-\x7e]+$/.test(value)) continue;
        yield send(parameter, name, value);
        if (parameter.in === 'query') yield send(parameter, `${name}[$ne]`, value);
      }
    }
    if (parameter.in === 'query') yield send(parameter, '__proto__[polluted]', 'true');
  }
  for (const [media, each] of contents) {
    const base = send(null, '', '');
    for (const text of placesIn(exampleOf(each))) {
      for (const value of [...HOSTILE.map((hostile) => JSON.stringify(hostile)), ...OPERATORS]) {
        // The name of a field is a text.
        if (text.includes(`${PLACE}:`) && !value.startsWith('"')) continue;
        yield { ...base, headers: { 'Content-Type': media }, body: text.replace(PLACE, () => value) };
      }
    }
    for (const value of HOSTILE) yield { ...base, headers: { 'Content-Type': media }, body: value };
  }
}

function urlOf(
  route: string,
  parameters: readonly Parameter[],
  hostile: Parameter | null,
  name: string,
  value: string,
): string {
  // A lone surrogate has no UTF-8: the client sends U+FFFD for it.
  const encode = (text: string) => encodeURIComponent(text.toWellFormed());
  const path = route.replaceAll(/\{([^}]+)\}/g, (_all, part: string) => {
    if (part === name) return encode(value);
    return encode(String(exampleOf(parameters.find((each) => each.name === part)!)));
  });
  const query: string[] = [];
  for (const parameter of parameters) {
    if (parameter.in !== 'query' || parameter === hostile || parameter.required !== true) continue;
    const example = exampleOf(parameter);
    const pairs = isTable(example)
      ? Object.entries(example)
      : [example].flat().map((each) => [parameter.name, each]);
    for (const [key, each] of pairs) query.push(`${key}=${encode(String(each))}`);
  }
  if (hostile?.in === 'query') query.push(`${encode(name)}=${encode(value)}`);
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** The example of a parameter or of a body, which every one in the document has that is needed. */
function exampleOf(described: { readonly schema: Schema; readonly example?: unknown }): unknown {
  const { schema } = described;
  const examples = (schema.examples ?? []) as readonly unknown[];
  return described.example ?? schema.example ?? examples[0] ?? schema.default ?? 'x';
}

/** The JSON of an example, once for each of its values and each of its names, with `PLACE` there. */
function placesIn(node: unknown): string[] {
  if (Array.isArray(node)) {
    return node.flatMap((each, index) =>
      placesIn(each).map(
        (text) => `[${node.map((other, at) => (at === index ? text : JSON.stringify(other)))}]`,
      ),
    );
  }
  if (!isTable(node)) return [PLACE];
  const entries = Object.entries(node);
  const withEntry = (index: number, text: string) =>
    `{${entries.map(([key, value], at) => (at === index ? text : `${JSON.stringify(key)}:${JSON.stringify(value)}`))}}`;
  return [
    PLACE,
    ...entries.flatMap(([key, value], index) => [
      withEntry(index, `${PLACE}:${JSON.stringify(value)}`),
      ...placesIn(value).map((text) => withEntry(index, `${JSON.stringify(key)}:${text}`)),
    ]),
  ];
}
