import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import nodeProcess from 'node:process';
import { dayName } from '@tidegauge/copy';
import { isBalanced, now } from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';
import { type SeededRandom, seeded } from '@tidegauge/workload';
import { dayOf } from '../../src/relay/day-digest.ts';
import { Centre } from './centre.ts';
import { Disk } from './disk.ts';
import { FaultPlan } from './fault-plan.ts';
import { IngestProcess, QUARANTINE_BYTES } from './ingest-process.ts';
import { type Certain, judge } from './judge.ts';
import { Leases } from './leases.ts';
import { identityOf, ModelStore } from './model-store.ts';
import type { Mutant } from './mutants.ts';
import { type End, keptUs, makePlan, type Plan } from './plan.ts';
import { Receiver } from './receiver.ts';
import { Replica } from './replica.ts';
import { rollupMistakes } from './rollup-mistakes.ts';
import { Sensors } from './sensors.ts';
import { Trace } from './trace.ts';
import { Traffic } from './traffic.ts';
import { VirtualTime } from './virtual-time.ts';
import { realTurn, useWorld } from './world.ts';

/** The system clock at the start, milliseconds since the epoch. */
const START_MS = Date.UTC(2026, 8, 21);
/** Days that have all readings, and the one before them, so that this comparison differs from all others. */
const DAYS = { from: dayOf(START_MS * 1000) - 2, to: dayOf(START_MS * 1000) };
/** Later than any time of a schedule. */
const FAR_FUTURE_MS = Date.UTC(2200, 0, 1);
/** Everything must end within this time after the last fault, milliseconds. */
const END_MS = 15 * 60_000;
const MOST_STEPS = 2_000_000;
/** Steps between two comparisons of rollups with readings. */
const ROLLUPS_EVERY = 50;
/** The longest time without a process, milliseconds. */
const DOWN_MS = 5000;
const MOST_ENDS = 4;
/** The longest time with a replica, and without one, of the time with faults. */
const REPLICA_SHARE = 0.5;
/** The errors of a disk that is full or fails. */
const OF_DISK = /ENOSPC|EIO/;

export interface Outcome {
  readonly seed: number;
  readonly plan: Plan;
  /** The same for each run of a seed. */
  readonly hash: string;
  /** Null: everything was as it must be. */
  readonly failure: string | null;
  readonly steps: number;
  /** Processes that were started. */
  readonly processes: number;
  readonly seconds: number;
  readonly lines: readonly string[];
}

export interface RunOptions {
  /** A folder for the files of the quarantine. */
  readonly folder: string;
  readonly mutant?: Mutant | null;
  /** Default: that of the seed. */
  readonly plan?: Plan;
  readonly keepsLines?: boolean;
}

/** Runs the schedule of a seed. */
export function simulate(seed: number, options: RunOptions): Promise<Outcome> {
  return new Simulation(seed, options).run();
}

/** One schedule: sensors, network, ingest, store and disk in one process, on virtual time. The seed decides everything. */
class Simulation {
  readonly #seed: number;
  readonly #folder: string;
  readonly #mutant: Mutant | null;
  readonly #trace: Trace;
  readonly #plan: Plan;
  readonly #time: VirtualTime;
  readonly #disk: Disk;
  readonly #store: ModelStore;
  readonly #centre: Centre;
  readonly #receiver: Receiver;
  readonly #leases: Leases;
  readonly #sensors: Sensors;
  readonly #traffic: Traffic;
  readonly #faults: FaultPlan;
  readonly #ends: SeededRandom;
  readonly #nodeRandom: SeededRandom;
  readonly #replicas: SeededRandom;
  #replica: Replica | null = null;
  #process: IngestProcess | null = null;
  #processes = 0;
  #endsLeft: number;
  /** The step at which the process is killed, and how. */
  #endStep = Number.POSITIVE_INFINITY;
  #end: End = 'kill';
  /** An end that a process has come to itself. */
  #ended: End | null = null;
  /** Whether the last process has been ended, after all messages were settled. */
  #isLast = false;
  #hadPowerCut = false;
  #hadDoubts = false;
  #kernel = 1;
  #quarantine: string;
  #limit: number;
  /** What alerts wait for, when nothing else waits. */
  #unsettled = '';
  #failure: string | null = null;

