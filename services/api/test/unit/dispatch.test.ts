import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatch } from '../../src/dispatch.ts';
import { readOpenApi, resolveReferences } from '../../src/openapi.ts';
import { OperationTable } from '../../src/operation-table.ts';
import { startApi } from '../harness.ts';

const TABLE = new OperationTable(readOpenApi());

function find(method: string, url: string): [id: string, params: Readonly<Record<string, string>>] | null {
  const found = TABLE.find(method, url, () => {});
  return found === null ? null : [found.operation.id, found.params];
}

test('a fixed path has priority over a path with a parameter', () => {
  assert.deepEqual(find('POST', '/v1/quarantine/replay'), ['replayQuarantine', {}]);
  assert.throws(() => find('GET', '/v1/quarantine/replay'), /not a method of \/v1\/quarantine\/replay/);
  assert.deepEqual(find('GET', '/v1/quarantine/a.1'), ['getQuarantineItem', { id: 'a.1' }]);
});

test('a device name can have slashes, a final slash is ignored, and a parameter is not empty', () => {
  assert.deepEqual(find('GET', '/v1/devices/'), ['listDevices', {}]);
  assert.deepEqual(find('GET', '/v1/devices/a/b%2Fc?x=1'), ['getDevice', { name: 'a/b/c' }]);
  assert.deepEqual(find('HEAD', '/v1/records/t/'), ['scanRecords', { table: 't' }]);
  assert.equal(find('GET', '/v1/records//key'), null);
  assert.equal(find('GET', '/v1/nothing'), null);
});

test('a handler for an operation that is not in the document is a programming error', () => {
  assert.throws(() => dispatch(TABLE, { deleteEverything: () => {} }, {}), /no operation deleteEverything/);
  assert.throws(() => dispatch(TABLE, { putDevice: () => {} }, {}), /no reader for the body of putDevice/);
});

test('a reference without a target is a programming error', () => {
  const schema = { $ref: '#/components/schemas/Nothing' };
  const broken = { openapi: '3.1.0', paths: { '/a': { get: { schema } } } };
  assert.throws(() => resolveReferences(broken as never), /no #\/components\/schemas\/Nothing/);
});

test('the answer to a refused request names the mistake and what to send instead', async (t) => {
  const api = await startApi(t, { config: { bodyLimit: 2048 } });
  const json = { 'Content-Type': 'application/json' };
  const xml = { 'Content-Type': 'application/xml' };
  const gzip = { ...json, 'Content-Encoding': 'gzip' };
  const cases: [string, string, { body?: unknown; headers?: Record<string, string> }, number, RegExp][] = [
    [
      'PUT',
      '/v1/devices/a',
      { body: '<a/>', headers: xml },
      415,
      /application\/xml .*send application\/json\./,
    ],
    ['PUT', '/v1/records/t/k', { body: 'x'.repeat(3000), headers: json }, 413, /3000 bytes .*at most 2048/],
    ['PUT', '/v1/records/t/k', { body: '{}', headers: gzip }, 415, /without compression/],
    ['PUT', '/v1/devices/a', { body: '{"year":', headers: json }, 400, /not valid JSON/],
    [
      'PUT',
      '/v1/devices/a',
      { body: { yeaar: 1 } },
      400,
      /\/body\/yeaar: unknown property: did you mean year\?/,
    ],
    [
      'PUT',
      '/v1/records/t/k',
      { body: { fields: { colour: 'a' } } },
      400,
      /"colour" .*not field0 to field999/,
    ],
    ['GET', '/v1/devices/%E0%A4%A', {}, 400, /%25/],
    ['GET', '/v1/readings?device=a&order=descc', {}, 400, /asc, desc: did you mean desc\?/],
    ['DELETE', '/v1/ledger', {}, 405, /DELETE is not a method of \/v1\/ledger: use GET/],
    ['GET', '/v1/nothing', {}, 404, /no GET \/v1\/nothing/],
  ];
  for (const [method, path, options, status, detail] of cases) {
    const answer = await api.call(method, path, options);
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    assert.match(answer.headers.get('Content-Type')!, /^application\/problem\+json/);
    assert.match(answer.body.detail, detail);
  }
});
