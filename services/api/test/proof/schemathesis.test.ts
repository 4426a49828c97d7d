import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '@tidegauge/lab/postgres';
import { installPythonPackages } from '@tidegauge/lab/python-packages';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { startApi } from '../harness.ts';

// Schemathesis compares the API with its OpenAPI document, with valid and invalid requests and all checks.
// SCHEMATHESIS_EXAMPLES=500 runs more requests, with a different seed each time.

const FOLDER = fileURLToPath(new URL('../schemathesis/', import.meta.url));
const EXAMPLES = process.env.SCHEMATHESIS_EXAMPLES ?? '';
/** The default: the same requests every time, so that a failure comes from the tested change. */
const FEW = ['--max-examples=5', '--seed=1', '--no-shrink'];
/** The live stream does not end. It is tested in live.test.ts. */
const OPTIONS = ['--exclude-path=/v1/live', '--checks=all', '--continue-on-failure', '--no-color'];

/** A store for the API. The URL null means the SQLite file of the harness. */
interface Started {
  readonly url: string | null;
  stop(): Promise<void>;
}

const STORES: Readonly<Record<string, () => Promise<Started>>> = {
  sqlite: async () => ({ url: null, stop: async () => {} }),
  postgres: async () => {
    const server = await startPostgres();
    return { url: server.url(await server.createDatabase()), stop: () => server.stop() };
  },
};

/**
 * With the fixed seed all stores get the same requests. Continuous integration sends them to PostgreSQL, which takes fewer
 * values than SQLite. The unit tests and injection.test.ts, with all its requests, use SQLite.
 */
const CHOSEN = process.env.CI === 'true' && EXAMPLES === '' ? ['postgres'] : Object.keys(STORES);

for (const name of CHOSEN) {
  test(`Schemathesis finds nothing wrong with the API on ${name}`, async (t) => {
    const program = await startOrSkip('schemathesis', () =>
      installPythonPackages('schemathesis', join(FOLDER, 'requirements.txt')),
    );
    if ('skip' in program) return t.skip(program.skip);
    const started = await startOrSkip(name, STORES[name]!);
    if ('skip' in started) return t.skip(started.skip);
    t.after(() => started.server.stop());
    const api = await startApi(t, { storeUrl: started.server.url, config: { bodyLimit: 2 ** 20 } });
    await api.call('PUT', '/v1/records/usertable', { body: { fieldCount: 10 } });
    for (let item = 0; item < 3; item += 1) api.ingest.refuse('sensors/a/b', 'malformed', 'no number', 'x');

    const folder = await mkdtemp(join(tmpdir(), 'tidegauge-schemathesis-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const examples = EXAMPLES === '' ? FEW : [`--max-examples=${Number(EXAMPLES)}`];
    const { status, output } = await run(program.server, folder, [
      `--config-file=${join(FOLDER, 'schemathesis.toml')}`,
      'run',
      `${api.url}/openapi.json`,
      ...OPTIONS,
      ...examples,
    ]);
    assert.equal(status, 0, output);
    // Schemathesis tested every operation.
    const { paths } = JSON.parse(await (await fetch(`${api.url}/openapi.json`)).text());
    const count = Object.values<object>(paths).flatMap((item) =>
      Object.keys(item).filter((key) => key !== 'parameters'),
    ).length;
    assert.match(output, new RegExp(`Tested: +${count - 1}\\b`), output);
  });
}

function run(python: string, folder: string, args: readonly string[]) {
  // In a new folder, because Schemathesis stores its findings for the next run.
  return spawned(python, ['-m', 'schemathesis.cli', ...args], {
    cwd: folder,
    env: { ...process.env, SCHEMATHESIS_HOOKS: join(FOLDER, 'hooks.py'), COLUMNS: '200' },
  });
}

function spawned(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv },
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject).on('close', (status) => resolve({ status, output }));
  });
}
