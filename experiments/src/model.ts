/** The types that the parts of the experiment engine share. Files on disk have these shapes, in JSON. */

import type { Driver } from './drivers.ts';

export type { Driver } from './drivers.ts';

/** One value of a factor, such as `cassandra` or 3. */
export type Level = string | number | boolean;

/** A level of each factor, by the factor's name. */
export type Combination = Readonly<Record<string, Level>>;

/**
 * How the runs of a trial take turns: one after the other, in slices of the run, or operation by operation. The order
 * within each turn is random.
 */
export type Pairing = 'none' | 'slice' | 'operation';

/** What happens to the loaded table before each trial of a series. */
export type TableState = 'reload' | 'restore' | 'reuse';

/** An experiment file after validation. Quick sizes are already applied. */
export interface Study {
  /** Lower-case letters, digits and dashes. */
  readonly name: string;
  readonly title: string;
  readonly question: string | null;
  readonly seed: number;
  readonly quick: boolean;
  /** Factors that need a new deployment for each level. */
  readonly hard: Readonly<Record<string, readonly Level[]>>;
  /** Factors that change within one deployment. `driver` is one of them. */
  readonly easy: Readonly<Record<string, readonly Level[]>>;
  /** Factors with a single level, the defaults included. */
  readonly fixed: Combination;
  /** By name. Only combinations that are in a part are run. Absent: all combinations of `hard` and `easy` are. */
  readonly parts?: Readonly<Record<string, StudyPart>>;
  readonly repeat: {
    /** Deployments of each combination of hard factors. Each set of all combinations is a block. */
    readonly deployments: number;
    /** Trials of each series, the warm-up trials included. */
    readonly trials: number;
    /** The first trials of a series. They are archived, and are not analysed. */
    readonly warmup: number;
    readonly pairing: Pairing;
    /** Factors whose levels take turns in one trial, besides the driver. */
    readonly paired: readonly string[];
    /** The study is judged after each block, and the next ones have only what undecided claims need. */
    readonly untilDecided?: true;
  };
  /** By workload, in lower case. Workloads that change their table are never `reuse`. */
  readonly state: Readonly<Record<string, TableState>>;
  readonly exclude: readonly Exclusion[];
  readonly valid: ValidityLimits;
  /** How often an invalid run, or a deployment that failed, is repeated. */
  readonly requeue: number;
  readonly energy: EnergyModel | null;
  /** By name; a level of the factor `network` names one. */
  readonly networks: Readonly<Record<string, NetworkProfile>>;
  readonly analyse: AnalysisPlan;
  readonly figures: readonly string[];
  readonly published: readonly Published[];
  /** Statements of others, to be judged by the results. */
  readonly claims?: readonly Claim[];
  /** Texts of the files that the study names, by their name there: property files of workloads, published numbers. */
  readonly files?: Readonly<Record<string, string>>;
}

/** All combinations of some levels, analysed on their own. A combination that several parts have is run once. */
export interface StudyPart {
  /** Of each factor in `hard` and `easy`. */
  readonly levels: Readonly<Record<string, readonly Level[]>>;
  /** As in `AnalysisPlan`, for this part. */
  readonly groups: readonly string[];
  readonly per: readonly string[];
}

/** Combinations that match all levels of `where` are left out. */
export interface Exclusion {
  readonly where: Combination;
  readonly because: string;
}

/** Limits of the rules. null: the rule measures, and does not judge. */
export interface ValidityLimits {
  /** Operations that were dropped. */
  readonly dropped: number | null;
  /** Operations that failed. */
  readonly errors: number | null;
  /** Reads whose value was checked and was wrong. */
  readonly damaged: number | null;
  /** The smallest share of the target rate that is achieved, 0 to 1. */
  readonly target: number | null;
  /** Share of the run's time in which the kernel throttled the processors of a node, 0 to 1. */
  readonly throttled: number | null;
  /** Largest step of the wall clock against the monotonic clock, in milliseconds. */
  readonly clockStepMs: number | null;
  readonly oomKills: number | null;
  /** Pages swapped in and out during the run, in bytes. */
  readonly swapBytes: number | null;
  /** Share of all processors that processes outside the experiment used, 0 to 1. */
  readonly foreignCpu: number | null;
  /** Largest relative difference of the network's delay from its profile, before and after the run. */
  readonly network: number | null;
  /** How much longer operations may take after the turns of one partner than after those of others, relative. */
  readonly carryOver: number | null;
}

