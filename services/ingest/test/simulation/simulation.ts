import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import nodeProcess from 'node:process';
import { dayName } from '@tidegauge/copy';
import { isBalanced, now, type Reading } from '@tidegauge/readings';
import { PERIOD_US } from '@tidegauge/storage';
import { type Random, type SeededRandom, seeded } from '@tidegauge/workload';
import { dayOf } from '../../src/relay/day-digest.ts';
import { Board, type BoardOptions, type Site, type Surroundings } from './board.ts';
import { Disk } from './disk.ts';
import { FaultPlan } from './fault-plan.ts';
import { type IngestProcess, QUARANTINE_BYTES } from './ingest-process.ts';
import { type Certain, type Judged, judge } from './judge.ts';
import { Leases } from './leases.ts';
import { identityOf, ModelStore } from './model-store.ts';
import type { Mutant } from './mutants.ts';
import { isShared, keptUs, makePlan, type Plan, planOfCentre, SMALL_LOG } from './plan.ts';
import { Receiver } from './receiver.ts';
import { RelayNetwork } from './relay-network.ts';
import { Replica } from './replica.ts';
import { rollupMistakes } from './rollup-mistakes.ts';
import { Sensors } from './sensors.ts';
import { Trace } from './trace.ts';
import { Traffic } from './traffic.ts';
import { type Owner, VirtualTime } from './virtual-time.ts';
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
/** The longest time with a replica, and without one, of the time with faults. */
const REPLICA_SHARE = 0.5;

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

