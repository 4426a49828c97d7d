import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyOf, judge } from '../../src/grafana.ts';

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

test('a copy has its own uid and title, and the data source of the test', () => {
  const given = { id: 7, uid: 'x', title: 'X', panels: [{ datasource: { uid: '$datasource' } }] };
  assert.deepEqual(copyOf(given, 'folder', 'p1'), {
    dashboard: { id: null, uid: 'test-x', title: 'Test of X', panels: [{ datasource: { uid: 'p1' } }] },
    folderUid: 'folder',
    overwrite: true,
    message: 'a test',
  });
});