  constructor(seed: number, { folder, mutant = null, plan, keepsLines = false }: RunOptions) {
    this.#seed = seed;
    this.#folder = folder;
    this.#mutant = mutant;
    this.#trace = new Trace(keepsLines);
    let streams = 0;
    const stream = () => seeded(seed, streams++);
    const usual = makePlan(stream());
    this.#plan = plan ?? usual;
    this.#nodeRandom = stream();
    this.#ends = stream();
    this.#time = new VirtualTime(START_MS, () => this.#nodeRandom.double());
    this.#disk = new Disk(this.#time, stream());
    this.#disk.onOperation = (what) => this.#step(what);
    this.#store = new ModelStore(this.#plan.store, this.#time, stream());
    this.#sensors = new Sensors(
      { ...this.#plan.sent, kept: this.#plan.kept },
      this.#plan.isFiltered,
      stream(),
    );
    const options = { time: this.#time, random: stream(), process: () => this.#running };
    this.#traffic = new Traffic(this.#plan, this.#sensors, START_MS - this.#plan.behindMs, options);
    const faults = stream();
    this.#centre = new Centre(this.#time, stream());
    this.#faults = new FaultPlan(this.#plan, {
      ...{ time: this.#time, disk: this.#disk, store: this.#store, centre: this.#centre },
      ...{ traffic: this.#traffic, random: faults },
    });
    this.#receiver = new Receiver(this.#time, stream());
    this.#replicas = stream();
    this.#leases = new Leases(this.#time, (mistake) => this.#fail(mistake));
    this.#endsLeft = this.#plan.ends.length === 0 ? 0 : 1 + this.#ends.below(MOST_ENDS);
    this.#quarantine = this.#quarantineFile();
    this.#limit = this.#faults.end + END_MS;
    mutant?.disk?.(this.#disk);
  }

  async run(): Promise<Outcome> {
    const onRejection = (error: unknown) => this.#fail(`a rejection is not handled: ${String(error)}`);
    nodeProcess.on('unhandledRejection', onRejection);
    const fetch = this.#mutant?.fetch?.(this.#centre.fetch) ?? this.#centre.fetch;
    useWorld({ time: this.#time, disk: this.#disk, random: () => this.#nodeRandom.double(), fetch });
    try {
      this.#setClock();
      this.#traffic.start();
      this.#faults.start();
      this.#start();
      if (this.#plan.hasReplica) this.#planReplica();
      while (this.#failure === null && !(await this.#isOver())) await this.#next();
    } catch (error) {
      this.#fail((error as Error).message);
    } finally {
      useWorld(null);
      nodeProcess.off('unhandledRejection', onRejection);
      this.#process?.kill(this.#quarantineFile());
      for (let number = 0; number <= this.#processes + 1; number++) this.#removeFile(number);
    }
    const { hash, steps, lines } = this.#trace;
    return {
      seed: this.#seed,
      plan: this.#plan,
      ...{ hash, steps, failure: this.#failure, processes: this.#processes },
      seconds: this.#time.now / 1000,
      lines: lines ?? [],
    };
  }

  /** The process, if it takes messages. */
  get #running(): IngestProcess | null {
    return this.#process === null || this.#process.pipeline === null ? null : this.#process;
  }

  /** `now` refines the system clock, and must not depend on earlier schedules: it takes the smallest correction. */
  #setClock(): void {
    this.#time.wallOffset = FAR_FUTURE_MS;
    now();
    this.#time.wallOffset = START_MS;
    now();
  }

  async #next(): Promise<void> {
    const timer = this.#time.next();
    assert.ok(timer !== null && this.#time.now < this.#limit, `it does not end: ${this.#unsettled}`);
    assert.ok(this.#trace.steps < MOST_STEPS, 'it takes too many steps');
    this.#step(timer.what);
    if (!this.#disk.isFrozen || timer.owner !== 'process') timer.run();
    await realTurn();
    if (this.#disk.isFrozen) this.#endProcess(this.#end);
    else if (this.#ended !== null) this.#endProcess(this.#ended);
    else await this.#check();
  }

  /** An event, or an operation of the disk. The process can be killed at each. */
  #step(what: string): void {
    this.#trace.add(this.#time.now, what);
    const isDue = this.#trace.steps >= this.#endStep && this.#time.now < this.#faults.end;
    if (!isDue || this.#process === null) return;
    this.#disk.isFrozen = true;
    this.#store.isFrozen = true;
    this.#centre.isFrozen = true;
    this.#process.isKilled = true;
  }

  #start(): void {
    this.#processes++;
    this.#trace.add(this.#time.now, `process ${this.#processes}`);
    const { engine, store = (given: Store) => given } = this.#mutant ?? {};
    const process = new IngestProcess({
      ...this.#plan,
      quarantine: this.#quarantine,
      notify: this.#receiver.send,
      createStore: (options) => this.#leases.watched(store(this.#store.create(options, engine))),
      kernel: `kernel-${this.#kernel}`,
      mistake: this.#mutant?.process ?? {},
      request: (request) => this.#traffic.request(request),
      onResume: () => this.#traffic.pump(),
      onBroken: (error) => this.#broken(process, error),
    });
    this.#process = process;
    this.#planEnd();
    process.start().then(
      () => {
        this.#hadDoubts ||= process.hasDoubts;
        this.#traffic.connect();
      },
      (error: unknown) => this.#broken(process, error),
    );
  }

  /** The next time of the replica. It is gone when the faults are over, so that the process does its work in the end. */
  #planReplica(): void {
    const time = this.#time;
    const wait = () => this.#replicas.double() * REPLICA_SHARE * this.#faults.end;
    const end = () => this.#endReplica(this.#replicas.below(2) === 0);
    time.after(wait(), 'world', 'replica', () => {
      if (time.now >= this.#faults.end) return;
      this.#trace.add(time.now, 'start of the replica');
      const store = this.#leases.watched(this.#store.create());
      const replica = new Replica(store, { ...this.#plan, notify: this.#receiver.send });
      this.#replica = replica;
      time.runAs('replica', () => void replica.start());
      time.after(Math.min(wait(), this.#faults.end - time.now), 'world', 'end of the replica', end);
    });
  }

  /** @param isKilled false: it stops in order first, which can take until the next start of a replica */
  #endReplica(isKilled: boolean): void {
    const replica = this.#replica!;
    const end = () => {
      this.#replica = null;
      this.#time.endProcess('replica');
      this.#store.endProcess('replica');
      this.#leases.endProcess('replica');
      this.#planReplica();
    };
    if (isKilled) end();
    else
      void this.#time.runAs('replica', () =>
        replica.stop().then(() => this.#time.after(0, 'world', 'stopped', end)),
      );
  }

  /** A process ends itself when its disk fails, and is started again. */
  #broken(process: IngestProcess, error: unknown): void {
    if (process.isKilled) return;
    const { message } = error as Error;
    if (OF_DISK.test(message)) this.#ended = 'kill';
    else this.#fail(`ingest ended: ${message}`);
  }

  /** Decides when the process ends, and how. */
  #planEnd(): void {
    this.#endStep = Number.POSITIVE_INFINITY;
    if (this.#endsLeft === 0 || this.#time.now >= this.#faults.end) return;
    this.#endsLeft--;
    this.#end = this.#plan.ends[this.#ends.below(this.#plan.ends.length)]!;
    if (this.#end !== 'stop') {
      this.#endStep = this.#trace.steps + this.#ends.below(this.#plan.operations);
      return;
    }
    this.#time.after(this.#ends.double() * DOWN_MS, 'process', 'stop', () => this.#stop());
  }

  #stop(): void {
    const process = this.#process!;
    if (process.isStopping) return;
    if (process.pipeline === null) {
      this.#ended = 'kill';
      return;
    }
    process
      .stop(() => this.#traffic.cut())
      .then(
        () => {
          if (!process.isKilled) this.#ended = 'stop';
        },
        (error: unknown) => this.#broken(process, error),
      );
  }

  #endProcess(end: End): void {
    this.#trace.add(this.#time.now, end);
    this.#ended = null;
    this.#endStep = Number.POSITIVE_INFINITY;
    this.#quarantine = this.#process!.kill(this.#quarantineFile());
    this.#process = null;
    this.#time.endProcess('process');
    this.#store.endProcess('process');
    this.#leases.endProcess('process');
    this.#centre.endProcess();
    this.#disk.endProcess();
    this.#traffic.cut();
    if (end === 'power cut') {
      this.#disk.cutPower();
      this.#kernel++;
      this.#hadPowerCut = true;
    }
    this.#time.after(50 + this.#ends.double() * DOWN_MS, 'world', 'restart', () => this.#start());
  }

  /** What must be true at any time. */
  async #check(): Promise<void> {
    if (this.#plan.store.hasRollups && this.#trace.steps % ROLLUPS_EVERY === 0) {
      await this.#store.atOnce((store) => this.#judgeRollups(store, false));
    }
    const pipeline = this.#running?.pipeline;
    if (pipeline === undefined || pipeline === null) return;
    const { accounts, spool } = pipeline;
    const counts = accounts.counts();
    assert.ok(isBalanced(counts), `the accounts are not balanced: ${JSON.stringify(counts)}`);
    const { maxInFlight, maxBatch } = this.#plan.bounds;
    const { largest } = this.#sensors;
    // Messages of a replay and of HTTP are in addition.
    const most = maxInFlight + maxBatch + (3 + this.#plan.httpClients) * largest;
    assert.ok(accounts.inFlight <= most, `${accounts.inFlight} readings are in flight`);
    assert.ok(spool === null || spool.bytes <= this.#plan.spoolBytes, 'the spool is larger than its bound');
  }

  /** Whether all is settled and right. Before the last judgement, one more process can end. */
  async #isOver(): Promise<boolean> {
    const process = this.#running;
    if (this.#time.now < this.#faults.end || !this.#traffic.isEmpty || process === null) return false;
    if (this.#replica !== null) return false;
    const { accounts, spool } = process.pipeline!;
    if (accounts.inFlight > 0 || !(spool?.empty ?? true) || process.isStopping) return false;
    const { ledger } = process.ledgerFile;
    if (ledger.isUnchecked || this.#sensors.areMissed(ledger)) return false;
    if (!this.#isRelayed(process) || !this.#areAlertsRight(process)) return false;
    if (!(await this.#areRolledUp(process)) || !this.#areDeleted(process)) return false;
    const centre = process.relay === null ? null : this.#centre;
    const mistakes = judge(this.#sensors, this.#store, centre, process, this.#certain);
    if (mistakes.length > 0) this.#fail(mistakes.join('; '));
    const bytes = statSync(this.#quarantine).size;
    if (bytes > QUARANTINE_BYTES) this.#fail(`the quarantine has ${bytes} bytes`);
    if (this.#failure !== null || this.#isLast || this.#plan.ends.length === 0) return true;
    this.#isLast = true;
    this.#limit = this.#time.now + END_MS;
    const end = this.#plan.ends[this.#ends.below(this.#plan.ends.length)]!;
    if (end === 'stop') this.#stop();
    else this.#endProcess(end);
    return false;
  }

  get #certain(): Certain {
    const { relayBytes, faults, hasClockSteps, keep } = this.#plan;
    const now = this.#time.wall * 1000;
    const isChanged = this.#hadPowerCut || this.#faults.hadDiskFault;
    // With a relay, readings are so late that the ledger needs a sync before it finds them in the store.
    const isUnknown = this.#hadPowerCut && relayBytes > 0 && faults.includes('syncs fail');
    return {
      mayMiss: isUnknown ? null : isChanged || this.#hadDoubts,
      keepsClocks: !isChanged,
      isSteady: !hasClockSteps,
      mayBeDeleted: ({ device, time }) => time < now - keptUs(keep, device),
    };
  }

  /** Whether retention has deleted all readings that were too old when its last run began. */
  #areDeleted({ retention }: IngestProcess): boolean {
    if (retention === null) return true;
    const { last } = retention;
    if (last?.result !== 'done') return false;
    const rows = [...this.#store.rows.values()];
    const { keep } = this.#plan;
    const old = rows.filter(({ device, time }) => time < last.started - keptUs(keep, device));
    this.#unsettled = `retention left ${old.map(identityOf)}`;
    return old.length === 0;
  }

  /**
   * Whether the centre has all that it can have. When the disk failed, which days lack readings can have been forgotten: then all
   * of them are compared, as an operator or the daily comparison does.
   */
  #isRelayed({ relay }: IngestProcess): boolean {
    if (relay === null) return true;
    const { backlogBytes, lost, comparison } = relay.documents[0]!;
    if (backlogBytes > 0 || lost !== null) return false;
    if (!this.#faults.hadDiskFault) return true;
    if (comparison?.from === dayName(DAYS.from)) return !comparison.running;
    relay.compare(DAYS, null);
    return false;
  }

  /** Whether all hours are in rollups. What is wrong with these is a failure. */
  async #areRolledUp({ rollups }: IngestProcess): Promise<boolean> {
    if (rollups === null) return true;
    if (rollups.status?.marks !== 0) return false;
    return this.#store.atOnce(async (store) => {
      if ((await store.rollups.status()).marks > 0) return false;
      await this.#judgeRollups(store, true);
      return true;
    });
  }

  async #judgeRollups(store: Store, isDone: boolean): Promise<void> {
    for await (const mistake of rollupMistakes(store, this.#store, isDone, this.#plan.keep))
      this.#fail(mistake);
  }

  /** Whether alerts are those of the readings in the store, and their messages were received. */
  #areAlertsRight({ alerts }: IngestProcess): boolean {
    if (alerts === null) return true;
    this.#unsettled = [...this.#receiver.mistakes(this.#store, alerts)].join('; ');
    return this.#unsettled === '';
  }

  #fail(message: string): void {
    this.#failure ??= message;
  }

  #quarantineFile(number = this.#processes + 1): string {
    return join(this.#folder, `${this.#seed}-${number}.db`);
  }

  #removeFile(number: number): void {
    for (const end of ['', '-wal', '-shm', '-journal'])
      rmSync(`${this.#quarantineFile(number)}${end}`, { force: true });
  }
}
