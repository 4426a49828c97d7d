import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type OperationObject, resolveReferences } from '../src/openapi.ts';
import { apiOperations } from '../src/operation-table.ts';

const { document: DOCUMENT, operations: TABLE } = apiOperations();
const OPERATIONS = new Map(
  Object.values(resolveReferences(DOCUMENT).paths).flatMap((item) =>
    Object.values(item)
      .filter((each): each is OperationObject => 'operationId' in each)
      .map((operation): [string, OperationObject] => [operation.operationId, operation]),
  ),
);
const AJV = formats.default(new Ajv2020({ strict: true, allowUnionTypes: true }));

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Fails when an answer has a status, a media type or a body that the OpenAPI document does not describe. */
export function checkAnswer(method: string, { pathname, search }: URL, answer: Answer): void {
  const operation = operationOf(method, pathname + search);
  // Null for files of the pages, and for requests that are refused before an operation is found.
  if (operation === null) return;
  const where = `${method} ${pathname}: ${answer.status}`;
  const described = operation.responses[answer.status] ?? operation.responses.default;
  assert.ok(described, `${where} is not in the OpenAPI document`);
  const type = answer.headers.get('Content-Type')?.split(';')[0];
  if (type === undefined || method === 'HEAD') return;
  const schema = described.content?.[type]?.schema;
  assert.ok(schema, `${where}: ${type} is not in the OpenAPI document`);
  const check = AJV.compile(schema);
  assert.ok(
    check(answer.body),
    `${where}: ${AJV.errorsText(check.errors)} in ${JSON.stringify(answer.body)}`,
  );
}

function operationOf(method: string, url: string): OperationObject | null {
  try {
    const found = TABLE.find(method, url, () => {});
    return found === null ? null : OPERATIONS.get(found.operation.id)!;
  } catch {
    return null;
  }
}
