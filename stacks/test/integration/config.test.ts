import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram, temporaryDirectory } from '@tidegauge/lab';
import { buildOnce } from '@tidegauge/lab/build-once';
import { go } from '@tidegauge/lab/go';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { parse } from 'yaml';
import { fillIn, PROFILES, ROOT, STORES, type Variables, variablesOf } from '../stack-files.ts';
import { problemsOf, type Stack, tooMuchFor } from './stack-rules.ts';

const run = promisify(execFile);

/** The loader and the schema of docker compose. */
const COMPOSE_GO = '2.16.2';
const SECRETS = '/etc/tidegauge/secrets';

const folder = temporaryDirectory('stack-config');
after(() => folder.remove());

const client = await startOrSkip('docker-stack-config', async () => {
  const docker = await findProgram('docker', 'docker.io');
  const { stdout } = await run(docker, ['stack', 'config', '--help']).catch(() => ({ stdout: '' }));
  if (!stdout.includes('stack config'))
    throw new Error(`${docker} has no \`stack config\`: it takes 23 or later`);
  return docker;
});
const loader = await startOrSkip('compose-go', async () => {
  const directory = await buildOnce(`compose-go/v${COMPOSE_GO}`, async (target) => {
    await mkdir(target);
    await go(['install', `github.com/compose-spec/compose-go/v2/cmd@v${COMPOSE_GO}`], {
      env: { GOBIN: target },
    });
    await rename(join(target, 'cmd'), join(target, 'compose-go'));
  });
  return join(directory, 'compose-go');
});

interface Combination {
  readonly name: string;
  readonly files: readonly string[];
  readonly profile: (typeof PROFILES)[number];
  readonly variables: Variables;
}

/** A store alone, with monitoring and with backups, on boards of every size. */
function combinationsOf(store: string): Combination[] {
  return [[], ['monitoring'], ['backup']].flatMap((more) =>
    PROFILES.map((profile) => ({
      name: `${[store, ...more].join(' with ')} on ${profile}`,
      files: [
        'docker-stack.yml',
        ...[store, ...more].map((name) => `stacks/${name}.yml`),
        ...more.map((name) => `stacks/${name}/${store}.yml`).filter((file) => existsSync(join(ROOT, file))),
      ],
      profile,
      variables: variablesOf(profile),
    })),
  );
}

/** The configuration that the docker command makes of stack files. It needs no engine. */
async function stackConfig({ files, variables }: Combination): Promise<string> {
  const args = files.flatMap((file) => ['-c', file]);
  const env = { PATH: process.env.PATH, HOME: folder.path, ...variables };
  const { stdout } = await run('server' in client ? client.server : '', ['stack', 'config', ...args], {
    cwd: ROOT,
    env,
  });
  return stdout;
}

/** The configuration that compose makes of the files. Rejects with its error if it refuses them. */
async function compose(files: readonly string[]): Promise<Stack> {
  if (!('server' in loader)) throw new Error(loader.skip);
  const { stdout } = await run(loader.server, ['--no-interpolation', ...files], {
    cwd: ROOT,
    maxBuffer: 2 ** 24,
  });
  return parse(stdout);
}

for (const store of STORES) {
  const combinations = combinationsOf(store);
  const small = combinations.filter(({ profile }) => profile === '1gb');
  const merged = join(folder.path, `${store}.yml`);

  test(`docker accepts ${store}, and its configuration follows our rules`, {
    skip: 'skip' in client ? client.skip : false,
  }, async () => {
    for (const combination of combinations) {
      const stack: Stack = parse(await stackConfig(combination));
      assert.deepEqual(problemsOf(stack, combination.variables), [], combination.name);
      assert.deepEqual(tooMuchFor(combination.profile, stack), [], combination.name);
    }
  });

  test(`docker's configuration of ${store} matches the schema of the Compose specification`, {
    skip: 'skip' in client ? client.skip : 'skip' in loader ? loader.skip : false,
  }, async () => {
    for (const combination of small) {
      await writeFile(merged, await stackConfig(combination));
      await compose([merged]);
    }
  });

  test(`docker compose accepts ${store} with the override`, {
    skip: 'skip' in loader ? loader.skip : false,
  }, async () => {
    for (const { name, files, variables } of small) {
      const filled = [...files, 'stacks/compose.yml'].map((file) => ({
        path: join(folder.path, `${store}-${file.replaceAll('/', '-')}`),
        text: fillIn(file, { ...variables, TIDEGAUGE_SECRETS: SECRETS }),
      }));
      for (const { path, text } of filled) await writeFile(path, text);
      const { secrets = {}, networks = {} } = await compose(filled.map(({ path }) => path));
      for (const [secret, { external, file }] of Object.entries(secrets)) {
        assert.ok(external !== true && file === `${SECRETS}/${secret}`, `${name}: secret ${secret}`);
      }
      for (const [network, { driver }] of Object.entries(networks)) {
        assert.equal(driver, 'bridge', `${name}: network ${network}`);
      }
    }
  });
}