/** Power of one node, in watts. `uncertainty` is relative, 0 to 1. */
export interface EnergyModel {
  readonly model: string;
  readonly idleWatts: number;
  readonly busyWatts: number;
  readonly uncertainty: number;
  readonly source: string;
}

export interface NetworkProfile {
  /** Added once to each round trip between client and store. */
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Share of lost packets, 0 to 1. */
  readonly loss: number;
  /** null: not limited. */
  readonly kilobitsPerSecond: number | null;
}

export interface AnalysisPlan {
  /** `throughput`, `runtime`, `read.mean`, `read.p99`, `update.mean`, … */
  readonly metrics: readonly string[];
  /** Factors whose levels are analysed apart: one family of groups for each of their combinations. */
  readonly per: readonly string[];
  /** Factors that form the groups of a family. */
  readonly groups: readonly string[];
  readonly alpha: number;
  /** Relative margin within which two groups count as equivalent, such as 0.05. */
  readonly margin: number;
  /** Rule of the box plots. Default: a panel for each rule. */
  readonly boxes?: BoxRule;
}

/**
 * `tukey`: whiskers to the last run within 1.5 interquartile ranges, dots beyond them. `three-sigma`: whiskers to the
 * extremes, dots beyond three standard deviations from the mean.
 */
export type BoxRule = 'tukey' | 'three-sigma';

/** Published numbers: a CSV file with a column for each factor, `metric`, `value`, `unit` and `flag`. */
export interface Published {
  readonly file: string;
  readonly source: string;
}

/** A statement of a publication. Its check is evaluated with the intervals of the results. */
export interface Claim {
  readonly id: string;
  readonly text: string;
  readonly source: string | null;
  /** As written in the file; null: it cannot be checked here. */
  readonly check: string | null;
  readonly parsed: ClaimCheck | null;
  /** Why it cannot be checked. */
  readonly notRun: string | null;
  /** The known reason for another result: hardware, version, fault of the original. */
  readonly because: string | null;
}

/** What must hold, for each combination of the factors that the check does not compare. */
export interface ClaimCheck {
  readonly metric: string;
  readonly test: ClaimTest;
  /** Levels of the runs that are used, by factor; other factors have all their levels. */
  readonly where: Readonly<Record<string, readonly Level[]>>;
}

export type ClaimRelation = '>' | '<' | '=';

/** A side has one or more groups: each combination of its levels. */
export type ClaimTest =
  | {
      /** Each group of a side against each group of the next side. */
      readonly kind: 'order';
      readonly sides: readonly (readonly Combination[])[];
      readonly relations: readonly ClaimRelation[];
    }
  | {
      /** Each group of the side against each other combination of the same factors. */
      readonly kind: 'extreme';
      readonly side: readonly Combination[];
      readonly extreme: 'highest' | 'lowest';
    }
  | {
      /** The first side over the second lies between the bounds. */
      readonly kind: 'ratio';
      readonly sides: readonly (readonly Combination[])[];
      readonly low: number;
      readonly high: number;
    }
  | {
      readonly kind: 'bound';
      readonly relation: '>' | '<';
      readonly value: number;
      readonly unit: string;
    }
  | {
      readonly kind: 'trend';
      readonly shape: 'rises' | 'falls' | 'same' | 'peaks' | 'levels-off';
      readonly factor: string;
    };

/** All runs in the order in which they are done. Made from a study and its seed only. */
export interface Plan {
  readonly format: 2;
  readonly study: Study;
  /** SHA-256 of the study, in hexadecimal digits. Results of another plan are never mixed with it. */
  readonly hash: string;
  readonly deployments: readonly DeploymentPlan[];
}

export interface DeploymentPlan {
  readonly id: string;
  /** From 1. */
  readonly block: number;
  /** Deployments of the same site are up at the same time. Absent: it is alone. They follow each other in the plan. */
  readonly site?: string;
  readonly hard: Combination;
  readonly series: readonly SeriesPlan[];
}

/**
 * Trials on one loaded table. When there are several drivers, each has its own table with the same records, and each
 * trial runs all of them in turns: the drivers are compared in pairs.
 */
export interface SeriesPlan {
  readonly id: string;
  /** Series of the same round take turns with each other. Absent: only the drivers of the series do. */
  readonly round?: string;
  /** Without the driver. */
  readonly easy: Combination;
  readonly drivers: readonly Driver[];
  readonly state: TableState;
  readonly trials: number;
  readonly warmup: number;
}

