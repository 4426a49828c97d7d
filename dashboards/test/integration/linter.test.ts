import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildDashboardLinter, lintDashboard } from '@tidegauge/lab/dashboard-linter';
import { testWith } from '@tidegauge/lab/unavailable';
import { parse, stringify } from 'yaml';
import { ALL_DASHBOARDS } from '../../src/dashboards.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'grafana', 'dashboards');

interface Exception {
  readonly dashboard: string;
  readonly panel?: string;
}

interface Exceptions {
  readonly exclusions: Readonly<
    Record<string, { readonly reason: string; readonly entries: readonly Exception[] }>
  >;
}

const test = await testWith('dashboard-linter', buildDashboardLinter);

for (const { uid } of ALL_DASHBOARDS) {
  test(`${uid} follows the rules of dashboard-linter, except those in .lint`, async () => {
    assert.deepEqual(await lintDashboard(join(FOLDER, `${uid}.json`), join(FOLDER, '.lint')), []);
  });
}

test('each exception in .lint has a reason and is needed', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegauge-linter-test-'));
  context.after(() => rm(directory, { recursive: true }));
  const { exclusions } = parse(await readFile(join(FOLDER, '.lint'), 'utf8')) as Exceptions;
  for (const [rule, { reason, entries }] of Object.entries(exclusions)) {
    assert.match(reason, /\.$/, rule);
    for (const entry of entries) {
      const others = { ...exclusions, [rule]: { reason, entries: entries.filter((each) => each !== entry) } };
      // The linter takes a rule without entries as excluded everywhere.
      if (others[rule]!.entries.length === 0) delete others[rule];
      const config = join(directory, '.lint');
      await writeFile(config, stringify({ exclusions: others }, { aliasDuplicateObjects: false }));
      const { uid } = ALL_DASHBOARDS.find(({ title }) => title === entry.dashboard)!;
      const faults = await lintDashboard(join(FOLDER, `${uid}.json`), config);
      assert.notDeepEqual(
        faults,
        [],
        `${rule} needs no exception for ${entry.dashboard}: ${entry.panel ?? 'all of it'}`,
      );
    }
  }
});
