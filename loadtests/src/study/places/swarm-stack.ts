import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ProgramOptions, runProgram, waitUntil } from '@tidegauge/process';
import type { Closers } from '../../targets/closers.ts';
import type { SwarmBoard } from './swarm-state.ts';

/** The stack of a study, and the secret with the token of its API. A swarm has at most one of each. */
export const STACK = 'tidegauge-study';
export const TOKEN_SECRET = 'tidegauge-study-token';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DEPLOY_MS = 300_000;
/** Nodes of Cassandra join one after the other, which takes minutes for each on small boards. */
const START_MS = 1_800_000;
/** Less than the runner allows for the end of a deployment. A store has 60 s to stop. */
const STOP_MS = 110_000;
const POLL_MS = 500;

/** The services that a study of records does not use do not run. The API has a fixed board, and a separate token. */
function overrideFor(board: SwarmBoard): string {
  return `version: '3.8'
services:
  mosquitto: { deploy: { replicas: 0 } }
  ingest: { deploy: { replicas: 0 } }
  broker-metrics: { deploy: { replicas: 0 } }
  api:
    environment: { API_TOKEN_FILE: /run/secrets/study_token }
    secrets:
      - { source: study_token, target: study_token, uid: '1000', gid: '1000', mode: 0400 }
    deploy: { placement: { constraints: [node.id == ${board.id}] } }
secrets:
  study_token: { external: true, name: ${TOKEN_SECRET} }
`;
}

/** What `closers` removes again, when the stack of a study has been started. */
export interface StudyStack {
  /** The token of the API. */
  readonly token: string;
  /** The certificate of the authority of the API's certificate, PEM. */
  readonly authority: string;
}

/**
 * Deploys the stack of a study in the swarm of DOCKER_HOST, and waits until all its tasks run and are healthy.
 *
 * @param stack a file of stacks/, without its ending
 * @param board where the API runs
 * @param closers remove the stack and its secret, whatever happens
 * @param folder for the override of the stack
 * @throws {Error} when the swarm is not prepared, with what to do; or when the tasks do not start in half an hour
 */
export async function startStudyStack(
  { stack, profile, board }: { readonly stack: string; readonly profile: string; readonly board: SwarmBoard },
  closers: Closers,
  folder: string,
  signal: AbortSignal,
): Promise<StudyStack> {
  const override = join(folder, 'override.yml');
  writeFileSync(override, overrideFor(board));
  const token = randomBytes(24).toString('hex');
  // Only one study can make it, so it is the lock of the stack's name too.
  await docker(['secret', 'create', TOKEN_SECRET, '-'], { input: token });
  closers.add(async () => void (await docker(['secret', 'rm', TOKEN_SECRET])));
  const authority = (await script('secrets', ['--ca'])).trim();
  signal.throwIfAborted();
  closers.add(removeStack);
  const options = ['--resolve-image', 'never', '-c', override];
  const deploy = [stack, '--profile', profile, '--name', STACK, '--', ...options];
  await script('deploy', deploy);
  await settled(signal);
  return { token, authority: `${authority}\n` };
}

/** The tag of a service's image, without a digest. */
export async function imageTag(service: string): Promise<string> {
  const format = '{{.Spec.TaskTemplate.ContainerSpec.Image}}';
  const image = (await docker(['service', 'inspect', '--format', format, `${STACK}_${service}`])).trim();
  return /:([^:/@]+)(?:@.*)?$/.exec(image)?.[1] ?? image;
}

async function settled(signal: AbortSignal): Promise<void> {
  let waiting = 'no service';
  const look = async (): Promise<boolean> => {
    signal.throwIfAborted();
    const services = await listed([
      'service',
      'ls',
      '--filter',
      LABEL,
      '--format',
      '{{.Name}} {{.Replicas}}',
    ]);
    const late = services.filter((line) => !/ (\d+)\/\1( |$)/.test(line));
    waiting = late.join(', ');
    return services.length > 0 && late.length === 0;
  };
  try {
    await waitUntil(() => `all tasks of the stack ${STACK}: ${waiting}`, look, {
      timeoutMs: START_MS,
      pollMs: POLL_MS,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const format = '{{.Name}} on {{.Node}}: {{.CurrentState}} {{.Error}}';
    const tasks = await docker(['stack', 'ps', '--no-trunc', '--format', format, STACK]).catch(() => '');
    throw new Error(`${(error as Error).message}\n${tasks}`, { cause: error });
  }
}

const LABEL = `label=com.docker.stack.namespace=${STACK}`;

/** Removes the stack, and waits until its containers and networks are gone. */
async function removeStack(): Promise<void> {
  // The deploy may have failed before it made a service.
  const services = await listed(['service', 'ls', '--quiet', '--filter', LABEL]);
  const running = ['--quiet', '--no-trunc', '--filter', 'desired-state=running'];
  const tasks = services.length === 0 ? [] : await listed(['service', 'ps', ...running, ...services]);
  await docker(['stack', 'rm', STACK]);
  let left: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    // Swarm deletes the task of a removed service when its container has ended.
    left = [
      ...(await listed(['service', 'ls', '--filter', LABEL, '--format', 'service {{.Name}}'])),
      ...(await existing(tasks)).map((task) => `task ${task}`),
      ...(await listed(['network', 'ls', '--filter', LABEL, '--format', 'network {{.Name}}'])),
      ...(await listed(['config', 'ls', '--filter', LABEL, '--format', 'config {{.Name}}'])),
    ];
    return left.length === 0;
  };
  await waitUntil(() => `the end of the stack ${STACK}: ${left.join(', ')}`, look, {
    timeoutMs: STOP_MS,
    pollMs: POLL_MS,
  });
}

async function existing(tasks: readonly string[]): Promise<string[]> {
  if (tasks.length === 0) return [];
  const args = ['inspect', '--type', 'task', '--format', '{{.ID}}', ...tasks];
  // It prints those that exist, and fails if one does not.
  const { stdout } = await runProgram('docker', args, { accept: 'any' });
  return stdout.split('\n').filter(Boolean);
}

async function listed(args: readonly string[]): Promise<string[]> {
  return (await docker(args)).split('\n').filter(Boolean);
}

function docker(args: readonly string[], options: ProgramOptions = {}): Promise<string> {
  return run('docker', args, { what: `docker ${args[0]} ${args[1]}`, ...options });
}

/** A script of stacks/bin, which takes the variables of this process. */
function script(name: string, args: readonly string[]): Promise<string> {
  const path = join('stacks/bin', name);
  return run(join(ROOT, path), args, { what: path, timeoutMs: DEPLOY_MS });
}

async function run(program: string, args: readonly string[], options: ProgramOptions = {}): Promise<string> {
  return (await runProgram(program, args, options)).stdout;
}
