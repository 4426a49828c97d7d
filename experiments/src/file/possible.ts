import { hasCitus } from '@tidegauge/lab/citus';
import { STORE_SERVERS } from '@tidegauge/lab/stores';
import { QUERIES } from '@tidegauge/loadtests/operations/read-load';
import { type Capabilities, createStore, optionsOf, type StoreError } from '@tidegauge/storage';
import { counted, didYouMean } from '@tidegauge/text';
import { hardCombinations, seriesOf } from '../combinations.ts';
import { PUBLISHED_STORES } from '../drivers.ts';
import { allLevels, consistencyOptions, schemeOf } from '../levels.ts';
import type { Combination, Level, PlaceName, Study } from '../model.ts';
import { DEVICE_WORKLOADS, isStoreUrl, NONE, UNSET, urlOption } from './factors.ts';

/** Levels that cannot be combined. */
export interface Impossible {
  /** The levels that are the cause. */
  readonly levels: Combination;
  /** The factor whose level is shown as the place of the mistake. */
  readonly factor: string;
  readonly message: string;
}

/** Stores that are one process, wherever they run. */
const SINGLE_NODE: readonly string[] = ['sqlite', 'json', 'postgres', 'mariadb'];
/** Copies that the deployment sets and not the URL: HDFS keeps the files of HBase. */
const COPIES_OF_DEPLOYMENT: Readonly<Record<string, number>> = { hbase: 9 };

/**
 * Combinations of the study that no deployment can have, each cause once. Nothing is started. A place refuses further
 * ones.
 *
 * @param on checks the limits of that place too
 */
export async function impossible(study: Study, on: PlaceName | null): Promise<readonly Impossible[]> {
  const stores = new Map<Level, StoreFacts>();
  const unusable: Impossible[] = [];
  for (const level of study.hard.store ?? []) {
    try {
      stores.set(level, await factsOf(level));
    } catch (error) {
      unusable.push(unusableStore(level, error as StoreError));
    }
  }
  if (unusable.length > 0) return unusable;
  const found = new Map<string, Impossible>();
  for (const levels of plannedLevels(study)) {
    const store = stores.get(levels.store!)!;
    for (const rule of RULES) {
      const problem = rule(levels, store, on);
      if (problem === null) continue;
      const key = JSON.stringify([problem.levels, problem.message]);
      if (!found.has(key)) found.set(key, problem);
    }
  }
  return [...found.values()];
}

function unusableStore(level: Level, { message, hint }: StoreError): Impossible {
  const fix = hint === null ? '' : `: ${hint}`;
  return { levels: { store: level }, factor: 'store', message: `${message}${fix}` };
}

/** Levels of all factors of each run that is planned. */
function* plannedLevels(study: Study): Generator<Combination> {
  for (const hard of hardCombinations(study)) {
    for (const { easy, drivers } of seriesOf(study, hard)) {
      for (const driver of drivers) yield allLevels(study, hard, easy, { driver });
    }
  }
}

interface StoreFacts {
  readonly scheme: string;
  readonly isUrl: boolean;
  /** Whether it runs already, or the lab can start it here. */
  readonly isInstalled: boolean;
  readonly capabilities: Capabilities;
  readonly options: Awaited<ReturnType<typeof optionsOf>>;
}

async function factsOf(level: Level): Promise<StoreFacts> {
  const scheme = schemeOf(level);
  const isUrl = isStoreUrl(String(level));
  // A store that is not opened does no I/O.
  const { capabilities } = await createStore(isUrl ? String(level) : exampleUrl(scheme));
  const isInstalled = isUrl || scheme !== 'citus' || (await hasCitus());
  return { scheme, isUrl, isInstalled, capabilities, options: await optionsOf(scheme) };
}

function exampleUrl(scheme: string): string {
  if (scheme === 'sqlite' || scheme === 'json') return `${scheme}:./data`;
  const user = ['postgres', 'citus', 'mariadb'].includes(scheme) ? 'user@' : '';
  return `${scheme}://${user}localhost/tidegauge`;
}

type Rule = (levels: Combination, store: StoreFacts, on: PlaceName | null) => Impossible | null;

const installed: Rule = ({ store }, { isInstalled }, on) => {
  if (isInstalled || on !== 'lab') return null;
  const how =
    'PostgreSQL here has no citus extension. Name a coordinator that runs: citus://user@host/database';
  return refuse({ store: store! }, 'store', how);
};

const runningStore: Rule = ({ store, nodes, memory, network }, { isUrl }) => {
  if (!isUrl) return null;
  if (nodes !== 1) return refuse({ store: store!, nodes: nodes! }, 'nodes', `${RUNS} keeps its nodes`);
  if (memory !== NONE) return refuse({ store: store!, memory: memory! }, 'memory', `${RUNS} gets no limit`);
  if (network === NONE) return null;
  return refuse({ store: store!, network: network! }, 'network', `${RUNS} keeps its network`);
};
const RUNS = 'a store that runs already';

const nodeFailure: Rule = ({ store, fault, driver }, { scheme, isUrl }, on) => {
  if (fault !== 'kill-node') return null;
  if (driver === 'k6') return refuse({ driver, fault }, 'fault', 'k6 does not report half of its operations');
  const isEmbedded = scheme === 'sqlite' || scheme === 'json';
  if (!isUrl && !isEmbedded && on !== 'swarm') return null;
  const why = isUrl ? RUNS : isEmbedded ? `${scheme} runs in the process of its client` : 'a swarm';
  return refuse({ store: store!, fault }, 'fault', `${why}${isEmbedded ? ', and' : ''} has no node to kill`);
};