/** One schedule: sensors, network, ingest, store and disks in one process, on virtual time. The seed decides everything. */
class Simulation {
  readonly #seed: number;
  readonly #folder: string;
  readonly #mutant: Mutant | null;
  readonly #trace: Trace;
  readonly #plan: Plan;
  readonly #time: VirtualTime;
  readonly #network: RelayNetwork;
  readonly #receiver: Receiver;
  readonly #sensors: Sensors;
  readonly #traffic: Traffic;
  readonly #faults: FaultPlan;
  readonly #nodeRandom: SeededRandom;
  readonly #replicas: SeededRandom;
  /** The first board, its peer if there is one, and the centre if they relay. */
  readonly #boards: readonly Board[];
  /** Stores that boards do not share. */
  readonly #sites: readonly Site[];
  #replica: Replica | null = null;
  /** Real files that were named. */
  #files = 0;
  /** Whether the last process has been ended, after all messages were settled. */
  #isLast = false;
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
    const ends = stream();
    this.#time = new VirtualTime(START_MS, () => this.#nodeRandom.double());
    const disk = this.#newDisk(stream());
    const site = this.#newSite('the store', stream());
    this.#sensors = new Sensors(
      { ...this.#plan.sent, kept: this.#plan.kept },
      this.#plan.isFiltered,
      stream(),
    );
    const messages = stream();
    const faults = stream();
    this.#network = new RelayNetwork(this.#time, stream(), () => this.#centre?.running ?? null);
    this.#receiver = new Receiver(this.#time, stream());
    this.#replicas = stream();
    this.#boards = this.#makeBoards({ disk, site, ends }, stream);
    this.#sites = [...new Set(this.#boards.map((board) => board.site))];
    this.#traffic = new Traffic(this.#plan, this.#sensors, START_MS - this.#plan.behindMs, {
      ...{ time: this.#time, random: messages },
      processes: this.#boards.filter((board) => board !== this.#centre).map((board) => () => board.running),
    });
    this.#faults = new FaultPlan(this.#plan, {
      ...{ time: this.#time, disks: this.#boards.map((board) => board.disk), random: faults },
      ...{ stores: this.#sites.map(({ store }) => store), network: this.#network, traffic: this.#traffic },
    });
    this.#limit = this.#faults.end + END_MS;
  }

  async run(): Promise<Outcome> {
    const onRejection = (error: unknown) => this.#fail(`a rejection is not handled: ${String(error)}`);
    nodeProcess.on('unhandledRejection', onRejection);
    const fetch = this.#mutant?.fetch?.(this.#network.fetch) ?? this.#network.fetch;
    const stored = () => this.#site.store.rows.size;
    useWorld({
      time: this.#time,
      disk: () => this.#disk,
      random: () => this.#nodeRandom.double(),
      fetch,
      stored,
    });
    try {
      this.#setClock();
      this.#traffic.start();
      this.#faults.start();
      for (const board of this.#boards) board.start();
      if (this.#plan.hasReplica) this.#planReplica();
      while (this.#failure === null && !(await this.#isOver())) await this.#next();
    } catch (error) {
      this.#fail((error as Error).message);
    } finally {
      useWorld(null);
      nodeProcess.off('unhandledRejection', onRejection);
      for (const board of this.#boards) board.close();
      this.#network.close();
      for (let number = 1; number <= this.#files; number++) this.#removeFile(number);
    }
    const { hash, steps, lines } = this.#trace;
    return {
      seed: this.#seed,
      plan: this.#plan,
      ...{ hash, steps, failure: this.#failure },
      processes: this.#boards.reduce((sum, board) => sum + board.processes, 0),
      seconds: this.#time.now / 1000,
      lines: lines ?? [],
    };
  }

  /** The disk of the process whose code runs. */
  get #disk(): Disk {
    const { owner } = this.#time;
    const board = this.#boards.find((each) => each.owner === owner) ?? this.#boards[0]!;
    return board.disk;
  }

  /** What the first board has, and a replica. */
  get #site(): Site {
    return this.#boards[0]!.site;
  }

  /** Null: nothing is relayed. */
  get #centre(): Board | null {
    return this.#boards.find(({ owner }) => owner === 'centre') ?? null;
  }

  /** @param first what the first board has */
  #makeBoards(first: Pick<BoardOptions, 'disk' | 'ends' | 'site'>, stream: () => Random): readonly Board[] {
    const plan = this.#plan;
    const around = this.#surroundings();
    const relays = plan.relayBytes > 0;
    const boards = [new Board({ place: 0, owner: 'process', plan, ...first }, around)];
    const add = (owner: Owner, site: Site, its: Plan) => {
      const options = { disk: this.#newDisk(stream()), ends: stream(), site, plan: its };
      boards.push(new Board({ place: boards.length, owner, ...options }, around));
    };
    if (plan.hasPeer)
      add('peer', relays ? this.#newSite('the store of the peer', stream()) : first.site, plan);
    if (relays) add('centre', this.#newSite('the store of the centre', stream()), planOfCentre(plan));
    return boards;
  }

  #newSite(name: string, random: Random): Site {
    const { store, mostRows } = this.#plan;
    return {
      store: new ModelStore(name, store, this.#time, random, mostRows),
      leases: new Leases(this.#time, (mistake) => this.#fail(mistake)),
    };
  }

  #newDisk(random: Random): Disk {
    const disk = new Disk(this.#time, random);
    disk.onOperation = (what) => this.#step(what);
    return disk;
  }

  #surroundings(): Surroundings {
    return {
      ...{ mutant: this.#mutant, time: this.#time, trace: this.#trace },
      ...{ network: this.#network, notify: this.#receiver.send },
      traffic: () => this.#traffic,
      endOfFaults: () => this.#faults.end,
      newFile: () => this.#quarantineFile(++this.#files),
      fail: (mistake) => this.#fail(mistake),
    };
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
    const isKilled = this.#boards.some(({ owner, disk }) => owner === timer.owner && disk.isFrozen);
    if (!isKilled) timer.run();
    await realTurn();
    const ended = this.#boards.filter((board) => board.settle());
    if (ended.length === 0) await this.#check();
  }

  /** An event, or an operation of a disk. Processes can be killed at each. */
  #step(what: string): void {
    this.#trace.add(this.#time.now, what);
    for (const board of this.#boards) board.killIfDue();
  }

  /** The next time of the replica. It is gone when the faults are over, so that the process does its work in the end. */
  #planReplica(): void {
    const time = this.#time;
    const wait = () => this.#replicas.double() * REPLICA_SHARE * this.#faults.end;
    const end = () => this.#endReplica(this.#replicas.below(2) === 0);
    time.after(wait(), 'world', 'replica', () => {
      if (time.now >= this.#faults.end) return;
      this.#trace.add(time.now, 'start of the replica');
      const { leases, store: model } = this.#site;
      const store = leases.watched(model.create());
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
      this.#site.store.endProcess('replica');
      this.#site.leases.endProcess('replica');
      this.#planReplica();
    };
    if (isKilled) end();
    else
      void this.#time.runAs('replica', () =>
        replica.stop().then(() => this.#time.after(0, 'world', 'stopped', end)),
      );
  }

  /** What must be true at any time. */
  async #check(): Promise<void> {
    if (this.#plan.store.hasRollups && this.#trace.steps % ROLLUPS_EVERY === 0) {
      for (const { store } of this.#sites) await this.#judgeRollups(store, false);
    }
    for (const board of this.#boards) if (board.running !== null) this.#checkBounds(board);
    for (const { store } of this.#sites) if (store.mistake !== null) this.#fail(store.mistake);
  }

  #checkBounds(board: Board): void {
    const { accounts, spool } = board.running!.pipeline!;
    const counts = accounts.counts();
    assert.ok(isBalanced(counts), `the accounts are not balanced: ${JSON.stringify(counts)}`);
    const { maxInFlight, maxBatch } = this.#plan.bounds;
    const { largest } = this.#sensors;
    // Messages of a replay and of HTTP are in addition. The turns of HTTP bound those of boards.
    const most = maxInFlight + maxBatch + (3 + this.#plan.httpClients) * largest;
    assert.ok(
      accounts.inFlight <= most || board === this.#centre,
      `${accounts.inFlight} readings are in flight`,
    );
    assert.ok(spool === null || spool.bytes <= this.#plan.spoolBytes, 'the spool is larger than its bound');
  }

  /** Whether all is settled and right. Before the last judgement, one more process can end. */
  async #isOver(): Promise<boolean> {
    if (this.#time.now < this.#faults.end || !this.#traffic.isEmpty || this.#replica !== null) return false;
    const processes = processesOf(this.#boards);
    if (processes.length < this.#boards.length || !this.#boards.every((board) => this.#isSettled(board)))
      return false;
    if (!processes.every((process) => this.#isRelayed(process))) return false;
    // One of all processes does this.
    if (!processes.some((process) => this.#areAlertsRight(process))) return false;
    for (const site of this.#sites) if (!(await this.#isRolledUp(site))) return false;
    if (!processes.some((process) => this.#areDeleted(process))) return false;
    const mistakes = judge(this.#sensors, this.#judged, this.#certain);
    if (mistakes.length > 0) this.#fail(mistakes.join('; '));
    for (const { quarantine } of this.#boards) {
      const bytes = statSync(quarantine).size;
      if (bytes > QUARANTINE_BYTES) this.#fail(`a quarantine has ${bytes} bytes`);
    }
    if (this.#failure !== null || this.#isLast || this.#plan.ends.length === 0) return true;
    this.#isLast = true;
    this.#limit = this.#time.now + END_MS;
    for (const board of this.#boards) board.endAgain();
    return false;
  }

  /** Whether a process has nothing more to do for its messages. */
  #isSettled(board: Board): boolean {
    const { pipeline, ledgerFile, isStopping } = board.running!;
    const { accounts, spool } = pipeline!;
    if (accounts.inFlight > 0 || !(spool?.empty ?? true) || isStopping) return false;
    return (
      !ledgerFile.ledger.isUnchecked && !this.#sensors.areMissed(ledgerFile.ledger, this.#devicesOf(board))
    );
  }

  /** Whether a board has the readings of a device. */
  #devicesOf(board: Board): (device: string) => boolean {
    if (board === this.#centre) return () => true;
    const place = this.#boards.indexOf(board);
    return (device) => this.#traffic.isOf(place, device);
  }

  get #judged(): readonly Judged[] {
    const { behindMs, faults } = this.#plan;
    return this.#boards.map((board) => {
      const { hadPowerCut, hadDoubts } = board;
      // Readings of hours ago: the ledger needs a sync before it finds them in the store.
      const isUnknown = hadPowerCut && behindMs > 0 && faults.includes('syncs fail');
      // What a board dropped arrives at the centre with its last correction only.
      const isDropped = board === this.#centre && this.#plan.relayBytes <= SMALL_LOG;
      const mayMiss = this.#faults.hadDiskFault || hadPowerCut || hadDoubts || isDropped;
      return {
        process: board.running!,
        store: board.site.store,
        has: this.#devicesOf(board),
        mayMiss: isUnknown || isShared(this.#plan) ? null : mayMiss,
      };
    });
  }

  get #certain(): Certain {
    const { hasClockSteps } = this.#plan;
    const now = this.#time.wall * 1000;
    return {
      isOrdered: !isShared(this.#plan),
      keepsClocks: !this.#faults.hadDiskFault && !this.#boards.some(({ hadPowerCut }) => hadPowerCut),
      isSteady: !hasClockSteps,
      mayBeDeleted: (reading) => this.#isOld(reading, now),
    };
  }

  /** Whether retention has deleted all readings that were too old when its last run began, or enough of them. */
  #areDeleted({ retention }: IngestProcess): boolean {
    if (retention === null) return true;
    const { last } = retention;
    if (last?.result !== 'done') return false;
    const { rows } = this.#site.store;
    const { keep, mostRows } = this.#plan;
    const isEnough = keep === null && rows.size <= mostRows!;
    const old = isEnough ? [] : [...rows.values()].filter((row) => this.#isOld(row, last.started));
    this.#unsettled = `retention left ${old.map(identityOf)}`;
    return old.length === 0;
  }

  /** Whether a reading is too old at a time, microseconds, or as old as a limit of the size needs. */
  #isOld({ device, time }: Pick<Reading, 'device' | 'time'>, now: number): boolean {
    const { keep, mostRows } = this.#plan;
    return time < now - (mostRows === null ? keptUs(keep, device) : PERIOD_US.hour);
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

  /** Whether all hours of a store are in rollups. What is wrong with these is a failure. */
  async #isRolledUp(site: Site): Promise<boolean> {
    if (!this.#plan.store.hasRollups) return true;
    const processes = processesOf(this.#boards.filter((board) => board.site === site));
    if (!processes.some(({ rollups }) => rollups!.status?.marks === 0)) return false;
    const { marks } = await site.store.atOnce((store) => store.rollups.status());
    if (marks > 0) return false;
    await this.#judgeRollups(site.store, true);
    return true;
  }

  #judgeRollups(model: ModelStore, isDone: boolean): Promise<void> {
    return model.atOnce(async (store) => {
      for await (const mistake of rollupMistakes(store, model, isDone, this.#plan.keep)) this.#fail(mistake);
    });
  }

  /** Whether alerts are those of the readings in the store, and their messages were received. */
  #areAlertsRight({ alerts }: IngestProcess): boolean {
    if (alerts === null) return true;
    this.#unsettled = [...this.#receiver.mistakes(this.#site.store, alerts)].join('; ');
    return this.#unsettled === '';
  }

  #fail(message: string): void {
    this.#failure ??= message;
  }

  #quarantineFile(number: number): string {
    return join(this.#folder, `${this.#seed}-${number}.db`);
  }

  #removeFile(number: number): void {
    for (const end of ['', '-wal', '-shm', '-journal'])
      rmSync(`${this.#quarantineFile(number)}${end}`, { force: true });
  }
}

/** The processes that run. */
function processesOf(boards: readonly Board[]): readonly IngestProcess[] {
  return boards.flatMap(({ running }) => running ?? []);
}