/** One trial of one driver. Files of a run are `runs/<run>.csv.gz` and `runs/<run>.json`. */
export interface RunDocument {
  readonly format: 2;
  readonly run: string;
  readonly deployment: string;
  readonly series: string;
  /** As in the series. */
  readonly round?: string;
  readonly block: number;
  /** From 1. */
  readonly trial: number;
  /** From 1. An invalid run is done again, under a higher number; both stay in the archive. */
  readonly attempt: number;
  /** Attempts of the series and of its deployment, from 1. Runs of an attempt that is void do not count. */
  readonly seriesAttempt: number;
  readonly deploymentAttempt: number;
  readonly warmup: boolean;
  readonly driver: Driver;
  /** Levels of all factors: hard, easy and fixed, with the driver. */
  readonly factors: Combination;
  readonly seed: number;
  /** ISO 8601. */
  readonly started: string;
  /** From the start of the first operation to the end of the last one, without the turns of other runs. */
  readonly seconds: number;
  /** Operations that were planned, or that were started where the length is a time; a read-modify-write counts once. */
  readonly operations: number;
  /** Operations that succeeded. */
  readonly done: number;
  readonly valid: boolean;
  readonly checks: readonly Check[];
  readonly nodes: readonly NodeUsage[];
  /** Bytes of the store on its disks, all nodes together. null: not known here. */
  readonly storedBytes: { readonly before: number; readonly after: number } | null;
  readonly energy: Energy | null;
  /** What the failure of a node did. Absent: nothing failed by plan. */
  readonly fault?: FaultRecord;
  readonly csv: { readonly rows: number; readonly sha256: string };
}

/** Evidence of one validity rule. */
export interface Check {
  readonly rule: string;
  readonly measured: number | null;
  readonly limit: number | null;
  readonly unit: string;
  readonly ok: boolean;
  /** Why nothing was measured, or what was found. */
  readonly note?: string;
}

/** What one node, or one process of the experiment, used during a run. null: not known here. */
export interface NodeUsage {
  readonly node: string;
  readonly role: 'store' | 'api' | 'client' | 'machine';
  /** Processor time, in seconds. */
  readonly cpuSeconds: number | null;
  /** Largest resident memory, in bytes. */
  readonly memoryBytes: number | null;
  /** Smallest one in the samples of the same runs. Absent, or null: there were no samples. */
  readonly leastMemoryBytes?: number | null;
  readonly readBytes: number | null;
  readonly writtenBytes: number | null;
  readonly receivedBytes: number | null;
  readonly sentBytes: number | null;
  /** Where the figures come from. */
  readonly source: 'proc' | 'cgroup' | 'prometheus';
}

/** The failure of a node during a run. Times count from the zero of `start_us`, in seconds. */
export interface FaultRecord {
  readonly node: string;
  readonly killedSeconds: number;
  /** The node serves again. It can be after the end of the run. */
  readonly restartedSeconds: number;
  /** Successful operations per second before the failure. */
  readonly rateBefore: number;
  /** To the first second with 90 % of that rate. 0: the rate was never lower. null: it stayed lower. */
  readonly recoverySeconds: number | null;
  /** Share of the operations after the failure that failed. null: there were none. */
  readonly failedShare: number | null;
  /** Records that were read after the restart. null: not checked, as below. */
  readonly checked: number | null;
  /** Of these, records that lacked an acknowledged write at the level of the run, and had it on other copies. */
  readonly stale: number | null;
  /** Of these, records that lack an acknowledged write on all copies. */
  readonly lost: number | null;
}

export interface Energy {
  readonly joules: number;
  /** Bounds from the uncertainty of the model. */
  readonly low: number;
  readonly high: number;
  readonly perOperation: number;
  readonly source: string;
}

/** How a table was loaded. Kept in `loads/<series>-<series attempt>-<trial>-<driver>-<attempt>.json` (attempt of the run). */
export interface LoadDocument {
  readonly format: 1;
  readonly series: string;
  readonly seriesAttempt: number;
  readonly trial: number;
  readonly driver: Driver;
  readonly records: number;
  readonly seconds: number;
  readonly how: 'loaded' | 'restored';
}

/**
 * The columns of an archived run. Times are whole microseconds. `start_us` counts from the start of the run, on a clock
 * that stands still while other runs have their turns. Turns count from 1.
 */
