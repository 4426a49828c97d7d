import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '@tidegauge/service';
import { type Broker, checkBroker, readBroker } from './broker.ts';
import {
  type BrokerLimits,
  checkCeiling,
  checkLimits,
  type Flow,
  parseMosquittoConf,
} from './broker-limits.ts';
import { checkCardLife, readDiskWrites } from './card-life.ts';
import { type Comparison, checkClock, readClock } from './clock.ts';
import { checkDirectories } from './directories.ts';
import { checkDisk, type Disk } from './disk.ts';
import { DockerApi, DockerError } from './docker-api.ts';
import { type Engine, readEngine } from './engine.ts';
import { error, type Finding, ok, passes, unknown } from './finding.ts';
import { measureDisk } from './fsync.ts';
import { type HostFiles, hostFiles } from './host-files.ts';
import { type IngestReport, readIngest } from './ingest.ts';
import { checkKernel, readKernel } from './kernel.ts';
import { checkMemory, readMemory } from './memory.ts';
import { checkMtu, checkReach, findUnderlay, reachBoards } from './network.ts';
import { checkPorts, readPorts } from './ports.ts';
import { checkProcessor, type MongodbImage, mongodbImage, readProcessor } from './processor.ts';
import type { Report } from './report.ts';
import { DOCKER_SOCKET, STACK, type settings } from './settings.ts';
import { queryNtp } from './sntp.ts';
import { readStack, type Stack, StackError } from './stack.ts';
import { checkStore, pingStore, type StorePing } from './store.ts';
import { checkSwarm, type Plan } from './swarm.ts';
import { dockerSize } from './units.ts';
import { checkVersions } from './versions.ts';

type Settings = Config<typeof settings>;

/** Where the stack files put data. */
const DATA = '/var/lib/tidegauge';
const HERE = fileURLToPath(new URL('../../..', import.meta.url));

/** The engine to check, or `none` where nothing has to do with Docker: no socket, and no setting of a stack. */
export function dockerHostOf(
  {
    dockerHost,
    stack,
    profile,
    monitoring,
  }: Pick<Settings, 'dockerHost' | 'stack' | 'profile' | 'monitoring'>,
  hasSocket: boolean,
): string {
  const isStack = stack !== STACK || profile !== null || monitoring;
  return dockerHost === `unix://${DOCKER_SOCKET}` && !hasSocket && !isStack ? 'none' : dockerHost;
}

/** Runs all checks that the settings enable. Each check is bounded in time and changes nothing. */
export async function examine(given: Settings): Promise<Report> {
  const config = { ...given, dockerHost: dockerHostOf(given, existsSync(DOCKER_SOCKET)) };
  const files = hostFiles(config.root);
  const store = config.store?.split(':')[0] ?? null;
  const { stack, findings: stackFindings } = loadStack(config, store);
  const mongodb = mongodbOf(store, stack);
  const plan: Plan = { store, profile: config.profile, stack, mongodb };

  const [engine, disk, ingest, broker, ping] = await Promise.all([
    lookAt(config.dockerHost === 'none' ? null : config.dockerHost, (host) =>
      readEngine(new DockerApi(host)),
    ),
    measureDisk(files, config.root, config.data ?? process.env.TIDEGAUGE_DATA ?? DATA, config.diskTime),
    lookAt(config.ingest, readIngest),
    lookAt(config.broker, (url) =>
      readBroker({ url, user: config.brokerUser, password: config.brokerPassword, ca: config.brokerCa }),
    ),
    lookAt(config.store?.includes(':') ? config.store : null, pingStore),
  ]);
  const there = engine !== null && !('why' in engine) ? engine : null;
  const findings = [
    ...checkProcessor(readProcessor(files, { arch: process.arch, machine: os.machine() }), mongodb),
    ...checkMemory(readMemory(files), config.profile, there?.info.MemoryLimit ?? null),
    ...checkKernel(readKernel(files, os.release()), store, mongodb),
    ...checkClock(...(await compareClocks(files, config, there, ingest))),
    ...checkDisk(disk),
    ...checkCardLife(readDiskWrites(files, disk), config.cardTbw),
    ...stackFindings,
    ...(engine === null ? [] : await examineEngine(files, engine, plan, config.stack)),
    ...(stack === null
      ? []
      : checkPorts(seesBoard(there) ? readPorts(files, stack, there) : null, config.stack)),
    ...checkStore(ping),
    ...checkIngest(config.ingest, ingest),
    ...examineBroker(config, stack, broker, commitOf(ingest, ping, disk)),
  ];
  return {
    host: os.hostname(),
    passed: passes(findings, config.strict),
    findings,
    skipped: skipped(config),
  };
}

