import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXPORTERS } from '@tidegauge/lab/exporters';
import { JMX_AGENT_VERSION } from '@tidegauge/lab/jmx-agent';
import { parse } from 'yaml';
import { ALL_DASHBOARDS } from '../../src/dashboards.ts';

const STACKS = join(import.meta.dirname, '..', '..', '..', 'stacks');
const read = (path: string): string => readFileSync(join(STACKS, path), 'utf8');

test('tests run the same exporters as the stacks', () => {
  const versions = read('versions.env');
  for (const database of ['postgres', 'mariadb'] as const) {
    const [, version] =
      new RegExp(`^${database.toUpperCase()}_EXPORTER_IMAGE=\\S+:(\\S+)$`, 'm').exec(versions) ?? [];
    assert.equal(version, EXPORTERS[database].version, database);
  }
  assert.match(read('monitoring/jmx/Dockerfile'), new RegExp(`javaagent:${JMX_AGENT_VERSION}\\n`));
});

test('the stack gives Grafana every dashboard', () => {
  const { services } = parse(read('monitoring.yml')) as {
    services: { grafana: { configs: { target: string }[] } };
  };
  const mounted = services.grafana.configs.map(({ target }) => target);
  const dashboards = mounted.filter((target) => target.startsWith('/etc/grafana/dashboards/'));
  assert.deepEqual(
    dashboards,
    ALL_DASHBOARDS.map(({ uid }) => `/etc/grafana/dashboards/${uid}.json`),
  );
});