export const RUN_COLUMNS = [
  'start_us',
  'operation',
  'latency_us',
  'status',
  'thread',
  'part',
  'turn',
] as const;

/** Where deployments run. */
export type PlaceName = 'lab' | 'boards' | 'swarm';

/** A place in which a study runs. */
export interface Place {
  readonly name: PlaceName;
  /** Why this place cannot deploy the combination, or null. Nothing is started. */
  refuses(hard: Combination, study: Study): string | null;
  /** Facts that must not change when results are continued: versions, machine, kernel, processors. */
  describe(): Promise<Readonly<Record<string, string | number>>>;
  /** Starts a store with its nodes. Rejects within a bounded time. */
  deploy(hard: Combination, study: Study, signal: AbortSignal): Promise<Deployment>;
  /** Ends what the place has started for all deployments, such as boards. */
  stop(): Promise<void>;
}

/** A store that is up. */
export interface Deployment {
  /** Versions of the servers, such as `{ cassandra: '5.0.6' }`. */
  readonly versions: Readonly<Record<string, string>>;
  /**
   * The STORE URL of a database of this name, made when it does not exist, with the options of an easy combination.
   * null: the store cannot be reached from here, so tables are loaded through the API, and there is no driver `raw`.
   */
  storeUrl(database: string, easy: Combination): Promise<string | null>;
  /** An API over that URL. It runs until the deployment stops; the same URL gives the same API. */
  api(storeUrl: string | null): Promise<ApiEndpoint>;
  /** The command that runs a Node program of this project where it reaches the store. */
  command(
    program: string,
    args: readonly string[],
  ): { readonly command: string; readonly args: readonly string[] };
  /** Directory for temporary files of that program, if it does not have the files of this machine. */
  readonly scratch?: string;
  /** Nodes to monitor. */
  nodes(): readonly MonitoredNode[];
  /** Bytes on the disks of all nodes, or null where they cannot be read. */
  storedBytes(): Promise<number | null>;
  /** Measured round trip to the store, in milliseconds, or null when the network has no profile. */
  roundTripMs(): Promise<number | null>;
  /** Called with the name of each table before it is made, where databases stay when the deployment stops. */
  tableMade?(table: string): void;
  /** Copies loaded data under a key, and brings it back. null: the store cannot. */
  readonly snapshots: Snapshots | null;
  /** Failures of store nodes. Absent: nothing can be killed here. */
  readonly faults?: Faults;
  stop(): Promise<void>;
}

export interface Faults {
  /** Nodes that can be killed, by their names in `Deployment.nodes`. */
  nodes(): readonly string[];
  /** Ends all processes of a node with SIGKILL. It stays down until `restart`. */
  kill(node: string): Promise<void>;
  /** Starts it again with its data. Resolves when it serves again; rejects when it does not within a bounded time. */
  restart(node: string): Promise<void>;
}

export interface ApiEndpoint {
  readonly url: string;
  /** Its URL for programs that `Deployment.command` runs. Default: `url`. */
  readonly near?: string;
  readonly token: string | null;
  /** File with the certificate of its authority (PEM), for k6. Default: the authorities of this machine. */
  readonly authority?: string;
}

export interface MonitoredNode {
  readonly name: string;
  readonly role: 'store' | 'api';
  /** Process ids on this machine; empty when the node is elsewhere. */
  pids(): readonly number[];
  /** Directory of its control group on this machine, or null. */
  readonly cgroup: string | null;
  /** Reads its node exporter: the metrics in Prometheus' text format. null: there is none. */
  readonly exporter: (() => Promise<string>) | null;
  /** Whether it is another machine. Without an exporter, nothing of it can be measured. */
  readonly isRemote?: boolean;
}

/** Only a complete copy is ever restored. */
export interface Snapshots {
  has(key: string): Promise<boolean>;
  save(key: string, database: string, table: string): Promise<void>;
  /** The table may have been dropped since. */
  restore(key: string, database: string, table: string): Promise<void>;
}

/**
 * A line of `journal.jsonl`. Each line is on disk before the next step begins. The runs that count are those with a line
 * `run-ended` in the attempt of their series that has a line `series-ended` and no line `series-void` after it: of the runs of one trial and driver the
 * first one that is valid, and none if all were invalid. While a series has no such attempt, none of its runs count.
 */