const nodeCount: Rule = ({ store, nodes }, { scheme, isUrl }, on) => {
  if (isUrl) return null;
  const ofLab = on === 'lab' ? STORE_SERVERS[scheme]?.maxNodes : undefined;
  const most = SINGLE_NODE.includes(scheme) ? 1 : (ofLab ?? Number.POSITIVE_INFINITY);
  if (Number(nodes) <= most) return null;
  const where = ofLab === undefined || SINGLE_NODE.includes(scheme) ? '' : ' in the lab';
  return refuse(
    { store: store!, nodes: nodes! },
    'nodes',
    `${scheme} has at most ${counted(most, 'node')}${where}`,
  );
};

const copies: Rule = ({ store, rf, nodes }, { scheme, isUrl, capabilities }) => {
  const most = COPIES_OF_DEPLOYMENT[scheme] ?? capabilities.maxReplicationFactor;
  if (Number(rf) > most) {
    const what = most === 1 ? 'does not replicate' : `keeps at most ${most} copies`;
    return refuse({ store: store!, rf: rf! }, 'rf', `${scheme} ${what}`);
  }
  if (isUrl || Number(rf) <= Number(nodes)) return null;
  const message = `${counted(Number(nodes), 'node')} cannot keep ${rf} copies`;
  return refuse({ nodes: nodes!, rf: rf! }, 'rf', message);
};

const urlOptions: Rule = (levels, { scheme, options }) => {
  for (const [factor, level] of Object.entries(levels)) {
    const name = urlOption(factor);
    if (name === null || level === UNSET) continue;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    const cause = { store: levels.store!, [factor]: level };
    if (option === undefined) {
      const known = Object.keys(options);
      const hint = didYouMean(name, known) || `; its options are ${known.join(', ')}`;
      return refuse(cause, factor, `${scheme} has no option ${name}${hint}`);
    }
    if (option.parse(String(level)) === undefined) {
      return refuse(cause, factor, `the option ${name} of ${scheme} takes ${option.takes}`);
    }
  }
  return null;
};

const consistency: Rule = (levels, { scheme, options, capabilities: { consistencyLevels } }) => {
  const { store, consistency: level } = levels;
  if (level === UNSET || level === undefined) return null;
  const cause = { store: store!, consistency: level };
  if (consistencyLevels.length === 0)
    return refuse(cause, 'consistency', `${scheme} has no consistency levels`);
  for (const name of consistencyOptions(scheme)) {
    const set = levels[`url.${name}`] ?? UNSET;
    if (set !== UNSET) {
      return refuse({ ...cause, [`url.${name}`]: set }, 'consistency', `it sets the option ${name} too`);
    }
    const option = options[name]!;
    if (option.parse(String(level)) === undefined) {
      const near = didYouMean(String(level), consistencyLevels);
      return refuse(cause, 'consistency', `the option ${name} of ${scheme} takes ${option.takes}${near}`);
    }
  }
  return null;
};

const COMMON_DRIVERS: readonly Level[] = ['raw', 'raw-again', 'app'];
/** Drivers that only some kinds of workload have. */
const OTHER_DRIVERS: Readonly<Record<WorkloadKind, readonly Level[]>> = {
  records: ['k6'],
  devices: ['raw-connect', 'app-connect', 'published'],
  queries: ['published'],
};
type WorkloadKind = 'records' | 'devices' | 'queries';

function kindOf(workload: Level): WorkloadKind {
  if (Object.hasOwn(DEVICE_WORKLOADS, String(workload))) return 'devices';
  return (QUERIES as readonly Level[]).includes(workload) ? 'queries' : 'records';
}

const drivers: Rule = ({ store, workload, driver, threads }, { scheme }) => {
  const kind = kindOf(workload!);
  const possible = [...COMMON_DRIVERS, ...OTHER_DRIVERS[kind]];
  if (!possible.includes(driver!)) {
    const what = kind === 'devices' ? 'operations on devices' : kind;
    const message = `the drivers of ${what} are ${possible.join(', ')}`;
    return refuse({ workload: workload!, driver: driver! }, 'driver', message);
  }
  if (driver !== 'published' || kind === 'records') return null;
  const known = PUBLISHED_STORES[kind];
  if (!known.includes(scheme)) {
    return refuse({ store: store!, driver }, 'driver', `the published study had only ${known.join(', ')}`);
  }
  if (threads === 1 || kind === 'queries') return null;
  return refuse({ driver, threads: threads! }, 'threads', 'the published study did one operation at a time');
};

const volumes: Rule = ({ workload, volume }) => {
  if (volume === 100 || kindOf(workload!) === 'queries') return null;
  return refuse({ workload: workload!, volume: volume! }, 'volume', 'only queries q1 to q10 have a volume');
};

const RULES: readonly Rule[] = [
  installed,
  runningStore,
  nodeFailure,
  nodeCount,
  copies,
  urlOptions,
  consistency,
  drivers,
  volumes,
];

function refuse(levels: Combination, factor: string, what: string): Impossible {
  const causes = Object.entries(levels).map(([name, level]) => `${name}: ${level}`);
  const exclusion = `exclude: [{${causes.join(', ')}, because: …}]`;
  return {
    levels,
    factor,
    message: `${causes.join(' with ')} is not possible: ${what}${what.endsWith('?') ? '' : '.'} Change a level, or add ${exclusion}`,
  };
}
