import { readFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import { parse } from 'yaml';

const DOCUMENT = new URL('../../../services/api/src/openapi.yaml', import.meta.url);
const HEAD = '// Generated from services/api/src/openapi.yaml by `npm run client`. Do not edit.\n\n';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly style?: string;
  readonly explode?: boolean;
  readonly schema: { readonly type?: string };
}

/** The text of each file in src/generated, by name: the types of the OpenAPI document, and how it writes queries. */
export async function generatedFiles(): Promise<Readonly<Record<string, string>>> {
  const text = readFileSync(DOCUMENT, 'utf8');
  // The parser resolves YAML's anchors, and accepts a document as an object.
  const types = await openapiTS(parse(text), { alphabetize: false });
  return {
    'api.ts': HEAD + astToString(types),
    'comma-separated.ts': `${HEAD}/** Query parameters whose items are written in one value, separated by commas. */
export const COMMA_SEPARATED: ReadonlySet<string> = new Set(${JSON.stringify(commaSeparated(parse(text)))});
`,
  };
}

/** Names of the query parameters with `explode: false`. @throws {Error} if a name is written in two ways */
function commaSeparated(document: unknown): string[] {
  const lists = queryParameters(document).filter(({ schema }) => schema.type === 'array');
  const joined = new Set(lists.filter(({ explode }) => explode === false).map(({ name }) => name));
  const repeated = lists.filter(({ explode }) => explode !== false).map(({ name }) => name);
  const both = repeated.find((name) => joined.has(name));
  if (both !== undefined) throw new Error(`the query parameter ${both} is written in two ways`);
  return [...joined].toSorted();
}

/** Every query parameter of the document, wherever it is declared. */
function queryParameters(node: unknown): Parameter[] {
  if (typeof node !== 'object' || node === null) return [];
  const found = Object.values(node).flatMap(queryParameters);
  return 'in' in node && node.in === 'query' && 'schema' in node ? [node as Parameter, ...found] : found;
}
