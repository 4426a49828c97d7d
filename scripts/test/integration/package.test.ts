import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { runProgram, waitUntil } from '@tidegauge/process';
import type { ReadingDocument } from '@tidegauge/readings';
import mqtt from 'mqtt';
import { packFolder } from '../../pack-folder.ts';
import { buildPackage } from '../../package/build-package.ts';
import { NODE, ROOT } from '../../setup.js';
import { startPipelineOf } from '../embedded/pipeline-process.ts';

const MOST_BYTES = 25e6;
const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };

let folder = '';
/** Where a user has installed the package. */
let user = '';
let built = '';
let bytes = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidegauge-package-'));
  user = join(folder, 'user');
  built = join(folder, 'package');
  ({ bytes } = await buildPackage(built));
  const archive = join(folder, 'tidegauge.tgz');
  await packFolder(built, archive, 0);
  await mkdir(user);
  await writeFile(join(user, 'package.json'), '{}');
  const options = ['--offline', '--no-audit', '--no-fund'];
  await runProgram('npm', ['install', ...options, archive], { cwd: user });
});
after(() => rm(folder, { recursive: true }));

const program = () => join(user, 'node_modules', 'tidegauge', 'bin', 'tidegauge.js');
const tidegauge = (...args: readonly string[]) =>
  runProgram(NODE, ['--no-experimental-strip-types', program(), ...args], { cwd: user, accept: 'any' });

test('it is small, and has no TypeScript and no native code', () => {
  assert.ok(bytes < MOST_BYTES, `${bytes} bytes`);
  assert.deepEqual(globSync('**/*.{ts,mts,cts,node}', { cwd: join(user, 'node_modules') }), []);
});

test('the installed command runs, and every program of the package can be loaded', async () => {
  const PATH = [dirname(NODE), process.env.PATH].join(delimiter);
  const linked = join(user, 'node_modules', '.bin', 'tidegauge');
  const { stdout } = await runProgram(linked, ['--version'], { cwd: user, env: { PATH } });
  assert.ok(stdout.startsWith(`tidegauge ${root.version}`), stdout);
  const help = (await tidegauge('--help')).stdout;
  assert.match(help, /^ {2}start /m);
  assert.doesNotMatch(help, /^ {2}(sim|loadtest) /m);
  // It imports all of them.
  const completion = await tidegauge('completion', 'bash');
  assert.equal(completion.code, 0, completion.stderr);
  assert.match(completion.stdout, /--mqtt-port/);
});

test('on a 32-bit system npm does not install it, and what --force installs does not start', async () => {
  const place = join(folder, 'refused');
  await mkdir(place);
  await writeFile(join(place, 'package.json'), '{}');
  const isArm = "Object.defineProperty(process, 'arch', { value: 'arm' })";
  const arm = `data:text/javascript,${encodeURIComponent(isArm)}`;
  // npm decides by the manifest, and takes seconds to unpack the rest.
  const bare = join(folder, 'bare', 'package');
  await mkdir(bare, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8'));
  const { dependencies: _, bundleDependencies: __, ...rest } = manifest;
  await writeFile(join(bare, 'package.json'), JSON.stringify(rest));
  const refused = join(folder, 'bare.tgz');
  await packFolder(bare, refused, 0);
  const args = ['install', '--offline', '--no-audit', '--no-fund', refused];
  // npm applies --cpu to optional packages only.
  const env = { ...process.env, NODE_OPTIONS: `--import=${arm}` };
  const { code, stderr } = await runProgram('npm', args, { cwd: place, env, accept: 'any' });
  assert.notEqual(code, 0);
  assert.match(stderr, /EBADPLATFORM/);
  assert.deepEqual(globSync('*', { cwd: place }), ['package.json']);
  const forced = await runProgram(NODE, ['--import', arm, program(), 'start'], { cwd: place, accept: 'any' });
  assert.equal(forced.code, 1);
  assert.match(forced.stderr, /^tidegauge needs a 64-bit system/);
  assert.deepEqual(globSync('*', { cwd: place }), ['package.json']);
});

test('what only a clone has is refused with the reason', async () => {
  const simulator = await tidegauge('sim');
  assert.equal(simulator.code, 2);
  assert.equal(simulator.stderr, 'tidegauge sim works in a clone of the repository only\n');
  assert.match((await tidegauge('start', '--sim')).stderr, /^--sim needs a clone of the repository/);
});

test('a store without its driver is refused with the command that installs it', async () => {
  const { code, stderr } = await tidegauge('start', '--store', 'postgres://127.0.0.1/tidegauge');
  assert.equal(code, 2, stderr);
  assert.match(
    stderr,
    /^the driver of postgres is not installed: .* pg@\d+\.\S+ pg-copy-streams@\d+\.\S+\n$/,
  );
});

test('it stores what a sensor publishes, serves the page, and keeps its data where the user is', async (context) => {
  const place = { tidegauge: program(), cwd: user };
  const pipeline = await startPipelineOf(context, place, '--data', 'data');
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${pipeline.mqttPort}`);
  await client.publishAsync('sensors/kitchen/temperature', '21.5', { qos: 1 });
  await client.endAsync();
  let readings: readonly ReadingDocument[] = [];
  await waitUntil(
    'the reading',
    async () => {
      const response = await fetch(`${pipeline.api}/v1/readings/latest?device=kitchen`);
      ({ readings } = (await response.json()) as { readings: ReadingDocument[] });
      return readings.length > 0;
    },
    { timeoutMs: 20_000 },
  );
  assert.equal(readings[0]!.value, 21.5);
  const vendor = ['swagger-ui/swagger-ui-bundle.js', 'uplot/uPlot.min.css'].map((file) => `/vendor/${file}`);
  for (const path of ['/', '/openapi.json', ...vendor])
    assert.equal((await fetch(`${pipeline.api}${path}`)).status, 200, path);
  assert.equal(await pipeline.interrupt(), 0, pipeline.output());
  assert.ok(existsSync(join(user, 'data', 'tidegauge.db')));
});
