import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import hcl from 'hcl2-parser';
import { IMAGES, type ImageName } from '../../images/debian/images.ts';
import { contextFiles, keyOf } from '../../images/debian/inputs.ts';
import { ROOT, readVariables } from '../stack-files.ts';

const DOCKERFILES = globSync('stacks/**/Dockerfile', { cwd: ROOT });
/** Images that are shipped. The others replace published images in tests. */
const SHIPPED = DOCKERFILES.filter((path) => !path.startsWith('stacks/images/debian/'));

/** Instructions of a Dockerfile, with continued lines joined and without comments. */
function instructions(path: string): string[] {
  const lines = readFileSync(join(ROOT, path), 'utf8').split('\n');
  const text = lines.filter((line) => !/^\s*#/.test(line)).join('\n');
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean);
}

/** The arguments of every instruction with this name. */
function all(path: string, name: string): string[] {
  return instructions(path).flatMap((line) =>
    line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : [],
  );
}

function stages(path: string): string[] {
  return all(path, 'FROM').flatMap((from) => / AS (\S+)$/.exec(from)?.[1] ?? []);
}

test('the base of an image is a build argument or another stage of its Dockerfile', () => {
  assert.ok(DOCKERFILES.length > 5);
  for (const path of DOCKERFILES) {
    const declared = all(path, 'ARG').map((arg) => arg.replace(/=.*/, ''));
    for (const from of all(path, 'FROM')) {
      const [, argument, stage] = /^(?:\$\{(\w+)\}|(\S+))/.exec(from)!;
      const known = argument === undefined ? stages(path).includes(stage!) : declared.includes(argument);
      assert.ok(known, `${path}: FROM ${from}`);
    }
  }
});

test('an image that is shipped has a numeric user', () => {
  for (const path of SHIPPED.filter((each) => each.startsWith('stacks/images/'))) {
    const users = all(path, 'USER');
    assert.ok(
      users.length > 0 && users.every((user) => /^[1-9]\d*:[1-9]\d*$/.test(user)),
      `${path}: ${users}`,
    );
  }
});

test('images have no implicit downloads: no ADD, and no recommended packages of Debian', () => {
  for (const path of DOCKERFILES) {
    assert.deepEqual(all(path, 'ADD'), [], path);
    for (const run of all(path, 'RUN').filter((command) => command.includes('apt-get install'))) {
      const installs = run.match(/apt-get install/g)!.length;
      assert.equal(run.match(/apt-get install --yes --no-install-recommends /g)?.length, installs, path);
      assert.match(run, /rm -rf \/var\/lib\/apt\/lists\/\*/, path);
    }
  }
});

interface Target {
  readonly inherits?: readonly string[];
  readonly context?: string;
  readonly dockerfile?: string;
  readonly target?: string;
  readonly args?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  readonly platforms?: readonly string[];
}

interface Bake {
  readonly variable: Readonly<Record<string, readonly { readonly default?: string }[]>>;
  readonly group: Readonly<Record<string, readonly { readonly targets: readonly string[] }[]>>;
  readonly target: Readonly<Record<string, readonly Target[]>>;
}

const BAKE = hcl.parseToObject(readFileSync(join(ROOT, 'stacks/images/docker-bake.hcl'), 'utf8'))[0] as Bake;

/** A target with its inherited attributes, merged as bake does it. */
function target(name: string): Target {
  const own = BAKE.target[name]![0]!;
  const merged: Target = Object.assign({}, ...(own.inherits ?? []).map(target));
  return { ...merged, ...own, args: { ...merged.args, ...own.args } };
}

/** The targets of a name, which may be that of a group. */
function targetsOf(name: string): string[] {
  return BAKE.group[name]?.[0]?.targets.flatMap(targetsOf) ?? [name];
}

test('bake builds all our images for both architectures, from existing files', () => {
  const names = targetsOf('default');
  const ours = Object.values(IMAGES).flatMap(({ targets = [] }) => targets);
  assert.deepEqual(names.toSorted(), ours.toSorted());
  for (const name of names) {
    const { context, dockerfile, target: stage, args = {}, tags, platforms } = target(name);
    // The default Dockerfile is in the context.
    const path = dockerfile ?? join(context!, 'Dockerfile');
    assert.ok(existsSync(join(ROOT, path)), `${name}: ${path}`);
    assert.ok(stage === undefined || stages(path).includes(stage), `${name}: ${path} has no stage ${stage}`);
    const declared = all(path, 'ARG').map((arg) => arg.replace(/=.*/, ''));
    for (const arg of Object.keys(args)) assert.ok(declared.includes(arg), `${path} declares no ${arg}`);
    assert.deepEqual(tags, [`\${TIDEGAUGE_REGISTRY}tidegauge-${name}:\${TIDEGAUGE_VERSION}`]);
    assert.deepEqual(platforms, ['linux/arm64', 'linux/amd64']);
  }
});

test('bake takes its names and versions from versions.env', () => {
  const known = Object.keys(readVariables('stacks/versions.env'));
  const wanted = Object.entries(BAKE.variable).filter(([, [variable]]) => variable?.default === undefined);
  assert.deepEqual(
    wanted.map(([name]) => name).filter((name) => !known.includes(name)),
    [],
  );
});

test('the inputs of an image are its sources, and no test, secret or generated file', () => {
  const files = (name: ImageName): string[] => contextFiles(IMAGES[name].sources!);
  const services = files('tidegauge');
  for (const path of [
    'package-lock.json',
    'services/api/public/index.html',
    'packages/storage/src/registry.ts',
  ]) {
    assert.ok(services.includes(path), path);
  }
  for (const path of [...services, ...files('sensors-sim')]) {
    assert.doesNotMatch(path, /(^|\/)(test|node_modules|__pycache__|\.git|data)(\/|$)/);
  }
  assert.ok(files('sensors-sim').every((path) => path.startsWith('sensors-sim/')));
});

test('each image has a different key', () => {
  const names = Object.keys(IMAGES) as ImageName[];
  assert.equal(new Set(names.map(keyOf)).size, names.length);
});

test('an image has the packages that its service declares, directly or through another package', () => {
  const program = join(ROOT, 'stacks/images/tidegauge/workspaces.js');
  const output = execFileSync(process.execPath, [program, 'services/ingest'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const folders = output.trim().split('\n');
  assert.equal(folders[0], 'services/ingest');
  // storage declares hbase-client; only tests of ingest import lab and loadtests.
  for (const name of ['mqtt-session', 'storage', 'hbase-client']) {
    assert.ok(folders.includes(`packages/${name}`), name);
  }
  assert.ok(!folders.includes('packages/workload') && !folders.includes('lab'));
  assert.equal(new Set(folders).size, folders.length);
});
