import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../setup.js';

interface Manifest {
  readonly version: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const manifest = (file: string) => JSON.parse(read(file)) as Manifest;
const root = manifest('package.json');

test('every workspace has the version of the root, and requires that version of the others', () => {
  const files = globSync(
    root.workspaces!.map((folder) => `${folder}/package.json`),
    { cwd: ROOT },
  );
  assert.ok(files.length > 10);
  for (const file of ['package.json', ...files]) {
    const { version, dependencies, devDependencies } = manifest(file);
    assert.equal(version, root.version, file);
    for (const [name, required] of Object.entries({ ...dependencies, ...devDependencies }))
      if (name.startsWith('@tidegauge/')) assert.equal(required, root.version, `${file}: ${name}`);
  }
});

test('the simulator, the Python client, the API, the images and the changelog have that version too', () => {
  const places = {
    'sensors-sim/pyproject.toml': `\nversion = "${root.version}"\n`,
    'sensors-sim/src/tidegauge_sim/__init__.py': `__version__ = '${root.version}'`,
    'clients/python/pyproject.toml': `\nversion = "${root.version}"\n`,
    'clients/python/src/tidegauge_client/__init__.py': `__version__ = '${root.version}'`,
    'services/api/src/openapi.yaml': `\n  version: ${root.version}\n`,
    'stacks/versions.env': `\nTIDEGAUGE_VERSION=${root.version}\n`,
    'stacks/home-assistant/tidegauge/config.yaml': `\nversion: ${root.version}\n`,
    'CHANGELOG.md': `\n## ${root.version} - `,
  };
  for (const [file, text] of Object.entries(places)) assert.ok(read(file).includes(text), file);
});
