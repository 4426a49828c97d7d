import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { runProgram, waitUntil } from '@tidegauge/process';
import { UPDATE_SOON } from './stacks.ts';
import { docker, listed, ROOT, script } from './swarm-docker.ts';
import type { SwarmBoard } from './swarm-state.ts';

/** The stack of a study, and the secret with the token of its API. A swarm has at most one of each. */
export const STACK = 'tidegauge-study';
export const TOKEN_SECRET = 'tidegauge-study-token';
/** The service with the drivers. */
export const CLIENT = 'study-client';
const EXPORTER = 'node-exporter';
const STORE_SECRET = 'tidegauge-study-store';

/** Nodes of Cassandra join one after the other, which takes minutes for each on small boards. */
const START_MS = 1_800_000;
/** Less than the runner allows for the end of a deployment. A store has 60 s to stop. */
const STOP_MS = 110_000;
const UPDATE_MS = 180_000;
const POLL_MS = 500;

/**
 * The services that a study of records does not use do not run. The API has a separate token, and is on the board of the
 * client. Boards with the image of the node exporter run one. The study does not wait for others, and measures nothing there.
 */
function overrideFor({ board, storeSecret, adminSecret }: StackOptions): string {
  const secretAs = (source: string | null, target: string): string =>
    source === null
      ? ''
      : `\n      - ${JSON.stringify({ source, target, uid: '1000', gid: '1000', mode: 0o400 })}`;
  const store = secretAs(storeSecret, 'store_url') + secretAs(adminSecret, 'store_admin');
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
  ${CLIENT}:
    # It has Node and the database drivers.
    image: \${TIDEGAUGE_REGISTRY}tidegauge-api:\${TIDEGAUGE_VERSION}
    user: '1000:1000'
    init: true
    read_only: true
    cap_drop: [ALL]
    entrypoint: [node, -e, 'setInterval(() => {}, 1e9)']
    command: []
    environment: { NODE_EXTRA_CA_CERTS: /run/secrets/ca }
    secrets:
      - { source: tidegauge_ca, target: ca, uid: '1000', gid: '1000', mode: 0400 }${store}
    volumes:
      # Not in memory, because a driver keeps the operations of a long run in a file.
      - { type: volume, target: /tmp }
    networks: [store]
    healthcheck: { disable: true }
    logging: { driver: json-file, options: { max-size: 1m, max-file: '1' } }
    deploy:
      endpoint_mode: dnsrr
      placement: { constraints: [node.id == ${board.id}] }
      resources: { limits: { memory: 384M }, reservations: { memory: 64M } }
  ${EXPORTER}:
    image: \${NODE_EXPORTER_IMAGE}
    # It identifies the board.
    hostname: '{{.Node.Hostname}}'
    user: '65534:65534'
    init: true
    read_only: true
    cap_drop: [ALL]
    entrypoint: [sh, /etc/tidegauge/node-exporter.sh]
    command:
      - --path.procfs=/host/proc
      - --path.sysfs=/host/sys
      - --collector.disable-defaults
      - --collector.cpu
      - --collector.diskstats
      - --collector.hwmon
      - --collector.meminfo
      - --collector.textfile
      - --collector.uname
      - --collector.vmstat
      - --web.listen-address=:9100
    environment: { GOMAXPROCS: '1', NETWORK_INTERVAL: '1' }
    configs:
      - { source: study_node_exporter, target: /etc/tidegauge/node-exporter.sh }
    volumes:
      - { type: tmpfs, target: /run/network, tmpfs: { size: 1048576 } }
      - { type: bind, source: /, target: /host, read_only: true, bind: { propagation: rslave } }
    networks: [store]
    healthcheck: { disable: true }
    logging: { driver: json-file, options: { max-size: 1m, max-file: '1' } }
    deploy:
      mode: global
      endpoint_mode: dnsrr
      resources: { limits: { memory: 48M }, reservations: { memory: 16M } }
      # A board without the image does not look for it again and again.
      restart_policy: { condition: on-failure, max_attempts: 3 }
configs:
  study_node_exporter: { file: ${JSON.stringify(join(ROOT, 'stacks/monitoring/node-exporter.sh'))} }
secrets:
  study_token: { external: true, name: ${TOKEN_SECRET} }
`;
}

export interface StackOptions {
  /** A file of stacks/, without its ending. */
  readonly stack: string;
  /** A file of stacks/profiles, without its ending. */
  readonly profile: string;
  /** Where the API and the client run. */
  readonly board: SwarmBoard;
  /** The secret with the STORE URL. null: the stack has none, because the URL contains no password. */
  readonly storeSecret: string | null;
  /** The secret with the administrator's password, for the container of the drivers. null: they do not need it. */
  readonly adminSecret: string | null;
  /** Variables for `stacks/bin/deploy`. */
  readonly env: Readonly<Record<string, string>>;
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
 * @param closers remove the stack and its secret, whatever happens
 * @param folder for the override of the stack
 * @throws {Error} when the swarm is not prepared, with what to do; or when the tasks do not start in half an hour
 */
export async function startStudyStack(
  options: StackOptions,
  closers: Closers,
  folder: string,
  signal: AbortSignal,
): Promise<StudyStack> {
  const override = join(folder, 'override.yml');
  writeFileSync(override, overrideFor(options));
  const token = randomBytes(24).toString('hex');
  // Only one study can make it, so it is the lock of the stack's name too.
  await docker(['secret', 'create', TOKEN_SECRET, '-'], { input: token });
  closers.add(removeSecrets);
  const authority = (await script('secrets', ['--ca'])).trim();
  signal.throwIfAborted();
  closers.add(removeStack);
  const { stack, profile, env } = options;
  const own = ['--resolve-image', 'never', '-c', override];
  await script('deploy', [stack, '--profile', profile, '--name', STACK, '--', ...own], env);
  await settled(signal);
  return { token, authority: `${authority}\n` };
}

/** The environment of a service of the stack, as lines `NAME=value`. */
export async function environmentOf(service: string): Promise<readonly string[]> {
  const format = '{{range .Spec.TaskTemplate.ContainerSpec.Env}}{{println .}}{{end}}';
  return listed(['service', 'inspect', '--format', format, `${STACK}_${service}`]);
}

/**
 * Gives the API of a study other STORE URLs. Each is a secret, because a URL can contain a password. They are removed with
 * the stack.
 */
export class ApiStore {
  #url: string;
  #secrets = 0;

  /** @param url what the API uses now */
  constructor(url: string) {
    this.#url = url;
  }

  /** Restarts the API with a URL, unless it uses that. */
  async use(url: string): Promise<void> {
    if (url === this.#url) return;
    const former = this.#secrets === 0 ? [] : ['--secret-rm', `${STORE_SECRET}-${this.#secrets}`];
    this.#secrets += 1;
    const secret = `${STORE_SECRET}-${this.#secrets}`;
    await docker(['secret', 'create', secret, '-'], { input: url });
    const added = ['--secret-add', `source=${secret},target=study_store,uid=1000,gid=1000,mode=0400`];
    const variables = ['--env-rm', 'STORE', '--env-add', 'STORE_FILE=/run/secrets/study_store'];
    const update = ['service', 'update', ...UPDATE_SOON, ...former, ...added, ...variables];
    await docker([...update, `${STACK}_api`], { timeoutMs: UPDATE_MS });
    this.#url = url;
  }
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
    const late = services.filter(
      (line) => !line.startsWith(`${STACK}_${EXPORTER} `) && !/ (\d+)\/\1( |$)/.test(line),
    );
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

/** Removes the secrets of a study. Its stack must be gone. */
async function removeSecrets(): Promise<void> {
  await docker([
    'secret',
    'rm',
    ...(await listed(['secret', 'ls', '--quiet', '--filter', `name=${STACK}-`])),
  ]);
}

async function existing(tasks: readonly string[]): Promise<string[]> {
  if (tasks.length === 0) return [];
  const args = ['inspect', '--type', 'task', '--format', '{{.ID}}', ...tasks];
  // It prints those that exist, and fails if one does not.
  const { stdout } = await runProgram('docker', args, { accept: 'any' });
  return stdout.split('\n').filter(Boolean);
}