/** Returns the result, or the reason for a failure as a value: one unavailable component must not hide the others. */
async function lookAt<A, T>(what: A | null, look: (what: A) => Promise<T>): Promise<T | Failure | null> {
  if (what === null) return null;
  try {
    return await look(what);
  } catch (failure) {
    const { message } = failure as Error;
    return { why: message, fix: failure instanceof DockerError ? failure.fix : null };
  }
}

export interface Failure {
  readonly why: string;
  readonly fix: string | null;
}

function loadStack(
  { files: directory, profile, monitoring }: Settings,
  store: string | null,
): { stack: Stack | null; findings: Finding[] } {
  const check = 'stack.files';
  const root = directory ?? HERE;
  // The same files as stacks/bin/deploy uses. SQLite, JSON and null have no service.
  const names = store === null || store === 'json' || store === 'null' ? [] : [store];
  const exporter = `monitoring/${store}`;
  if (monitoring) names.push('monitoring');
  if (monitoring && existsSync(join(root, `stacks/${exporter}.yml`))) names.push(exporter);
  const files = ['docker-stack.yml', ...names.map((name) => `stacks/${name}.yml`)];
  try {
    // A profile is needed for its variables; the default is the smallest one.
    const stack = readStack(root, files, profile ?? '1gb', process.env);
    return { stack, findings: [ok(check, `read ${files.join(', ')} with profile ${profile ?? '1gb'}`)] };
  } catch (failure) {
    if (!(failure instanceof StackError)) throw failure;
    const isHere = directory !== null || existsSync(join(root, 'docker-stack.yml'));
    return { stack: null, findings: [(isHere ? error : unknown)(check, failure.message, failure.fix)] };
  }
}

function mongodbOf(store: string | null, stack: Stack | null): MongodbImage | null {
  if (store !== 'mongodb') return null;
  const { MONGODB_IMAGE = 'the image of MongoDB', MONGODB_IMAGE_ARMV8_0 = 'mongo:4.4.18' } =
    stack?.variables ?? {};
  return mongodbImage(MONGODB_IMAGE, MONGODB_IMAGE_ARMV8_0);
}

async function compareClocks(
  files: HostFiles,
  { ntp, dockerHost }: Settings,
  engine: Engine | null,
  ingest: IngestReport | Failure | null,
): Promise<[ReturnType<typeof readClock>, Comparison[]]> {
  const clock = readClock(files);
  const server = ntp ?? clock.server;
  const comparisons = server === null ? [] : [await queryNtp(server)];
  if (engine !== null && !dockerHost.startsWith('unix:')) {
    const offset = (Date.parse(engine.info.SystemTime) - engine.readAt) / 1000;
    comparisons.push({
      source: `the engine on ${engine.info.Name}`,
      offset,
      uncertainty: engine.tookSeconds,
    });
  }
  if (ingest !== null && 'clock' in ingest) comparisons.push(ingest.clock);
  return [clock, comparisons];
}

async function examineEngine(
  files: HostFiles,
  engine: Engine | Failure,
  plan: Plan,
  name: string,
): Promise<Finding[]> {
  if ('why' in engine) return [error('docker.engine', engine.why, engine.fix ?? 'see journalctl -u docker')];
  const { swarm, info } = engine;
  const nodes = swarm !== null && 'nodes' in swarm ? swarm.nodes : [];
  const underlay = findUnderlay(files, os.networkInterfaces(), info.Swarm.NodeAddr);
  return [
    ...checkVersions(engine, plan.stack, name),
    ...checkSwarm(engine, plan),
    ...(info.Swarm.LocalNodeState === 'active' ? checkMtu(underlay, engine, plan.stack) : []),
    ...checkReach(await reachBoards(nodes, info.Swarm.NodeID)),
    ...(plan.stack === null ? [] : checkDirectories(files, plan.stack, engine)),
  ];
}

/**
 * Whether this process uses the board's network. A container has its own network and host name, unless it runs with
 * `--network host`.
 */
function seesBoard(engine: Engine | null): boolean {
  return !existsSync('/.dockerenv') || os.hostname() === engine?.info.Name;
}

