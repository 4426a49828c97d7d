import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importOf, judge } from '../../src/grafana.ts';

const frame = (...values: unknown[][]) => ({ schema: {}, data: { values } });

test('a panel has data when one of its queries returned a value', () => {
  const empty = { results: { A: { status: 200, frames: [frame([], [])] }, B: { frames: [] } } };
  assert.deepEqual(judge([empty]), { errors: [], hasData: false });
  const full = { results: { A: { frames: [] }, B: { frames: [frame([1], [2.5])] } } };
  assert.deepEqual(judge([empty, full]), { errors: [], hasData: true });
  assert.deepEqual(judge([]), { errors: [], hasData: false });
});

test('an error of one query is reported with its letter, even if other queries have data', () => {
  const answer = { results: { A: { frames: [frame([1], [2])] }, B: { error: 'bad_data: parse error' } } };
  assert.deepEqual(judge([answer]), { errors: ['B: bad_data: parse error'], hasData: true });
});

test('a dashboard is imported with the data source of the installation', () => {
  const given = { id: 7, uid: 'x', panels: [{ datasource: { uid: '$datasource' } }] };
  assert.deepEqual(importOf(given, 'p1'), {
    dashboard: { id: null, uid: 'x', panels: [{ datasource: { uid: 'p1' } }] },
    overwrite: true,
    message: 'a test',
  });
});
