import { globSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { NODE_FLAGS } from '../../../scripts/setup.js';
import type { Deployment } from '../model.ts';
import { docker, listed, ROOT } from './swarm-docker.ts';

/** The container's disk for temporary files. The rest of its file system is read-only. */
const SCRATCH = '/tmp';
const FOLDER = `${SCRATCH}/study`;
const EXEC_MS = 30_000;
/** What the image of the API does not have. It has the stores and their database drivers. */
const SOURCES = [
  '{experiments,loadtests,packages/workload}/package.json',
  '{experiments,loadtests,packages/workload}/src/**/*.ts',
];
/** Writes the files of standard input, and links the packages of the image beside them. */
const UNPACK = `
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
const parts = [];
for await (const part of process.stdin) parts.push(part);
mkdirSync('${FOLDER}/node_modules/@tidegauge', { recursive: true });
process.chdir('${FOLDER}');
for (const [path, text] of Object.entries(JSON.parse(Buffer.concat(parts)))) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
const others = readdirSync('/app/node_modules').filter((name) => !name.startsWith('.') && name !== '@tidegauge');
const copied = { loadtests: 'loadtests', workload: 'packages/workload' };
const own = readdirSync('/app/node_modules/@tidegauge').filter((name) => !Object.hasOwn(copied, name));
for (const name of [...others, ...own.map((name) => '@tidegauge/' + name)]) {
  symlinkSync('/app/node_modules/' + name, 'node_modules/' + name);
}
for (const [name, folder] of Object.entries(copied)) symlinkSync('../../' + folder, 'node_modules/@tidegauge/' + name);
`;

/**
 * The container in which the drivers of a study run. It is in the network of the store, on the board of the docker
 * client, because a client cannot run a program in a container of another board.
 */
export interface StudyClient extends Required<Pick<Deployment, 'command' | 'scratch'>> {
  /** Runs a module in the container's Node. Resolves to its output. */
  run(module: string, input?: string): Promise<string>;
  /** Reads a text file of the container. */
  read(path: string): Promise<string>;
}

/**
 * Finds the container of a service, and copies the driver program into it.
 *
 * @throws {Error} when the container is not on the board of the docker client
 */
export async function openStudyClient(service: string): Promise<StudyClient> {
  const filters = [`label=com.docker.swarm.service.name=${service}`, 'status=running'];
  const named = filters.flatMap((filter) => ['--filter', filter]);
  const [container] = await listed(['ps', '--quiet', '--no-trunc', ...named]);
  if (container === undefined) {
    throw new Error(
      `there is no container of ${service} on the board of DOCKER_HOST: see docker service ps ${service}`,
    );
  }
  const exec = (command: readonly string[], input = ''): Promise<string> =>
    docker(['exec', '--interactive', container, ...command], { input, timeoutMs: EXEC_MS });
  const run = (module: string, input = ''): Promise<string> =>
    exec(['node', '--input-type=module', '--eval', module], input);
  await run(UNPACK, JSON.stringify(sources()));
  return {
    scratch: SCRATCH,
    command: (program, args) => ({
      command: 'docker',
      args: ['exec', '--interactive', container, 'node', ...NODE_FLAGS, inContainer(program), ...args],
    }),
    run,
    read: (path) => exec(['cat', path]),
  };
}

/** The files of the driver program, by their path in the project. */
function sources(): Readonly<Record<string, string>> {
  const paths = globSync(SOURCES, { cwd: ROOT });
  return Object.fromEntries(
    paths.map((path) => [path.replaceAll(sep, '/'), readFileSync(join(ROOT, path), 'utf8')]),
  );
}

function inContainer(program: string): string {
  return posix.join(FOLDER, relative(ROOT, program).replaceAll(sep, '/'));
}