export type JournalEntry = { readonly time: string } & (
  | {
      readonly event: 'opened';
      readonly plan: string;
      readonly environment: Environment;
      /** What differs from the first environment, and was accepted with `--force`. */
      readonly differs: readonly string[];
    }
  | { readonly event: 'deployment-started'; readonly deployment: string; readonly attempt: number }
  | {
      /** Its servers answer. */
      readonly event: 'deployment-ready';
      readonly deployment: string;
      readonly attempt: number;
      readonly seconds: number;
      readonly versions: Readonly<Record<string, string>>;
    }
  | {
      readonly event: 'deployment-ended';
      readonly deployment: string;
      readonly attempt: number;
      readonly seconds: number;
      readonly versions: Readonly<Record<string, string>>;
    }
  | {
      readonly event: 'deployment-failed';
      readonly deployment: string;
      readonly attempt: number;
      readonly reason: string;
    }
  | {
      readonly event: 'series-started';
      readonly series: string;
      readonly attempt: number;
      readonly deployment: string;
      readonly deploymentAttempt: number;
    }
  | { /** Nothing undecided needs it. */ readonly event: 'deployment-skipped'; readonly deployment: string }
  | {
      /** The study was judged when this block was complete. */
      readonly event: 'look';
      readonly block: number;
      /** Combinations that undecided claims need. A factor that is absent can have any level. */
      readonly open: readonly Combination[];
    }
  | { readonly event: 'series-ended'; readonly series: string; readonly attempt: number }
  | {
      /** The attempt stopped before its end. Its runs are kept and never count. */
      readonly event: 'series-void';
      readonly series: string;
      readonly attempt: number;
      readonly reason: string;
    }
  | {
      /** The tables are in the state in which the trial begins. */
      readonly event: 'trial-loaded';
      readonly series: string;
      readonly seriesAttempt: number;
      readonly trial: number;
      readonly seconds: number;
    }
  | {
      readonly event: 'run-started';
      readonly run: string;
      readonly series: string;
      readonly seriesAttempt: number;
    }
  | {
      readonly event: 'run-ended';
      readonly run: string;
      readonly series: string;
      readonly seriesAttempt: number;
      readonly valid: boolean;
      readonly seconds: number;
      /** SHA-256 of the JSON file and of the CSV file. */
      readonly sha256: { readonly json: string; readonly csv: string };
    }
  | { readonly event: 'closed'; readonly complete: boolean }
);

export type Environment = Readonly<Record<string, string | number>>;

/** A run that the runner requests from an open round. */
export interface RunRequest {
  /** `<series>-<series attempt>-<trial>-<driver>-<attempt>`; it goes into the document. */
  readonly run: string;
  readonly series: string;
  readonly driver: Driver;
  /** From 1. */
  readonly trial: number;
  /** From 1. */
  readonly attempt: number;
  readonly warmup: boolean;
  /** The operations are written to this file, which must not exist. Only a complete file has this name. */
  readonly csvPath: string;
}

/** Series that take turns, on deployments that are up. Only one round is open at a time. */
export interface OpenRound {
  /**
   * Prepares the tables of runs: loads, restores or keeps them, as the state of their series demands. Call it before
   * the runs of each trial, and again when runs are repeated. Resolves to one document for each table that was loaded
   * or restored. Rejects when a table cannot be prepared.
   */
  load(runs: readonly Pick<RunRequest, 'series' | 'driver' | 'trial'>[]): Promise<readonly LoadDocument[]>;
  /**
   * Does runs of one trial in turns. A driver that fails or dies gives an invalid run. Runs that take turns are valid
   * together. Rejects only after an abort, and when the files cannot be written.
   */
  run(requests: readonly RunRequest[]): Promise<readonly RunDocument[]>;
  /**
   * Ends the driver programs and drops the tables, except those that later rounds use as they are. Never rejects.
   *
   * @param isLast no other round follows on these deployments: those of earlier rounds end too
   */
  close(isLast: boolean): Promise<void>;
}

/** A series of a round, with its deployment. */
export interface RoundMember {
  readonly deployment: Deployment;
  readonly deploymentPlan: DeploymentPlan;
  readonly series: SeriesPlan;
  /** From 1. Both go into the documents. */
  readonly deploymentAttempt: number;
  readonly seriesAttempt: number;
}

/** `openRound` of `trial/open-round.ts`. Rejects when a driver program cannot be started. */
export type OpenRoundFunction = (
  members: readonly RoundMember[],
  study: Study,
  signal: AbortSignal,
) => Promise<OpenRound>;