function checkIngest(url: string | null, ingest: IngestReport | Failure | null): Finding[] {
  if (ingest === null || url === null) return [];
  if (!('why' in ingest)) return [];
  return [
    error('ingest.metrics', `${url} does not answer: ${ingest.why}`, 'check its address and METRICS_PORT'),
  ];
}

/**
 * The best available estimate of the time of one commit: ingest's own measurement, or the fsync of this disk plus the
 * round trip to the store.
 */
function commitOf(
  ingest: IngestReport | Failure | null,
  ping: StorePing | Failure | null,
  { fsync }: Disk,
): Flow['commit'] {
  if (ingest !== null && 'commit' in ingest && ingest.commit !== null) {
    return { seconds: ingest.commit, source: 'mean of the running ingest' };
  }
  if ('why' in fsync) return null;
  if (ping !== null && 'seconds' in ping) {
    return {
      seconds: fsync.p50 + ping.seconds,
      source: 'fsync on this disk and the round trip to the store; a lower bound',
    };
  }
  return { seconds: fsync.p50, source: 'fsync only; a lower bound' };
}

function examineBroker(
  config: Settings,
  stack: Stack | null,
  broker: Broker | Failure | null,
  commit: Flow['commit'],
): Finding[] {
  const flow = flowOf(config, stack, commit);
  const { limits, findings } = loadLimits(config, stack);
  const ofBroker = broker === null || config.broker === null ? [] : checkBroker(config.broker, broker);
  const found = [...ofBroker, ...findings];
  // The limit of the running broker counts before that of the file.
  const inflight = broker !== null && !('why' in broker) ? broker.inflight : limits?.inflight;
  if (inflight === undefined) return found;
  if (limits === null) return [...found, checkCeiling(inflight, flow)];
  return [...found, ...checkLimits({ ...limits, inflight }, flow)];
}

function loadLimits(
  { mosquittoConf, files }: Settings,
  stack: Stack | null,
): { limits: BrokerLimits | null; findings: Finding[] } {
  const path = mosquittoConf ?? join(files ?? HERE, 'stacks/mosquitto/mosquitto.conf');
  if (mosquittoConf === null && stack === null) return { limits: null, findings: [] };
  const service = stack?.services.find(({ name }) => name === 'mosquitto');
  try {
    const text = readFileSync(path, 'utf8');
    if (mosquittoConf !== null) return { limits: parseMosquittoConf(text, {}), findings: [] };
    // The service's start.sh adds persistence, by what its mosquitto has.
    const limits = { ...parseMosquittoConf(text, service?.environment ?? {}), persistence: true };
    return { limits, findings: [] };
  } catch (failure) {
    const message = `${path} cannot be read: ${(failure as Error).message}`;
    return { limits: null, findings: [error('broker.conf', message, 'set --mosquitto-conf FILE')] };
  }
}

function flowOf({ rate, messageBytes }: Settings, stack: Stack | null, commit: Flow['commit']): Flow {
  const service = (wanted: string) => stack?.services.find(({ name }) => name === wanted);
  const ingest = service('ingest');
  const { PACE = 'auto', MAX_IN_FLIGHT = '8000' } = ingest?.environment ?? {};
  // With auto, a broker at its limit waits 3 ms.
  const [, pace = '3', unit = 'ms'] = /^([\d.]+)(ms|s)$/.exec(PACE) ?? [];
  return {
    rate,
    messageBytes,
    replicas: ingest?.replicas ?? 1,
    pace: Number(pace) / (unit === 's' ? 1 : 1000),
    maxInFlight: Number(MAX_IN_FLIGHT),
    commit,
    memory: service('mosquitto')?.limit ?? dockerSize(stack?.variables.MOSQUITTO_MEMORY ?? ''),
  };
}

function skipped({ store, profile, rate, broker, ingest, dockerHost }: Settings): string[] {
  const checks: [isRequested: boolean, what: string][] = [
    [store !== null, 'what the store needs (--store NAME)'],
    [profile !== null, 'whether memory fits the profile (--profile 1gb)'],
    [rate !== null, "whether the broker's limits suffice for the load (--rate MESSAGES_PER_SECOND)"],
    [broker !== null, 'the running broker (--broker URL)'],
    [ingest !== null, 'commit times of ingest (--ingest URL)'],
    [dockerHost !== 'none', 'Docker and the swarm (--docker-host)'],
  ];
  return checks.filter(([isRequested]) => !isRequested).map(([, what]) => what);
}
