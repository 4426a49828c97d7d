import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runProgram, temporaryDirectory } from '@tidegauge/process';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const folder = temporaryDirectory('bad-rules');
after(() => folder.remove());

const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};

for (const [what, env, line] of [
  ['an age that is none', { RETENTION: 'soon' }, /^RETENTION must be .*; got "soon": .* write raw:30d$/],
  [
    'readings that are kept for a shorter time than rollups need',
    { RETENTION: 'raw:1h,1m:1y' },
    /^RETENTION must be .*: raw is shorter than rollups need, .*: keep raw:3h or more$/,
  ],
  [
    'a file of retention rules with a mistake',
    { RETENTION_RULES: file('retention.yml', '- devices: a\n  keep: raw:soon\n') },
    /retention\.yml:2:9: \[1\]\.keep: "soon" is not an age: a whole number with s, m, h, d, w or y, or forever$/,
  ],
  [
    'a file of retention rules that does not exist',
    { RETENTION_RULES: join(folder.path, 'none.yml') },
    /none\.yml: it cannot be read: there is no such file/,
  ],
  [
    'a file of alert rules with a mistake',
    { ALERTS: file('alerts.yml', '- { name: hot, metric: t, above: high }\n') },
    /alerts\.yml:1:\d+: \[1\]\.above: /,
  ],
] as const) {
  test(`${what} ends ingest with one line, and nothing is created`, async () => {
    const data = join(folder.path, 'data');
    const settings = { STORE: `sqlite:${data}/store.db`, BROKER: 'mqtt://127.0.0.1:9', DATA_DIR: data };
    const { code, stderr } = await runProgram(process.execPath, [MAIN], {
      env: { ...settings, METRICS_PORT: '0', ...env },
      accept: [2],
    });
    assert.equal(code, 2);
    assert.match(stderr, /^[^\n]+\n$/);
    assert.match(stderr.trim(), line);
    assert.deepEqual(readdirSync(folder.path).sort(), ['alerts.yml', 'retention.yml']);
  });
}
