import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ALL_DASHBOARDS } from '../../src/dashboards.ts';
import { type DashboardJson, GRAFANA_VERSIONS, type PanelJson, schemaFaults } from '../grafana-schema.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'grafana', 'dashboards');
const FILES = ALL_DASHBOARDS.map(
  ({ uid }) => JSON.parse(readFileSync(join(FOLDER, `${uid}.json`), 'utf8')) as DashboardJson,
);

const stat = (changes: object): PanelJson => ({ type: 'stat', title: 'Stat', ...changes });
/** Each has one fault. */
const WRONG: readonly PanelJson[] = [
  stat({ gridPos: { x: 0, y: 0, w: '4', h: 4 } }),
  stat({ transparency: true }),
  stat({ options: { colorMode: 'pale' } }),
  stat({ fieldConfig: { defaults: { units: 's' } } }),
  { type: 'timeseries', title: 'Lines', fieldConfig: { defaults: { custom: { lineWidht: 1 } } } },
];

for (const version of GRAFANA_VERSIONS) {
  test(`the schema of Grafana ${version} allows every dashboard, and refuses wrong fields and values`, async () => {
    const faults = await schemaFaults(version, [...FILES, { uid: 'wrong', panels: WRONG }]);
    assert.deepEqual(
      faults.filter((fault) => !fault.startsWith('wrong / ')),
      [],
    );
    assert.equal(faults.length, WRONG.length, faults.join('\n'));
  });
}
